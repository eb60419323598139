"""Distributed training workloads: submission, life cycle, status, pages and API."""
