"""Small pure modules without models."""
