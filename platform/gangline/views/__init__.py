"""Saved views of tables: who sees which, their pages and their API."""
