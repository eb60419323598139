"""Copies what replicas print from the run folders into Gangline's own log store.

The files grow on the cluster's file system; one program tells their sizes, another brings what is
new of many of them, and each byte is kept once (`drivers.logs`).
"""

import base64
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gangline.drivers.logs.store import LogStore
from gangline.spec.frameworks import ROLE_NAMES

from . import looks
from .commands import NoAnswer, Programs, quoted
from .looks import Key
from .observation import Attempt
from .totals import Totals

log = logging.getLogger(__name__)

PIECE, AT_ONCE = 512 * 1024, 40
"""Bytes of one file, and files, that one program brings."""
REPLICA = re.compile(rf"(?:{'|'.join(ROLE_NAMES)})-(?:0|[1-9][0-9]{{0,4}})")
_FILE = re.compile(rf"({REPLICA.pattern})\.(out|err)")
_STREAMS = {"out": "stdout", "err": "stderr"}


@dataclass(frozen=True, slots=True)
class _File:
    """What one replica of an attempt prints on one stream."""

    key: Key
    replica: str
    kind: str
    at: int
    """Bytes of it that are here."""

    @property
    def stream(self) -> str:
        return _STREAMS[self.kind]


class Collector:
    """Of one cluster. Several may work at the same time: each log is one's at a time."""

    def __init__(self, programs: Programs, base: str, store: LogStore) -> None:
        self.programs, self.base, self.store = programs, base, store
        self._totals = Totals(programs, store)
        self.trouble = ""
        """Why nothing that replicas print can be kept here; empty: it can."""

    def collect(self, attempts: Sequence[Attempt]) -> None:
        """Bring what is due; what cannot be brought now comes with a later turn."""
        try:
            for install in {here.ref.install for here in attempts}:
                self._collect(install, [h for h in attempts if h.ref.install == install])
            self.trouble = "" if attempts else self.trouble
        except NoAnswer as why:
            log.info("logs are copied later: %s", why)
        except OSError as problem:
            log.warning("logs cannot be kept: %s", problem)
            self.trouble = f"Logs cannot be kept on Gangline’s own disk: {problem.strerror}."

    def _collect(self, install: str, attempts: Sequence[Attempt]) -> None:
        over = {_key(here) for here in attempts if not here.is_live}
        wanted = [_key(h) for h in attempts if "start.json" in h.run.files or not h.is_live]
        sizes = self._sizes(install, wanted)
        before: list[_File] = []
        while (files := self._new(sizes)) and files != before:
            for at in range(0, len(files), AT_ONCE):
                self._bring(install, files[at : at + AT_ONCE])
            before = files
        self._totals.take([here for here in attempts if not here.is_live])
        for key in over:
            self._end(key, sizes.get(key, {}))

    def _sizes(self, install: str, keys: Iterable[Key]) -> dict[Key, dict[str, int]]:
        top = looks.folder(self.base, install)
        lines = [f"cd {top} || exit 0"]
        lines += [
            f"[ -d {p}/logs ] && stat -c '%s %n' {p}/logs/* 2>/dev/null"
            for p in (quoted(f"{workload}/{attempt}") for workload, attempt in keys)
        ]
        if len(lines) == 1:
            return {}
        found: dict[Key, dict[str, int]] = {}
        for line in self.programs.run("\n".join(lines)).out.splitlines():
            size, _, path = line.partition(" ")
            workload, attempt, _, name = path.split("/", 3)
            if _FILE.fullmatch(name):
                found.setdefault((workload, int(attempt)), {})[name] = int(size)
        return found

    def _new(self, sizes: Mapping[Key, Mapping[str, int]]) -> list[_File]:
        """Files of which not all is here."""
        found = []
        for key, names in sizes.items():
            for name, size in names.items():
                replica, _, kind = name.rpartition(".")
                with self.store.copying(*key, replica) as copy:
                    at = size if copy is None else copy.position(_STREAMS[kind])
                if at < size:
                    found.append(_File(key, replica, kind, at))
        return found

    def _bring(self, install: str, files: Sequence[_File]) -> None:
        lines = [f"cd {looks.folder(self.base, install)} || exit 0"]
        for number, file in enumerate(files):
            path = quoted(f"{file.key[0]}/{file.key[1]}/logs/{file.replica}.{file.kind}")
            lines.append(
                f"printf '%s ' {number}; tail -c +{file.at + 1} {path} | head -c {PIECE}"
                " | base64 | tr -d '\\n'; echo"
            )
        for line in self.programs.run("\n".join(lines)).out.splitlines():
            place, _, text = line.partition(" ")
            if not place.isdigit() or not text:
                continue
            file = files[int(place)]
            with self.store.copying(*file.key, file.replica) as copy:
                # Another may have copied meanwhile: then these bytes are here already.
                if copy is not None and copy.position(file.stream) == file.at:
                    copy.add(file.stream, base64.b64decode(text))

    def _end(self, key: Key, sizes: Mapping[str, int]) -> None:
        """Nothing more comes, once all that is there has been copied."""
        for replica in {name.rpartition(".")[0] for name in sizes}:
            with self.store.copying(*key, replica) as copy:
                if copy is None or any(
                    copy.position(stream) < sizes.get(f"{replica}.{kind}", 0)
                    for kind, stream in _STREAMS.items()
                ):
                    return
                copy.end()
        self.store.end_attempt(*key)


def _key(here: Attempt) -> Key:
    return here.ref.workload, here.ref.attempt
