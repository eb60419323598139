"""Benchmarks: each measures the product beside the raw limit of the same work, in the same run."""
