"""What replicas use over time: one list of metrics, one form on disk, whatever the engine."""
