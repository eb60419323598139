"""Users, sign-in, sessions and API tokens."""
