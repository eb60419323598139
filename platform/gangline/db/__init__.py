"""Database time and other things that need Django's database layer but no models."""
