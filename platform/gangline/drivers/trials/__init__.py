"""Trying out repositories, buckets and registries, in a program that dials only what was judged."""
