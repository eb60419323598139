"""Clusters on loopback, admitted for one test."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings


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
