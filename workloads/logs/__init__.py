"""The log of a gang: read from its replicas, merged by time, cleaned, searched and handed out."""
