"""Credentials: what their types hold, how values are sealed, and who may use them where."""
