"""Reusable parts of a workload: templates now, environments and data sources later."""
