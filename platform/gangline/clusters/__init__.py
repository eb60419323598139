"""Clusters, their health and what they offer."""
