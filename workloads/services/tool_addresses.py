"""A tool's own address is taken once on a cluster, by a workload that is there."""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from gangline.clusters.models import Cluster
from gangline.db.locks import locked
from gangline.policies.engine import Resolution
from gangline.spec.problems import Problem, Role, shown
from workloads.models import ToolAddress, Workload
from workloads.services.item_paths import as_sent


def problems(resolution: Resolution, cluster: Cluster) -> Iterator[Problem]:
    """An address that another workload of the cluster has, at its field."""
    chosen = _chosen(resolution)
    taken = _taken(cluster, chosen) if chosen else ()
    for address, (role, index, item) in chosen.items():
        if address in taken:
            name = shown(str(item.get("name") or ""))
            problem = Problem.of(
                role, f"exposedUrls.{index}.url", "unique:address",
                cluster=cluster.name, value=item["url"],
                accepted="an address that no other workload has",
                key=name, label=f"Address of tool {name}",
            )  # fmt: skip
            yield problem.at(path=as_sent(problem, resolution.effective))


def take(workload: Workload, resolution: Resolution) -> list[Problem]:
    """Take them in the transaction that stores the workload; what is wrong, if it cannot."""
    chosen = _chosen(resolution)
    if not chosen:
        return []
    # Of two that want one address, the second looks when the first has it.
    locked(Cluster.objects.filter(pk=workload.cluster_id)).first()
    if found := list(problems(resolution, workload.cluster)):
        return found
    ToolAddress.objects.bulk_create(
        ToolAddress(cluster=workload.cluster, address=address, workload=workload)
        for address in chosen
    )
    return []


def _chosen(resolution: Resolution) -> dict[str, tuple[Role, int, dict[str, object]]]:
    roles = (Role.WORKER,) if resolution.master == "same" else (Role.WORKER, Role.MASTER)
    found: dict[str, tuple[Role, int, dict[str, object]]] = {}
    for role in roles:
        said = resolution.values(role).get("exposedUrls")
        for index, item in enumerate(said if isinstance(said, list | tuple) else ()):
            url = item.get("url") if isinstance(item, dict) else None
            if url and isinstance(url, str) and (address := _place(url)):
                found.setdefault(address, (role, index, item))
    return found


def _place(url: str) -> str:
    """``url`` without its scheme; empty where it is none, which is told elsewhere."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.netloc}{parts.path}".rstrip("/") if len(url) <= 300 else ""


def _taken(cluster: Cluster, addresses: Iterable[str]) -> set[str]:
    rows = ToolAddress.objects.filter(
        cluster=cluster, address__in=list(addresses), workload__deleted_at__isnull=True
    )
    return set(rows.values_list("address", flat=True))
