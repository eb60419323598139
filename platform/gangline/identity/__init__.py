"""Signing in with accounts of a company: OpenID Connect."""
