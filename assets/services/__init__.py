"""What changes assets."""
