"""What is kept for a time only goes, and nothing else."""

import os
import subprocess
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from axes.models import AccessFailureLog
from django.conf import settings
from django.contrib.sessions.models import Session

from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from tests.support.engine import Engine
from workloads.models import Draft, IdempotencyKey, Workload
from workloads.watching import pruner
from workloads.watching.pruner import Pruner, prune

pytestmark = pytest.mark.postgres


def _deleted(engine: Engine, name: str, *, days: float) -> Workload:
    workload = engine.workload(name)
    Workload.objects.filter(pk=workload.pk).update(
        desired="Deleted", deleted_at=db_now() - timedelta(days=days)
    )
    return workload


def _folder(kind: str, workload: Workload) -> Path:
    folder = Path(settings.GANGLINE.data_dir) / kind / str(workload.pk)
    (folder / "1").mkdir(parents=True)
    return folder


def test_deleted_workloads_go_with_their_files_after_two_weeks(engine: Engine) -> None:
    old, fresh = _deleted(engine, "old", days=15), _deleted(engine, "fresh", days=13)
    lives = engine.workload("lives")
    files = [_folder(kind, old) for kind in ("logs", "runs")]
    kept = [_folder(kind, fresh) for kind in ("logs", "runs")]
    prune()
    assert set(Workload.objects.values_list("name", flat=True)) == {"fresh", "lives"}
    assert not any(folder.exists() for folder in files)
    assert all(folder.exists() for folder in kept)
    lives.refresh_from_db()


def test_what_is_nested_deeper_than_any_stack_goes_as_well(engine: Engine) -> None:
    folder = _folder("runs", _deleted(engine, "deep", days=15))
    inside = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=inside)
        outside, inside = inside, os.open("d", os.O_RDONLY, dir_fd=inside)
        os.close(outside)
    os.close(inside)
    prune()
    assert not Workload.objects.exists()
    assert not folder.exists()


def test_one_that_cannot_be_removed_stays_and_keeps_no_other(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, other = _deleted(engine, "stuck", days=17), _deleted(engine, "other", days=15)
    odd = _deleted(engine, "odd", days=16)
    folder, removable = _folder("runs", stuck), _folder("runs", other)
    _folder("runs", odd)
    real = subprocess.run

    def refuses(command: list[str], **more: Any) -> Any:
        if command[-1] == str(folder):
            return subprocess.CompletedProcess(command, 1, "", "rm: Operation not permitted")
        if str(odd.pk) in command[-1]:
            raise RecursionError
        return real(command, **more)

    monkeypatch.setattr(subprocess, "run", refuses)
    prune()
    assert set(Workload.objects.values_list("name", flat=True)) == {"stuck", "odd"}
    assert not removable.exists()
    monkeypatch.undo()
    prune()
    assert not Workload.objects.exists()
    assert not folder.exists()


def test_a_pruner_that_breaks_rests_before_it_tries_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float | None] = []

    class UntilItRests(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout)
            self.set()
            return True

    def breaks(stop: threading.Event) -> bool:
        raise RecursionError

    monkeypatch.setattr(pruner, "prune", breaks)
    monkeypatch.setattr(pruner, "close_old_connections", lambda: None)
    Pruner().run(UntilItRests())
    assert pauses == [pruner.EVERY_SECONDS]


def test_sessions_and_failed_sign_ins_go_when_nothing_counts_them_any_more(
    engine: Engine,
) -> None:
    for days in (-1, 1):
        at = db_now() + timedelta(days=days)
        Session.objects.create(session_key=f"s{days}", session_data="", expire_date=at)
    for days in (0, 2):
        at = db_now() - timedelta(days=days)
        AccessFailureLog.objects.create(username=f"u{days}")
        AccessFailureLog.objects.filter(username=f"u{days}").update(attempt_time=at)
    prune()
    assert list(Session.objects.values_list("pk", flat=True)) == ["s1"]
    assert list(AccessFailureLog.objects.values_list("username", flat=True)) == ["u0"]


def test_workloads_of_another_host_are_left_to_it(engine: Engine) -> None:
    old = _deleted(engine, "old", days=30)
    Cluster.objects.update(host_id="another")
    prune()
    assert Workload.objects.filter(pk=old.pk).exists()


@pytest.mark.parametrize(("days", "left"), [(31, 0), (29, 1)])
def test_drafts_live_for_thirty_days_after_the_last_word(
    engine: Engine, days: float, left: int
) -> None:
    at = db_now() - timedelta(days=days)
    Draft.objects.create(owner=engine.owner, created_at=at, updated_at=at)
    prune()
    assert Draft.objects.count() == left


@pytest.mark.parametrize(("hours", "left"), [(-1, 0), (1, 1)])
def test_keys_of_answered_requests_live_until_they_expire(
    engine: Engine, hours: float, left: int
) -> None:
    values: dict[str, Any] = {"user": engine.owner, "key": "k", "request_hash": "h"}
    IdempotencyKey.objects.create(
        workload=engine.workload(), expires_at=db_now() + timedelta(hours=hours), **values
    )
    prune()
    assert IdempotencyKey.objects.count() == left
