"""Clusters on loopback, admitted for one test, and checks of them that take no thread."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.db import transaction

from gangline.clusters import checks


class _AtOnce(threading.Thread):
    """Does its work where it is started."""

    def start(self) -> None:
        self.run()

    def join(self, timeout: float | None = None) -> None:
        """It has ended."""


@pytest.fixture
def checks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks end before the request that begins them, in the transaction of the test."""
    monkeypatch.setattr(checks, "threading", SimpleNamespace(Thread=_AtOnce))
    monkeypatch.setattr(checks, "connections", SimpleNamespace(close_all=lambda: None))
    monkeypatch.setattr(checks, "close_old_connections", lambda: None)
    at_once = SimpleNamespace(on_commit=lambda begin: begin(), atomic=transaction.atomic)
    monkeypatch.setattr(checks, "transaction", at_once)


@pytest.fixture
def loopback_admitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clusters on loopback are admitted, keys are the test's own; every check ends before it."""
    changes = {"cluster_addresses": ("127.0.0.0/8",), "data_dir": tmp_path, "keys_file": None}
    known = type(settings.GANGLINE).model_validate(settings.GANGLINE.model_dump() | changes)
    monkeypatch.setattr(settings, "GANGLINE", known)
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("check-"):
            thread.join(30)
