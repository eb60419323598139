"""What is kept for a time only goes, and nothing else."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from tests.support.engine import Engine
from workloads.models import Draft, IdempotencyKey, Workload
from workloads.watching.pruner import prune

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


def test_while_files_cannot_be_removed_their_row_stays(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, other = _deleted(engine, "stuck", days=16), _deleted(engine, "other", days=15)
    folder, removable = _folder("runs", stuck), _folder("runs", other)
    real = shutil.rmtree

    def refuses(path: Path, **more: Any) -> None:
        if path != folder:
            real(path, **more)
        elif not more.get("ignore_errors"):
            raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(shutil, "rmtree", refuses)
    prune()
    assert set(Workload.objects.values_list("name", flat=True)) == {"stuck"}
    assert not removable.exists()
    monkeypatch.undo()
    prune()
    assert not Workload.objects.exists()
    assert not folder.exists()


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
