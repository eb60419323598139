"""Reads what programs left on the file system of the cluster, by its login node. See `FileReader`.

It is read as the account that ran the programs, so a link leads to nothing that they could not
read; it is refused all the same, and so is whatever Gangline itself keeps beside the runs.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gangline.drivers.base import AttemptRef, Refused, Unknown
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
    Folder,
    Kind,
    Path,
    Place,
    in_order,
    is_path,
)

from . import looks, rendering
from .commands import NoAnswer, Programs, quoted

PIECE = 1 << 22
HIDDEN = (
    "plan.json", "job.sh", "replica.sh", "node.sh", "sbatch.err", "submitted", "released", "stop",
    "deleted", "missed", "requeued", "image", "start.json", "exit.json", "hostfile", "secrets",
    "data",
)  # fmt: skip
"""Of the run folder: records, what is sealed, and what was fetched and goes with the job."""
_KINDS = {"d": Kind.FOLDER, "f": Kind.FILE, "l": Kind.LINK}
_REFUSALS = {"gone": GONE, "outside": OUTSIDE, "ours": OURS, "other": NO_FILE, "folder": IS_FOLDER,
             "changed": "The file was changed while it was read.",
             "unread": "The account on the cluster may not read it."}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reader:
    """The files of one attempt."""

    programs: Programs
    base: str
    ours: str
    """Where Gangline keeps its own data, if it runs there."""
    ref: AttemptRef

    def places(self) -> Sequence[Place]:
        return [Place(RUN, ""), *self._chosen()]

    def look_at(self, place: str, path: Path) -> Folder | Entry | Refused | Unknown:
        text = (
            'if [ -f "$real" ]; then echo "file $(stat -L -c "%s %Y" "$real")"; exit 0; fi\n'
            '[ -d "$real" ] || { echo other; exit 0; }\n'
            '[ -r "$real" ] && [ -x "$real" ] || { echo unread; exit 0; }\n'
            "echo listed\n"
            'find "$real" -mindepth 1 -maxdepth 1 -printf "%y %s %T@ %f\\\\0"'
            f" | head -z -n {MOST_ENTRIES + len(HIDDEN) + 1} | base64 | tr -d '\\n'; echo"
        )
        try:
            word, rest = self._asked(place, path, text)
        except NoAnswer as why:
            return Unknown(str(why))
        if word == "file":
            size, _, modified = rest.partition(" ")
            return Entry(path[-1], Kind.FILE, int(size), datetime.fromtimestamp(int(modified), UTC))
        if word == "listed":
            return _folder(rest, HIDDEN if place == RUN and not path else ())
        return _refused(word, rest)

    def open(self, place: str, path: Path) -> Content | Refused | Unknown:
        text = (
            '[ -f "$real" ] || { [ -d "$real" ] && echo folder || echo other; exit 0; }\n'
            '[ -r "$real" ] || { echo unread; exit 0; }\n'
            'echo "file $(stat -L -c "%s %d:%i" "$real")"'
        )
        try:
            word, rest = self._asked(place, path, text)
        except NoAnswer as why:
            return Unknown(str(why))
        if word != "file":
            return _refused(word, rest)
        size, _, same = rest.partition(" ")
        return Content(int(size), self._pieces(place, path, int(size), same))

    def _pieces(self, place: str, path: Path, size: int, same: str) -> Iterator[bytes]:
        at = 0
        while at < size:
            count = min(PIECE, size - at)
            text = (
                f'[ "$(stat -L -c "%d:%i" "$real")" = {quoted(same)} ] && [ -f "$real" ]'
                " || { echo changed; exit 0; }\n"
                f'echo piece; tail -c +{at + 1} -- "$real" | head -c {count} | base64'
                " | tr -d '\\n'; echo"
            )
            try:
                word, rest = self._asked(place, path, text)
            except NoAnswer as why:
                raise OSError(str(why)) from why
            piece = _bytes(rest) if word == "piece" else b""
            if len(piece) != count:
                raise OSError(_REFUSALS["changed"])
            at += count
            yield piece

    def _chosen(self) -> Iterator[Place]:
        """Folders that people chose; in a container a path is another's."""
        parts = rendering.running(self.ref.rendered or {"parts": []})
        given = [p["workingDirectory"] for p in parts
                 if p.get("workingDirectory") and not p.get("image")]  # fmt: skip
        for number, path in enumerate(dict.fromkeys(given)):
            yield Place(f"work-{number}", str(path))

    def _asked(self, place: str, path: Path, text: str) -> tuple[str, str]:
        """The first word and the rest of what ``text`` says of ``$real``. Raises NoAnswer."""
        where = next((one for one in self.places() if one.key == place), None)
        if where is None or not is_path(path):
            return "gone", ""
        own = looks.folder(self.base, self.ref.install, (self.ref.workload, self.ref.attempt))
        top = own if place == RUN else quoted(where.path)
        answer = self.programs.run(f"{self._resolved(top, place, path)}\n{text}")
        if not answer.out.endswith("\n"):
            raise NoAnswer(f"The login node gave no answer: {answer.words or answer.code}.")
        word, *rest = answer.out.split(None, 1)
        return word, rest[0].strip() if rest else ""

    def _resolved(self, top: str, place: str, path: Path) -> str:
        """Lines that find out what ``path`` really is, ``$real``, and keep it within its place."""
        hidden = "|".join(f"{name}|{name}/*" for name in HIDDEN)
        mine = f'case ${{real#"$root"/}} in {hidden}) echo ours; exit 0 ;; esac'
        kept = (looks.folder(self.base, self.ref.install), quoted(self.ours))
        others = "\n".join(
            f'ours=$(readlink -f -- {one}) && case $real/ in "$ours"/*) echo ours; exit 0 ;; esac'
            for one in kept
        )
        return "\n".join(
            (
                # A name may end with a new line, which a substitution would drop.
                f"cd -- {top} 2> /dev/null || {{ echo gone; exit 0; }}",
                'root=$(pwd -P; echo .); root=${root%??}; [ "$root" != / ] || root=',
                f"path=$(printf '%b.' '{_octal(path)}'); path=${{path%.}}",
                'real=$(readlink -f -- "./$path"; echo .); real=${real%??}',
                'case $real/ in "$root"/*) ;; /*) echo outside; exit 0 ;;'
                " *) echo gone; exit 0 ;; esac",
                '[ -e "$real" ] || { echo gone; exit 0; }',
                mine if place == RUN else others,
            )
        )


def _octal(path: Path) -> str:
    """What ``printf`` makes the path of, whatever bytes are in it."""
    return "".join(f"\\0{byte:03o}" for byte in b"/".join(path))


def _folder(text: str, hidden: Sequence[str]) -> Folder:
    found, count = [], 0
    for row in _bytes(text).split(b"\0"):
        parts = row.split(b" ", 3)
        if len(parts) != 4:
            continue
        count += 1
        kind, size, modified, name = parts
        if name.decode("ascii", "replace").removesuffix(".new") in hidden:
            continue
        what = _KINDS.get(kind.decode(), Kind.OTHER)
        when = datetime.fromtimestamp(float(modified), UTC)
        found.append(Entry(name, what, int(size) if what is Kind.FILE else 0, when))
    is_cut = count > MOST_ENTRIES + len(hidden) or len(found) > MOST_ENTRIES
    return Folder(in_order(found[:MOST_ENTRIES]), is_cut)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def _refused(word: str, rest: str) -> Refused | Unknown:
    if word in _REFUSALS:
        return Refused(_REFUSALS[word])
    return Unknown(f"The login node sent an unexpected answer: {f'{word} {rest}'[:80]}.")
