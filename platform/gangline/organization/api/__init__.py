"""Clusters and projects in the API."""
