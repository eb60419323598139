"""Files that programs of an attempt left behind: what a driver may offer, and its words.

A path is a tuple of names, as bytes: a file system knows no text. An empty one is the place itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from gangline.drivers.base import AttemptRef, Refused, Unknown

Path = tuple[bytes, ...]
MOST_NAMES, MOST_BYTES = 64, 4096
"""Of a path."""
MOST_ENTRIES = 2000
"""Of a folder that are told; which of more is left to chance."""
RUN = "run"
"""The place that every attempt has: the folder of its run."""

GONE = "It does not exist."
OUTSIDE = "It points outside the folder."
OURS = "It belongs to Gangline."
NO_FILE = "It is neither a file nor a folder."
IS_FOLDER = "It is a folder."


class Kind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"
    """It may be opened where it leads to something in the same place."""
    OTHER = "other"
    """A device, a pipe or a socket: there, and never opened."""


class Place(NamedTuple):
    """A folder in which programs may have left something."""

    key: str
    """`RUN`, or ``work-0`` for the first of the working folders that people chose."""
    path: str
    """Of a chosen one, as they wrote it."""

    @property
    def is_chosen(self) -> bool:
        """Others may keep files there too."""
        return self.key != RUN


class Entry(NamedTuple):
    name: bytes
    kind: Kind
    size: int
    """Bytes; 0 for all but files."""
    modified: datetime


class Folder(NamedTuple):
    entries: Sequence[Entry]
    is_cut: bool = False
    """There are more."""


@dataclass(frozen=True, slots=True)
class Content:
    """One file, read piece by piece. A piece raises OSError where the file has changed since."""

    size: int
    pieces: Iterator[bytes]


def is_path(path: Path) -> bool:
    """Whether a path names something below its place."""
    if len(path) > MOST_NAMES or sum(map(len, path)) + len(path) > MOST_BYTES:
        return False
    return not any(name in (b"", b".", b"..") or b"/" in name or b"\0" in name for name in path)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Folders first, by name."""
    return sorted(entries, key=lambda one: (one.kind is not Kind.FOLDER, one.name))


class Files(Protocol):
    """Those of one attempt."""

    def places(self) -> Sequence[Place]:
        """The folder of the run first."""

    def look_at(self, place: str, path: Path) -> Folder | Entry | Refused | Unknown:
        """What a folder holds, or what a file is. No link leads out of the place."""

    def open(self, place: str, path: Path) -> Content | Refused | Unknown:
        """A regular file, and nothing else."""


@runtime_checkable
class FileReader(Protocol):
    """A driver that can read what programs left, while they run and afterwards."""

    def files_of(self, ref: AttemptRef) -> Files | Refused:
        """Nothing is looked at on the cluster."""
