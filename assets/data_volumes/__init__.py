"""Data volumes: the claim of one project, shared with others of its cluster, which only read it."""
