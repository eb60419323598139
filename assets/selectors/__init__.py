"""What reads assets."""
