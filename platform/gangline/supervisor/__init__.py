"""The embedded product in one process, and the production set on one machine."""
