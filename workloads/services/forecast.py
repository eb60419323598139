"""Whether a gang would start now, said before it is submitted."""

from django.utils.text import capfirst

from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from workloads.services import admission, slots
from workloads.services.submission_types import Forecast, Totals
from workloads.wording import CPUS, GPUS, MEMORY, SLOTS_NEVER, Reason

NO_FORECAST = Forecast("unknown", "Free capacity is not known yet.")


def forecast(
    standing: admission.Standing | None,
    project: Project | None,
    totals: Totals,
    need: slots.Need | None,
    *,
    is_preemptible: bool = True,
) -> Forecast:
    """What admission would say now; ``need`` None: the values are not good enough to tell."""
    if standing is None or project is None or need is None or not standing.cluster.capacity:
        return NO_FORECAST
    cluster = standing.cluster
    if cluster.health == "Unreachable":
        since = f" since {cluster.health_since:%H:%M}" if cluster.health_since else ""
        return Forecast(
            "waits",
            f"No contact with {cluster.name}{since}; the workload starts when contact returns.",
        )
    if not admission.hands_out_slots(cluster):
        return _by_another(cluster, totals)
    verdict = admission.preview(standing, project=project, need=need, is_preemptible=is_preemptible)
    if verdict.impossible:
        return Forecast("cannot", verdict.reason.sentence)
    if verdict.placement is None:
        return Forecast("waits", verdict.reason.sentence)
    pods = "1 pod" if totals.pods == 1 else f"{totals.pods} pods"
    place = capfirst(admission.name_in_words(cluster))
    return Forecast("starts", f"{place} has room for {pods}.")


def _by_another(cluster: Cluster, totals: Totals) -> Forecast:
    """Where the cluster's own scheduler admits, only what exceeds the whole cluster is certain."""
    capacity = cluster.capacity
    asked = (
        (GPUS, totals.gpus, capacity.get("gpu_count") or 0),
        (CPUS, totals.cpus, capacity.get("cpus") or 0),
        (MEMORY, totals.memory_bytes, capacity.get("memory") or 0),
    )
    lacking = [[name, needs, has] for name, needs, has in asked if 0 < has < needs]
    if lacking:
        never = Reason(SLOTS_NEVER, {"cluster": cluster.name, "lacking": lacking})
        return Forecast("cannot", never.sentence)
    return Forecast("unknown", f"The scheduler of {cluster.name} decides when the workload starts.")
