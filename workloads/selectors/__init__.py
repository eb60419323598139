"""What reads workloads for pages and API."""
