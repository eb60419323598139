"""The local cluster: this machine runs the replicas as supervised processes."""
