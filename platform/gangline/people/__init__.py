"""Users, groups, roles and access rules: their pages and their API."""
