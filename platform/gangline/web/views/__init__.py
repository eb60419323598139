"""Views of the shell itself."""
