"""The checker of the fault tests on a real API server: rows, objects, and what was ever made."""

from collections import Counter
from typing import Any

from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.kinds import KINDS
from tests.support.fault_proxy import FaultProxy, Request
from tests.support.kubernetes_engine import KubernetesEngine
from workloads.models import Attempt, Workload
from workloads.statuses import ENDED

JOBS = "|".join(sorted(kind.resource.plural for kind in KINDS.values()))


def creations(proxy: FaultProxy, workload: Workload | None = None) -> list[Request]:
    """Requests that made a job object, late ones too."""
    made = [r for r in proxy.seen("POST", f"/({JOBS})$") if r.status == 201]
    return [r for r in made if workload is None or _marks(r)[0] == str(workload.pk)]


def assert_world(engine: KubernetesEngine, proxy: FaultProxy) -> None:
    """Every row has what was asked for, no attempt was ever made twice, and the rows do not lie.

    A live object exactly where a row wants one; of a deleted workload none.
    """
    assert engine.made, "nothing was submitted, so nothing is proven"
    made = Counter(map(_marks, creations(proxy)))
    twice = {key: count for key, count in made.items() if count > 1}
    assert not twice, f"created more than once: {twice}"
    for workload in engine.made:
        workload.refresh_from_db()
        _assert_row(engine, workload)


def _assert_row(engine: KubernetesEngine, workload: Workload) -> None:
    name, found = workload.name, _objects(engine, workload)
    uids = [raw["metadata"]["uid"] for raw in found]
    attempt = Attempt.objects.get(workload=workload, no=workload.attempt_no)
    if workload.deleted_at:
        assert not found, f"{name} is deleted, yet {uids} are there"
    elif workload.desired == "Running" and workload.status not in ENDED:
        assert uids == [attempt.ext_uid], f"{name} is {workload.status} and has {uids}"
        assert attempt.create_state == "seen", f"{name} lives, yet its row never saw it"
    else:
        live = [raw for raw in found if not _is_over(raw)]
        assert not live, f"{name} is {workload.status}, yet an object of it lives"
        assert workload.status in ENDED, f"{name} is {workload.status}"
    assert workload.status not in ("Failed", "Cannot start") or workload.reason, f"{name}: why?"


def _objects(engine: KubernetesEngine, workload: Workload) -> list[dict[str, Any]]:
    resource = KINDS[workload.framework].resource
    wanted = f"{labels.INSTALL}={engine.install},{labels.WORKLOAD}={workload.pk}"
    answer = engine.bed.client.list(resource, engine.namespace, labelSelector=wanted)
    assert answer.ok, answer.message
    items: list[dict[str, Any]] = answer.body["items"]
    return items


def _is_over(raw: dict[str, Any]) -> bool:
    conditions = (raw.get("status") or {}).get("conditions") or ()
    ended = {c["type"] for c in conditions if c["status"] == "True"} & {"Succeeded", "Failed"}
    return bool(ended) or raw["spec"]["runPolicy"].get("suspend") is True


def _marks(request: Request) -> tuple[str, str]:
    marks = request.json["metadata"]["labels"]
    return marks[labels.WORKLOAD], marks[labels.ATTEMPT]
