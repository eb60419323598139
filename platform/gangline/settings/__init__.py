"""Settings of the installation that administrators change while it runs."""
