"""Files that the programs of an attempt left, for a person who may read them.

Who may read its log may read the folder of its run. A working folder that somebody chose may hold
files of others too: that takes the right to run commands in the workload, which could print them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode
from uuid import UUID

from gangline.access.actor import Actor
from gangline.access.grants import can, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.accounts.models import User
from gangline.audit import actions
from gangline.audit.services import record
from gangline.clusters.connections import acts_here, driver_for
from gangline.drivers.base import Refused, Unknown
from gangline.drivers.kind import Unconnectable
from gangline.drivers.results import (
    RUN,
    Content,
    Entry,
    FileReader,
    Files,
    Folder,
    Path,
    Place,
    is_path,
)
from workloads.models import Attempt, Workload
from workloads.refs import attempt_ref
from workloads.selectors import details

_PLACE = re.compile(r"run|work-[0-9]{1,2}", re.ASCII)
_ATTEMPT = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class NoFiles(Exception):
    """There is nothing to read there, or not now, in words why."""


class BadPlace(ValueError):
    """An address that can be none, in words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address names."""

    attempt: int = 0
    """0: the newest."""
    place: str = RUN
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """One place of an attempt, for a person who may read it."""

    workload: Workload
    attempt: Attempt
    files: Files
    places: Sequence[Place]
    place: Place
    path: Path

    def look(self) -> Folder | Entry:
        """What is there. Raises NoFiles."""
        found = self.files.look_at(self.place.key, self.path)
        if isinstance(found, (Refused, Unknown)):
            raise NoFiles(found.reason)
        return found

    def download(self, actor: Actor) -> Content:
        """The file, which the audit log then knows. Raises NoFiles."""
        found = self.files.open(self.place.key, self.path)
        why = found.reason if isinstance(found, (Refused, Unknown)) else ""
        record(
            actor=actor,
            action=actions.WORKLOAD_FILE_DOWNLOAD,
            object_type="workload",
            object_id=str(self.workload.pk),
            object_name=self.workload.name,
            scope=self.workload.project.scope,
            result="failed" if why else "ok",
            reason=why,
            detail={
                "attempt": self.attempt.no,
                "place": self.place.path or self.place.key,
                "file": shown(b"/".join(self.path)),
            },
        )
        if isinstance(found, (Refused, Unknown)):
            raise NoFiles(why)
        return found


def asked(query: str) -> Asked:
    """What a query string names; of a path each byte counts. Raises BadPlace."""
    try:
        given = dict(parse_qsl(query, errors="surrogateescape", max_num_fields=50))
    except ValueError as problem:
        raise BadPlace("The address has too many parts.") from problem
    attempt, place = given.get("attempt", ""), given.get("place", RUN)
    if attempt and not _ATTEMPT.fullmatch(attempt):
        raise BadPlace("attempt must be the number of an attempt, such as 1.")
    if not _PLACE.fullmatch(place):
        raise BadPlace("place must be run, work-0 or the like, as the list of places has it.")
    text = given.get("path", "").encode(errors="surrogateescape")
    path = tuple(text.split(b"/")) if text else ()
    if not is_path(path):
        raise BadPlace("path must name a file below the place, such as results/model.pt.")
    return Asked(int(attempt or 0), place, path)


def query_of(asked: Asked) -> str:
    """The same as a query string."""
    given = {"attempt": str(asked.attempt)} if asked.attempt else {}
    given |= {"place": asked.place} if asked.place != RUN else {}
    if asked.path:
        given["path"] = b"/".join(asked.path).decode(errors="surrogateescape")
    return urlencode(given, safe="/", errors="surrogateescape", quote_via=quote)


def shown(name: bytes) -> str:
    """A name as text: what is none, and what would hide or turn it, as an escape."""
    text = name.decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def may_read(user: User, workload: Workload, place: Place | None = None) -> bool:
    return can(user, _needed(place), workload.project.scope, owner_id=workload.owner_id)


def opened(user: User, workload_id: UUID, asked: Asked) -> Opened:
    """Raises NotVisible for what does not exist, NotAllowed, and NoFiles."""
    workload = details.visible_workload(user, workload_id, even_deleted=True)
    return opened_of(user, workload, asked)


def opened_of(user: User, workload: Workload, asked: Asked) -> Opened:
    """The same of a workload that the person may see."""
    if not may_read(user, workload):
        raise _not_allowed(workload, Permission.WORKLOAD_LOGS)
    attempt = details.attempt_of(workload, asked.attempt or workload.attempt_no)
    if attempt is None:
        raise NotVisible
    files = _files(workload, attempt)
    places = files.places()
    place = next((one for one in places if one.key == asked.place), None)
    if place is None:
        raise NotVisible
    if not may_read(user, workload, place):
        raise _not_allowed(workload, _needed(place))
    open_to = [one for one in places if may_read(user, workload, one)]
    return Opened(workload, attempt, files, open_to, place, asked.path)


def _files(workload: Workload, attempt: Attempt) -> Files:
    cluster = workload.cluster
    if cluster.engine.no_files:
        raise NoFiles(cluster.engine.no_files)
    if not acts_here(cluster):
        raise NoFiles("They are on another machine: read them through the Gangline there.")
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        raise NoFiles(str(why)) from why
    if not isinstance(driver, FileReader):
        raise NoFiles("This kind of cluster does not show files.")
    files = driver.files_of(attempt_ref(workload, attempt))
    if isinstance(files, Refused):
        raise NoFiles(files.reason)
    return files


def _needed(place: Place | None) -> Permission:
    is_chosen = place is not None and place.is_chosen
    return Permission.WORKLOAD_EXEC if is_chosen else Permission.WORKLOAD_LOGS


def _not_allowed(workload: Workload, needed: Permission) -> NotAllowed:
    scope = workload.project.scope
    return NotAllowed(needed, scope, [one.username for one in who_can(needed, scope)])
