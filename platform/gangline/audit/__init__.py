"""Append-only log of who did what."""
