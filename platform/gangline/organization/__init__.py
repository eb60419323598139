"""Scope tree, departments and projects."""
