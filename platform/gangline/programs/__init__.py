"""How programs sign in: service accounts, and access keys of people."""
