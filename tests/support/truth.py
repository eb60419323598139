"""The checker of every fault test: what was asked for, what rows say, what really happened."""

from collections import Counter
from collections.abc import Iterable

from gangline.drivers.base import ObservedState
from tests.drivers.faulty import FaultyCluster
from workloads.models import Attempt, Workload
from workloads.statuses import ENDED


def assert_world(truth: FaultyCluster, workloads: Iterable[Workload]) -> None:
    """Every row has what was asked for, nothing runs twice, and the rows do not lie.

    One creation per attempt ever; a live object exactly where a row wants one and says so.
    """
    created = Counter((e.workload, e.attempt) for e in truth.effects("create"))
    twice = {key: count for key, count in created.items() if count > 1}
    assert not twice, f"created more than once: {twice}"
    for workload in workloads:
        workload.refresh_from_db()
        _assert_row(truth, workload)


def _assert_row(truth: FaultyCluster, workload: Workload) -> None:
    name = workload.name
    live = _live(truth, workload)
    attempt = Attempt.objects.get(workload=workload, no=workload.attempt_no)
    if workload.desired == "Running" and workload.status not in ENDED:
        assert live == 1, f"{name} is {workload.status} and has {live} live objects"
        assert attempt.create_state == "seen", f"{name} lives, yet its row never saw it"
    else:
        assert live == 0, f"{name} is {workload.status}, yet {live} objects live"
        assert workload.status in ENDED or workload.deleted_at, f"{name} is {workload.status}"
    assert workload.status not in ("Failed", "Cannot start") or workload.reason, f"{name}: why?"


def _live(truth: FaultyCluster, workload: Workload) -> int:
    driver = truth.driver()
    over = (ObservedState.SUCCEEDED, ObservedState.FAILED, ObservedState.SUSPENDED)
    rows = driver._objects("SELECT * FROM object WHERE workload = ?", str(workload.pk))
    states = [row.state(driver._start_seconds()) for row in rows]
    return len([s for s in states if s is not ObservedState.ABSENT and s not in over])
