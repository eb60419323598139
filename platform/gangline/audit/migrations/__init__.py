"""Steps of the database schema."""
