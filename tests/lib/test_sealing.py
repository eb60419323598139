"""Texts are sealed for one place, under keys that come and go."""

import os
import threading
from pathlib import Path

import pytest

from gangline.lib.sealing import CannotOpen, CannotSeal, KeyFile, key_of


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys" / "sealing.keys")


def test_the_first_key_is_made_for_its_owner_only(file: KeyFile) -> None:
    ring = file.keyring()
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.keyring() is ring
    sealed = ring.seal("cluster/1", "s3cr3t")
    assert sealed.startswith(f"v1.{ring.current}.")
    assert "s3cr3t" not in sealed
    assert ring.open("cluster/1", sealed) == "s3cr3t"
    assert file.path.read_text().split(":")[1].strip() not in repr(ring)


def test_what_was_moved_or_changed_does_not_open(file: KeyFile) -> None:
    ring = file.keyring()
    sealed = ring.seal("cluster/1", "s3cr3t")
    with pytest.raises(CannotOpen, match="for something else"):
        ring.open("cluster/2", sealed)
    with pytest.raises(CannotOpen, match="changed after it was encrypted"):
        ring.open("cluster/1", sealed[:-8] + "AAAAAAA=")
    with pytest.raises(CannotOpen, match="not a sealed text"):
        ring.open("cluster/1", "s3cr3t")


def test_a_new_key_seals_and_the_old_one_opens(file: KeyFile) -> None:
    old = file.keyring().seal("c", "text")
    kid = file.add()
    ring = file.keyring()
    assert ring.current == kid != key_of(old)
    again = ring.resealed("c", old)
    assert key_of(again) == kid
    assert ring.resealed("c", again) == again
    file.remove(key_of(old))
    with pytest.raises(CannotOpen, match=f"sealed with the key {key_of(old)}, which"):
        file.keyring().open("c", old)
    assert file.keyring().open("c", again) == "text"


def test_the_key_that_seals_cannot_go(file: KeyFile) -> None:
    with pytest.raises(CannotSeal, match="is the key that seals"):
        file.remove(file.keyring().current)
    with pytest.raises(CannotSeal, match="There is no key absent"):
        file.remove("absent")


def test_a_key_file_that_was_named_is_not_made(tmp_path: Path) -> None:
    named = KeyFile(tmp_path / "elsewhere.keys", may_make=False)
    with pytest.raises(CannotSeal, match="is missing"):
        named.keyring()
    kid = named.add()
    assert named.keyring().current == kid


def test_a_broken_key_file_is_named_by_line(file: KeyFile) -> None:
    file.add()
    file.path.write_text(file.path.read_text() + "nonsense\n")
    with pytest.raises(CannotSeal, match=r"Line 2 of the key file .* is not “id:key”"):
        file.keyring()
    file.path.write_text("\n")
    with pytest.raises(CannotSeal, match="has no key"):
        file.keyring()


def test_many_at_once_agree_on_the_first_key(tmp_path: Path) -> None:
    path, seen, begin = tmp_path / "sealing.keys", set(), threading.Barrier(8)

    def one() -> None:
        begin.wait()
        seen.add(KeyFile(path).keyring().current)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1
    assert len(path.read_text().splitlines()) == 1


def test_no_half_written_file_is_left(file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.keyring().current

    def full(*args: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        file.add()
    monkeypatch.undo()
    assert KeyFile(file.path).keyring().current == before
