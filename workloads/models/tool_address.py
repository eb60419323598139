"""Addresses that workloads chose for their tools: on a cluster each is taken once."""

from django.db import models


class ToolAddress(models.Model):
    """Held as long as the workload is there."""

    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE, related_name="+")
    address = models.CharField(max_length=300)
    """Host and path: https and http are one place."""
    workload = models.ForeignKey("workloads.Workload", models.CASCADE, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["cluster", "address"], name="tool_address_on_cluster")]

    def __str__(self) -> str:
        return self.address
