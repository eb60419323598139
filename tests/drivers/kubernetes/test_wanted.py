"""Whose logs somebody reads: told through the folder of data, and forgotten after a while."""

import os
import time
from pathlib import Path

from gangline.drivers.kubernetes import wanted


def test_who_reads_is_known_for_a_while(tmp_path: Path) -> None:
    assert wanted.told(tmp_path) == set()
    wanted.tell(tmp_path, "one", 1)
    wanted.tell(tmp_path, "one", 2)
    wanted.tell(tmp_path, "one", 2)
    assert wanted.told(tmp_path) == {("one", 1), ("one", 2)}
    (mark,) = tmp_path.glob("logs-wanted/one.2")
    long_ago = time.time() - wanted.FRESH - 1
    os.utime(mark, (long_ago, long_ago))
    assert wanted.told(tmp_path) == {("one", 1)}
    assert not mark.exists()
    wanted.tell(tmp_path, "one", 2)
    assert ("one", 2) in wanted.told(tmp_path)


def test_what_else_lies_there_is_nobodys_wish(tmp_path: Path) -> None:
    wanted.tell(tmp_path, "one", 1)
    (tmp_path / "logs-wanted" / "stray").touch()
    assert wanted.told(tmp_path) == {("one", 1)}


def test_where_nothing_can_be_written_nobody_is_hindered(tmp_path: Path) -> None:
    (tmp_path / "logs-wanted").touch()
    wanted.tell(tmp_path, "one", 1)
    assert (tmp_path / "logs-wanted").is_file()
    assert wanted.told(tmp_path) == set()
