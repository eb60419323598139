"""The log of one attempt, opened for a person who may read it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from gangline.access.grants import can, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.accounts.models import User
from gangline.clusters.connections import acts_here, driver_for
from gangline.db.clock import db_now
from gangline.drivers.base import AttemptRef, Driver
from gangline.drivers.kind import Unconnectable
from workloads.logs import export, merge, search
from workloads.logs.cursors import decode, encode
from workloads.logs.lines import Line, complete
from workloads.logs.records import Source
from workloads.models import Attempt, Workload
from workloads.refs import attempt_ref
from workloads.selectors import details

MOST_PODS = 512
"""Pods whose logs are merged; of more, one has to be chosen."""
WHOLE_LINE = 2**20
"""Bytes of one line that "show all" gives."""


class Unreadable(Exception):
    """The log exists, but not for this process, in words why."""


@dataclass(frozen=True, slots=True)
class Page:
    """A window with its boundaries as words."""

    window: merge.Window
    before: str
    after: str
    at: str = ""
    """Id of the line that was asked for."""


@dataclass(frozen=True, slots=True)
class Log:
    """The merged log of the chosen pods of one attempt."""

    workload: Workload
    attempt: Attempt
    all_pods: Sequence[str]
    """Names in rank order."""
    pods: Sequence[str]
    """The chosen ones."""
    sources: Sequence[Source]
    is_partial: bool = False
    """There are more pods than are merged."""

    def tail(self, limit: int) -> Page:
        return self._page(merge.tail(self.sources, limit, db_now()))

    def older(self, cursor: str, limit: int) -> Page:
        return self._page(merge.older(self.sources, decode(self.pods, cursor), limit))

    def newer(self, cursor: str, limit: int) -> Page:
        boundary = decode(self.pods, cursor)
        return self._page(merge.newer(self.sources, boundary, limit, db_now()))

    def head(self, limit: int) -> Page:
        start = tuple(merge.Mark(0, ()) for _ in self.sources)
        page = self._page(merge.newer(self.sources, start, limit, db_now()))
        page.window.has_older = False
        return page

    def around(self, place: tuple[str, int], limit: int) -> Page:
        """The lines around a place (pod, offset); NotVisible when there is no such pod."""
        name, offset = place
        if name not in self.pods:
            raise NotVisible
        where = (list(self.pods).index(name), offset)
        window, found = merge.around(self.sources, where, limit, db_now())
        return self._page(window, found)

    def whole_line(self, place: tuple[str, int]) -> Line:
        """One line with up to 1 MiB of its text."""
        name, offset = place
        if name not in self.pods:
            raise NotVisible
        source = self.sources[list(self.pods).index(name)]
        # From the byte before on: only where a line ends does another one begin.
        records, _ = source.step(max(offset - 1, 0), is_aligned=offset == 0)
        if not records or records[0].offset != offset:
            raise NotVisible
        first = records[0]
        line = Line(name, first.offset, first.end, first.stamp, first.stream, shown=WHOLE_LINE)
        line.add(first)
        complete(source, line)
        return line

    def search(self, text: str, reached: str = "") -> tuple[search.Found, str]:
        """Lines with ``text``, and the word to search on from when not all was searched."""
        begins = dict.fromkeys(self.pods, 0)
        if reached:
            marks = decode(self.pods, reached)
            begins = {name: mark.offset for name, mark in zip(self.pods, marks, strict=True)}
        found = search.search(self.sources, text, begins)
        if found.is_complete:
            return found, ""
        marks = tuple(merge.Mark(found.reached.get(name, 0)) for name in self.pods)
        return found, encode(self.pods, marks)

    def export(self, *, with_prefix: bool) -> Iterator[bytes]:
        return export.export(self.sources, with_prefix=with_prefix)

    def has_ended(self, window: merge.Window) -> bool:
        """Whether nothing will ever come: the attempt is over, and all of its log was read."""
        return window.has_ended and self.attempt.ended_at is not None

    def _page(self, window: merge.Window, at: str = "") -> Page:
        before, after = encode(self.pods, window.before), encode(self.pods, window.after)
        return Page(window, before, after, at)


def may_read(user: User, workload: Workload) -> bool:
    scope = workload.project.scope
    return can(user, Permission.WORKLOAD_LOGS, scope, owner_id=workload.owner_id)


def open_log(
    *, user: User, workload_id: UUID, attempt_no: int | None = None, pods: str = ""
) -> Log:
    """The log of an attempt, the newest by default; of a deleted workload while it is kept.

    ``pods`` is the name of a pod, a role, or empty for all. Raises NotVisible for what does not
    exist, NotAllowed, and Unreadable.
    """
    workload = details.visible_workload(user, workload_id, even_deleted=True)
    if not may_read(user, workload):
        scope = workload.project.scope
        people = [person.username for person in who_can(Permission.WORKLOAD_LOGS, scope)]
        raise NotAllowed(Permission.WORKLOAD_LOGS, scope, people)
    return log_of(workload, attempt_no=attempt_no, pods=pods)


def log_of(workload: Workload, *, attempt_no: int | None = None, pods: str = "") -> Log:
    """The same for a workload whose log may be read."""
    attempt = details.attempt_of(workload, attempt_no or workload.attempt_no)
    if attempt is None:
        raise NotVisible
    names = [replica.name for replica in details.expected_replicas(workload, attempt)]
    chosen = [name for name in names if not pods or pods in (name, name.rpartition("-")[0])]
    if not chosen:
        raise NotVisible
    driver = _driver(workload)
    ref = attempt_ref(workload, attempt)
    merged = chosen[:MOST_PODS]
    return Log(
        workload=workload,
        attempt=attempt,
        all_pods=names,
        pods=merged,
        sources=[_source(driver, ref, name) for name in merged],
        is_partial=len(chosen) > len(merged),
    )


def _driver(workload: Workload) -> Driver:
    cluster = workload.cluster
    if not acts_here(cluster):
        raise Unreadable(
            f"The log of this workload is on the machine of cluster {cluster.name}; it can be"
            " read only through Gangline there."
        )
    try:
        return driver_for(cluster)
    except Unconnectable as problem:
        raise Unreadable(str(problem)) from None


def _source(driver: Driver, ref: AttemptRef, name: str) -> Source:
    return Source(name, partial(driver.read_log, ref, name))
