"""Kubernetes clusters: distributed training through Kubeflow's operators."""
