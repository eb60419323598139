"""Files that programs left, by both drivers that can read them, and ways out of their folders."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gangline.drivers.base import AttemptRef, Refused, Unknown
from gangline.drivers.local import results as on_this_machine
from gangline.drivers.local.run_folder import RunFolder
from gangline.drivers.local.sandbox import Places
from gangline.drivers.local.shim.files import PLAN_VERSION
from gangline.drivers.results import (
    GONE,
    IS_FOLDER,
    MOST_ENTRIES,
    NO_FILE,
    OURS,
    OUTSIDE,
    RUN,
    Content,
    Entry,
    Files,
    Folder,
    Kind,
)
from gangline.drivers.slurm import results as on_slurm
from gangline.drivers.slurm.commands import LocalCommands, Programs

WORKLOAD = "0f0e-1"
WORK = "work-0"


@dataclass
class Left:
    """What a driver reads, where programs left it, and the way there from the place."""

    files: Files
    run: Path
    work: Path
    way: tuple[bytes, ...]
    data_dir: Path


def local(tmp_path: Path) -> Left:
    data_dir, work = tmp_path / "data", tmp_path / "home" / "work"
    work.mkdir(parents=True)
    folder = RunFolder(data_dir, WORKLOAD, 1)
    folder.prepare()
    folder.work("worker-0").mkdir(parents=True)
    replica = {"name": "worker-0", "opened": [str(work)]}
    folder.write_plan({"version": PLAN_VERSION, "replicas": [replica]})
    places = Places(data_dir, roots=(tmp_path / "home",))
    reader = on_this_machine.Reader(folder, places)
    return Left(reader, folder.work("worker-0"), work, (b"worker-0",), data_dir)


def slurm(tmp_path: Path) -> Left:
    base, work, data_dir = tmp_path / "runs", tmp_path / "home" / "work", tmp_path / "data"
    run = base / "install-a" / WORKLOAD / "1"
    for folder in (run, work, data_dir):
        folder.mkdir(parents=True)
    native = {"parts": [{"role": "worker", "workingDirectory": str(work)}], "framework": "JAX"}
    ref = AttemptRef("install-a", WORKLOAD, 1, "gang", rendered=native)
    reader = on_slurm.Reader(Programs(LocalCommands()), str(base), str(data_dir), ref)
    return Left(reader, run, work, (), data_dir)


@pytest.fixture(params=[local, slurm], ids=["this machine", "slurm"])
def left(request: pytest.FixtureRequest, tmp_path: Path) -> Left:
    make: Callable[[Path], Left] = request.param
    return make(tmp_path)


def names(left: Left, *path: bytes, place: str = RUN) -> list[tuple[bytes, Kind, int]]:
    found = left.files.look_at(place, (*left.way, *path) if place == RUN else path)
    assert isinstance(found, Folder), found
    return [(one.name, one.kind, one.size) for one in found.entries]


def read(left: Left, *path: bytes, place: str = RUN) -> bytes | str:
    """The bytes, or why not."""
    found = left.files.open(place, (*left.way, *path) if place == RUN else path)
    if isinstance(found, (Refused, Unknown)):
        return found.reason
    data = b"".join(found.pieces)
    assert len(data) == found.size
    return data


def test_files_are_listed_and_read_whatever_their_names(left: Left) -> None:
    (left.run / "results" / "deep").mkdir(parents=True)
    odd = [b"caf\xe9 %s\\n", b"two\nlines\n", "größe.txt".encode(), b"-rf", b"'$(id)'"]
    for number, name in enumerate(odd):
        (left.run / "results" / os.fsdecode(name)).write_bytes(b"x" * number)
    (left.run / "results" / "model.pt").write_bytes(bytes(range(256)) * 4096)
    assert (b"results", Kind.FOLDER, 0) in names(left)
    listed = names(left, b"results")
    assert listed[0] == (b"deep", Kind.FOLDER, 0)
    assert set(listed[1:]) == {
        *((name, Kind.FILE, number) for number, name in enumerate(odd)),
        (b"model.pt", Kind.FILE, 1 << 20),
    }
    for number, name in enumerate(odd):
        assert read(left, b"results", name) == b"x" * number
    assert read(left, b"results", b"model.pt") == bytes(range(256)) * 4096
    one = left.files.look_at(RUN, (*left.way, b"results", b"model.pt"))
    assert isinstance(one, Entry)
    assert (one.kind, one.size) == (Kind.FILE, 1 << 20)
    assert [place.key for place in left.files.places()] == [RUN, WORK]


def test_links_lead_to_what_is_in_the_same_place_and_nowhere_else(left: Left) -> None:
    (left.run / "epoch-3").mkdir()
    (left.run / "epoch-3" / "model.pt").write_text("weights")
    (left.run / "last").symlink_to("epoch-3")
    (left.run / "back").symlink_to("last/../epoch-3/model.pt")
    (left.run / "whole").symlink_to(left.run / "epoch-3" / "model.pt")
    (left.run / "ring").symlink_to("ring")
    (left.work / "others").write_text("secret")
    for name, target in {
        "passwd": "/etc/passwd",
        "up": "../..",
        "beside": str(left.work / "others"),
        "epoch-3/far": "../" * 20 + "etc/passwd",
    }.items():
        (left.run / name).symlink_to(target)
    assert (b"last", Kind.LINK, 0) in names(left)
    assert read(left, b"last", b"model.pt") == b"weights"
    assert read(left, b"back") == read(left, b"whole") == b"weights"
    assert names(left, b"last")[1] == (b"model.pt", Kind.FILE, 7)
    for path in [(b"passwd",), (b"up",), (b"beside",), (b"epoch-3", b"far"), (b"last", b"far")]:
        assert read(left, *path) == OUTSIDE, path
        refused = left.files.look_at(RUN, (*left.way, *path))
        assert refused == Refused(OUTSIDE), path
    assert read(left, b"ring") in (OUTSIDE, GONE)


@pytest.mark.parametrize(
    "path", [(b"..",), (b".",), (b"",), (b"a/b",), (b"a\0b",), (b"x",) * 65, (b"x" * 5000,)]
)
def test_a_path_that_can_be_none_is_not_there(left: Left, path: tuple[bytes, ...]) -> None:
    assert read(left, *path) == GONE
    assert left.files.look_at(RUN, (*left.way, *path)) == Refused(GONE)
    assert left.files.look_at("work-7", ()) == Refused(GONE)


def test_what_is_no_file_is_told_and_never_opened(
    left: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(left.run / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        monkeypatch.chdir(left.run)  # an address holds 107 bytes
        door.bind("door")
    (left.run / "folder").mkdir()
    assert (b"pipe", Kind.OTHER, 0) in names(left)
    assert read(left, b"pipe") == read(left, b"door") == NO_FILE
    assert read(left, b"folder") == IS_FOLDER
    assert read(left, b"none") == GONE
    assert read(left, b"folder", b"none") == GONE


def test_a_working_folder_is_read_but_not_what_gangline_keeps_in_it(left: Left) -> None:
    (left.work / "scores.csv").write_text("1,2")
    assert names(left, place=WORK) == [(b"scores.csv", Kind.FILE, 3)]
    assert read(left, b"scores.csv", place=WORK) == b"1,2"
    (left.work / "ours").symlink_to(left.data_dir)
    (left.work / "runs").symlink_to(left.run)
    assert read(left, b"ours", place=WORK) in (OUTSIDE, OURS)
    assert read(left, b"runs", place=WORK) in (OUTSIDE, OURS)


def test_a_working_folder_around_ganglines_data_does_not_show_it(tmp_path: Path) -> None:
    """Of this machine: there a person may choose the folder in which Gangline lies."""
    left = local(tmp_path)
    (left.data_dir / "db.sqlite3").write_text("all of it")
    folder = RunFolder(left.data_dir, WORKLOAD, 2)
    folder.prepare()
    folder.write_plan(
        {"version": PLAN_VERSION, "replicas": [{"name": "worker-0", "opened": [str(tmp_path)]}]}
    )
    reader = on_this_machine.Reader(folder, Places(left.data_dir, roots=(tmp_path,)))
    assert reader.look_at(WORK, (b"data",)) == Refused(OURS)
    assert reader.open(WORK, (b"data", b"db.sqlite3")) == Refused(OURS)
    assert isinstance(reader.look_at(WORK, (b"home",)), Folder)


def test_ganglines_own_records_of_a_job_are_not_among_its_files(tmp_path: Path) -> None:
    left = slurm(tmp_path)
    (left.run / "secrets").mkdir()
    for name in ("plan.json", "exit.json.new", "secrets/key", "ranks.txt"):
        (left.run / name).write_text("x")
    (left.run / "peek").symlink_to("secrets/key")
    assert [name for name, *_ in names(left)] == [b"peek", b"ranks.txt"]
    assert read(left, b"secrets", b"key") == read(left, b"peek") == OURS
    assert read(left, b"plan.json") == OURS


def test_a_file_that_changes_while_it_is_read_breaks_off(left: Left) -> None:
    """What came so far is no whole file, and nobody takes it for one."""
    path = left.run / "model.pt"
    path.write_bytes(b"x" * 100)
    found = left.files.open(RUN, (*left.way, b"model.pt"))
    assert isinstance(found, Content)
    path.write_bytes(b"x" * 10)
    with pytest.raises(OSError, match="while it was read"):
        list(found.pieces)


def test_of_a_huge_folder_a_part_is_told(left: Left) -> None:
    for number in range(MOST_ENTRIES + 40):
        (left.run / str(number)).touch()
    found = left.files.look_at(RUN, left.way)
    assert isinstance(found, Folder)
    assert found.is_cut
    assert len(found.entries) == MOST_ENTRIES


def test_a_run_folder_that_is_gone_is_no_outage(left: Left) -> None:
    for one in (left.run, left.run.parent):
        one.rename(one.with_name("gone")) if one.exists() else None
    assert left.files.look_at(RUN, left.way) == Refused(GONE)
