"""How much of a cluster is free: what it has, less what waiting and running gangs hold."""

from dataclasses import dataclass

from workloads.services.admission import Standing, hands_out_slots


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


def room_in_words(standing: Standing) -> str:
    """What is free, or what there is in all (``256 cores · 32 GPUs``); empty before a look."""
    if room := room_of(standing):
        return room.words
    cluster = standing.cluster
    if not (cpus := float(cluster.capacity.get("cpus", 0))):
        return ""
    gpus = cluster.gpu_count
    return f"{cpus:g} cores · {f'{gpus} GPUs' if gpus else 'no GPU'}"


def room_of(standing: Standing) -> Room | None:
    """What is free now; None where the cluster's own scheduler keeps count."""
    cluster = standing.cluster
    if not hands_out_slots(cluster):
        return None
    capacity = cluster.capacity
    cpus, gpus = float(capacity.get("cpus", 0)), cluster.gpu_count
    used_cpus, used_gpus = 0.0, 0
    for attempt in standing.holding:
        for replica in attempt.placement or ():
            used_cpus += replica.get("cpus", 0)
            used_gpus += len(replica.get("gpus", ()))
    return Room(cpus, gpus, max(round(cpus - used_cpus, 2), 0), max(gpus - used_gpus, 0))
