"""The report of an attempt: what its pods and nodes used, on a page and as files."""
