"""What a person does about an orphan while a search stores what it found."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from gangline.clusters.models import Cluster, Orphan
from gangline.db.clock import db_now
from gangline.drivers.base import AttemptRef, Observation, ObservedState, OwnedObject
from gangline.resources.services import make
from gangline.scopes.services import found
from tests.support.kinds import declare
from workloads.services import orphans

pytestmark = pytest.mark.postgres


class Lab:
    """A cluster with one object of ours."""

    def __init__(self) -> None:
        ref = AttemptRef("install", str(uuid.uuid4()), 1, "lost", "speech", ext_uid="uid-1")
        self.one = OwnedObject(ref, "PyTorchJob")

    def owned_objects(self, install: str) -> list[OwnedObject]:
        return [self.one]

    def observe(self, ref: AttemptRef) -> Observation:
        return Observation(ref.workload, ref.attempt, ObservedState.RUNNING)


@pytest.fixture
def searched(db: None) -> tuple[Cluster, Any]:
    """A cluster on which an orphan is listed."""
    found(name="Test")
    declare("odd", lambda connection: None)
    cluster, lab = make("cluster", actor=None, name="lab", kind="odd"), Lab()
    assert orphans.search(cluster, lab)  # type: ignore[arg-type]
    return cluster, lab


def meanwhile(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """After a search has read the rows, and before it writes them."""
    reasons = orphans._reasons

    def told(stray: Any) -> Any:
        do()
        return reasons(stray)

    monkeypatch.setattr(orphans, "_reasons", told)


def test_a_decision_is_kept(searched: tuple[Cluster, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def ignore() -> None:
        Orphan.objects.update(decision=orphans.IGNORE, decided_at=db_now(), pods=7)

    meanwhile(monkeypatch, ignore)
    assert orphans.search(*searched)
    orphan = Orphan.objects.get()
    assert orphan.decision == orphans.IGNORE
    assert orphan.pods == 0, "what was seen is stored"


def test_what_was_deleted_does_not_come_back(
    searched: tuple[Cluster, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, lambda: Orphan.objects.all().delete())
    assert orphans.search(*searched)
    assert not Orphan.objects.exists()
