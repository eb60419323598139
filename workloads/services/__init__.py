"""What changes workloads: one verb, one place."""
