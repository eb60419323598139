"""Page shell, navigation, components, error pages and security headers."""
