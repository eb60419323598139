"""Template tags of workloads."""
