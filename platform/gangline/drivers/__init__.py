"""Cluster drivers: they know the spec, never the database or the web."""
