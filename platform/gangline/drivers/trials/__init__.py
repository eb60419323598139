"""Trying out where data and images come from: repositories, buckets and registries.

A trial runs in a program of its own, which has no surroundings, ends in time, and dials only what
was judged.
"""
