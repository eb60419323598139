"""The command line of Gangline."""
