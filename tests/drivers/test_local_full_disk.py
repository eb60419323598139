"""What the shims write while the disk is full: whole, or not at all, or later."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.local.shim import files, gang_end
from gangline.drivers.local.shim.gang import Gang

PLAN = {"replicas": [{"name": "worker-0"}], "grace": 30, "ranks": [], "marks": {}}
VALUE = {"state": "Failed", "reason": "x" * 500}


class Disk:
    """Takes ``at_once`` bytes per write, and nothing while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at_once: int = 4096) -> None:
        self.full_for, self.at_once, self.real = 0, at_once, os.write
        monkeypatch.setattr(os, "write", self.write)
        monkeypatch.setattr(files, "FULL_PAUSE", 0)

    def write(self, fd: int, data: Any) -> int:
        if self.full_for:
            self.full_for -= 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.real(fd, data[: self.at_once])


def test_a_record_that_is_taken_in_parts_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Disk(monkeypatch, at_once=100)
    files.write_over(str(tmp_path / "exit"), VALUE)
    assert files.read_json(str(tmp_path / "exit")) == VALUE


def test_nothing_is_left_of_what_did_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    disk.full_for = 1
    with pytest.raises(OSError, match="No space"):
        files.write_once(str(tmp_path / "end"), VALUE)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_is_told_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    disk.full_for = 3
    gang = Gang(str(tmp_path), PLAN, "worker-0")
    assert not gang.fail("Exited with code 5."), "a shim that still watches is not held up"
    assert gang_end.read(str(tmp_path)) is None
    gang.fail_for_good("Exited with code 5.")
    end = gang_end.read(str(tmp_path))
    assert end is not None
    assert end["reason"] == "Exited with code 5."
