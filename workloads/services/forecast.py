"""Whether a gang would start now, said before it is submitted."""

from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from workloads.services import admission, slots
from workloads.services.asking import Totals, Verdict

NO_FORECAST = Verdict("unknown", "Whether there is room for it is not known yet.")


def forecast(
    cluster: Cluster | None, project: Project | None, totals: Totals, need: slots.Need | None
) -> Verdict:
    """What admission would say now; ``need`` None: the values are not good enough to tell."""
    if cluster is None or project is None or need is None or not cluster.capacity:
        return NO_FORECAST
    if cluster.health == "Unreachable":
        since = f" since {cluster.health_since:%H:%M}" if cluster.health_since else ""
        return Verdict(
            "waits", f"No contact with {cluster.name}{since}. It starts when contact returns."
        )
    if not admission.hands_out_slots(cluster):
        return _by_another(cluster, totals)
    verdict = admission.preview(cluster=cluster, project=project, need=need)
    if verdict.impossible:
        return Verdict("cannot", f"Cannot start. {verdict.reason}")
    if verdict.placement is None:
        return Verdict("waits", f"Would wait. {verdict.reason}")
    pods = "1 pod" if totals.pods == 1 else f"{totals.pods} pods"
    place = admission.name_in_words(cluster)
    return Verdict("starts", f"Would start at once: {place} has room for {pods}.")


def _by_another(cluster: Cluster, totals: Totals) -> Verdict:
    """Where the cluster's own scheduler admits, only what exceeds the whole cluster is certain."""
    there = cluster.capacity.get("gpu_count") or 0
    if 0 < there < totals.gpus:
        return Verdict(
            "waits",
            f"Would wait. It asks for {totals.gpus} GPUs, and {cluster.name} has {there} in all:"
            " it starts only if the cluster grows.",
        )
    return Verdict("unknown", f"The scheduler of {cluster.name} decides when it starts.")
