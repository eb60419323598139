"""Template tags of forms."""
