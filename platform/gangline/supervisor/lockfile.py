"""One server per data folder, said in words when a second one comes."""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

NAME = "gangline.lock"


class AlreadyRunning(Exception):
    """Another server holds the data folder."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The server that holds a data folder, as far as it said who it is."""

    pid: object
    address: object


class LockFile:
    """Held for the life of a server; the kernel frees it however the process ends."""

    def __init__(self, data_dir: Path, address: str) -> None:
        self.path = data_dir / NAME
        self.address = address
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _read(file)
            file.close()
            raise AlreadyRunning(
                f"Gangline already runs on this data folder: process {found.pid} at"
                f" {found.address}."
                " Open that address, stop that process, or set GANGLINE_DATA_DIR to another folder."
            ) from None
        file.truncate(0)
        file.seek(0)
        json.dump({"pid": os.getpid(), "address": self.address}, file)
        file.flush()
        self._file = file
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()


def holder(data_dir: Path) -> Holder | None:
    """Who holds ``data_dir`` now; None: nobody."""
    try:
        file = (data_dir / NAME).open(encoding="utf-8")
    except OSError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(file)
    return None


def _read(file: IO[str]) -> Holder:
    try:
        content = json.load(file)
    except ValueError:
        content = None
    known = content if isinstance(content, dict) else {}
    return Holder(known.get("pid", "?"), known.get("address", "an unknown address"))
