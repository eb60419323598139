"""How much of a cluster is free: what it has, less what waiting and running gangs hold."""

from dataclasses import dataclass

from gangline.clusters.models import Cluster
from workloads.models import Attempt


@dataclass(frozen=True, slots=True)
class Room:
    """CPU cores and GPUs of one cluster."""

    cpus: float
    gpus: int
    cpus_free: float
    gpus_free: int

    @property
    def words(self) -> str:
        """``2 of 8 cores free · no GPU``."""
        gpus = f"{self.gpus_free} of {self.gpus} GPUs free" if self.gpus else "no GPU"
        return f"{self.cpus_free:g} of {self.cpus:g} cores free · {gpus}"


def room_in_words(cluster: Cluster) -> str:
    """What is free, or what there is in all (``256 cores · 32 GPUs``); empty before a look."""
    if room := room_of(cluster):
        return room.words
    if not (cpus := float(cluster.capacity.get("cpus", 0))):
        return ""
    gpus = cluster.gpu_count
    return f"{cpus:g} cores · {f'{gpus} GPUs' if gpus else 'no GPU'}"


def room_of(cluster: Cluster) -> Room | None:
    """What is free now; None where the cluster's own scheduler keeps count."""
    capacity = cluster.capacity
    if capacity.get("admission") != "ours":
        return None
    cpus, gpus = float(capacity.get("cpus", 0)), cluster.gpu_count
    used_cpus, used_gpus = 0.0, 0
    placements = Attempt.objects.filter(
        workload__cluster=cluster, ended_at__isnull=True, placement__isnull=False
    ).values_list("placement", flat=True)
    for placement in placements:
        for replica in placement or ():
            used_cpus += replica.get("cpus", 0)
            used_gpus += len(replica.get("gpus", ()))
    return Room(cpus, gpus, max(round(cpus - used_cpus, 2), 0), max(gpus - used_gpus, 0))
