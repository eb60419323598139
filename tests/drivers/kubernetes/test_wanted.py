"""Whose logs somebody reads: told through the folder of data, and forgotten after a while."""

import os
import time
from pathlib import Path

from gangline.drivers.kubernetes import logs


def test_who_reads_is_known_for_a_while(tmp_path: Path) -> None:
    assert logs.being_read(tmp_path) == set()
    logs.mark_read(tmp_path, "one", 1)
    logs.mark_read(tmp_path, "one", 2)
    logs.mark_read(tmp_path, "one", 2)
    assert logs.being_read(tmp_path) == {("one", 1), ("one", 2)}
    (mark,) = tmp_path.glob("logs-wanted/one.2")
    long_ago = time.time() - logs.FRESH - 1
    os.utime(mark, (long_ago, long_ago))
    assert logs.being_read(tmp_path) == {("one", 1)}
    assert not mark.exists()
    logs.mark_read(tmp_path, "one", 2)
    assert ("one", 2) in logs.being_read(tmp_path)


def test_what_else_lies_there_is_nobodys_wish(tmp_path: Path) -> None:
    logs.mark_read(tmp_path, "one", 1)
    (tmp_path / "logs-wanted" / "stray").touch()
    assert logs.being_read(tmp_path) == {("one", 1)}


def test_where_nothing_can_be_written_nobody_is_hindered(tmp_path: Path) -> None:
    (tmp_path / "logs-wanted").touch()
    logs.mark_read(tmp_path, "one", 1)
    assert (tmp_path / "logs-wanted").is_file()
    assert logs.being_read(tmp_path) == set()
