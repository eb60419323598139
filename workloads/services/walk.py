"""The walk over the waiting gangs: who starts, who waits and why, whose slots are claimed (S13).

In a project's quota come first; what is left over goes to the others by rank and share. Nothing
here knows rows: `admission` feeds it and stores what it decides.
"""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gangline.drivers.base import ReplicaPlacement
from workloads.services.slots import RESOURCES, TINY, Need, Room
from workloads.wording import (
    MANY_AHEAD,
    NO_REASON,
    QUOTA_NEVER,
    QUOTA_WAIT,
    SLOTS_BEHIND,
    SLOTS_NEVER,
    SLOTS_WAIT,
    Reason,
)

Amounts = Mapping[str, float]


def _none() -> dict[str, float]:
    return dict.fromkeys(RESOURCES, 0.0)


def _endless() -> dict[str, float]:
    return dict.fromkeys(RESOURCES, math.inf)


@dataclass(slots=True)
class Share:
    """What a project or department may use of the cluster, and what of it is held."""

    name: str = ""
    """``project vision``."""
    quota: Amounts = field(default_factory=_endless)
    ceiling: Amounts = field(default_factory=_endless)
    """Never passed: its limit, or the quota where nothing may be used above it."""
    rank: int = 0
    weight: float = 1
    used: dict[str, float] = field(default_factory=_none)
    covered: dict[str, float] = field(default_factory=_none)
    """Of it, what is held within the quotas of project and department."""
    later: dict[str, float] = field(default_factory=_none)
    """Used once those have ended that end, and those have begun for which they do."""
    promised: dict[str, float] = field(default_factory=_none)
    """What those within quota wait for: it counts as theirs."""
    blocked: set[str] = field(default_factory=set)
    """Resources for which one of the project waits below its own ceiling."""

    def passes(self, totals: Amounts, used: Amounts) -> str:
        """The first resource of which it would have more than it may."""
        return _passes(totals, used, self.ceiling)

    def least(self) -> Amounts:
        """The quota, or the ceiling where that is lower."""
        return {one: min(self.quota[one], self.ceiling[one]) for one in RESOURCES}


def _passes(totals: Amounts, used: Amounts, most: Amounts) -> str:
    for one, value in totals.items():
        if value and used[one] + value > most[one] + TINY:
            return one
    return ""


@dataclass(slots=True, eq=False)
class Gang:
    """A gang that waits or holds slots; the first in a sequence is the first in the queue."""

    need: Need
    project: Share = field(default_factory=Share)
    department: Share = field(default_factory=Share)
    key: int = 0
    priority: int = 0
    is_preemptible: bool = True
    """Others may claim its slots; if not, it starts only within the quotas."""
    is_leaving: bool = False
    """It was claimed already and has not ended yet."""
    over_quota: bool = False
    totals: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.totals = {one: self.need.total(one) for one in RESOURCES}

    @property
    def shares(self) -> tuple[Share, Share]:
        return self.project, self.department

    def is_covered(self) -> bool:
        """Whether the quotas cover it beside what is held already."""
        return self.uncovered() is None

    def uncovered(self) -> "tuple[Share, str, float] | None":
        """The first quota that does not, its resource, and how much of it is taken."""
        for one, value in self.totals.items():
            own = self.project.used[one] + self.project.promised[one]
            all_ = self.department.covered[one] + self.department.promised[one]
            for share, taken in zip(self.shares, (own, all_), strict=True):
                if value and taken + value > share.quota[one] + TINY:
                    return share, one, taken
        return None

    def hold(self) -> None:
        """Count it as holding its slots, within quota or over it."""
        for share in self.shares:
            _add(share.used, self.totals)
            if not self.is_leaving:
                _add(share.later, self.totals)
            if not self.over_quota:
                _add(share.covered, self.totals)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the walk decided about one waiting gang."""

    placement: tuple[ReplicaPlacement, ...] | None = None
    impossible: bool = False
    reason: Reason = NO_REASON
    """Why it was not placed."""
    ahead: int = 0
    lacking: tuple[str, ...] = ()
    behind: int | None = None
    """Index of the first waiting gang that holds this one up, though it lacks nothing itself."""
    over_quota: bool = False


class Walk:
    """One walk. ``held`` are in the order of their placement, ``waiting`` in that of the queue."""

    def __init__(
        self, waiting: Sequence[Gang], room: Room, *, cluster: str, held: Sequence[Gang] = ()
    ) -> None:
        self.room, self.cluster = room, cluster
        self.held = held
        self.reclaimed: list[Gang] = []
        self._waiting = waiting
        self._blocked: dict[str, int] = {}
        self._ahead = 0
        self._verdicts: dict[int, Verdict] = {}
        self._later = dict(room.free)
        cover(held)
        for gang in held:
            if gang.is_leaving:
                _add(self._later, gang.totals)
        rest = [number for number, gang in enumerate(waiting) if not self._first(number, gang)]
        for number in _by_share(rest, waiting, room.totals):
            waiting[number].over_quota = True
            self._judge(number)
        self.verdicts = [self._verdicts[number] for number in range(len(waiting))]

    def _first(self, number: int, gang: Gang) -> bool:
        """Judge what can never start and what is within its quota; the others come later."""
        if reason := self._never(gang):
            self._verdicts[number] = Verdict(impossible=True, reason=reason)
            return True
        gang.over_quota = not gang.is_covered()
        if gang.over_quota and gang.is_preemptible:
            return False
        if lacking := gang.uncovered():
            share, one, taken = lacking
            amounts = [one, gang.totals[one], taken, share.quota[one]]
            reason = Reason(QUOTA_WAIT, {"of": share.name, "lacking": [amounts]})
            self._verdicts[number] = Verdict(reason=reason)
            return True
        self._judge(number)
        return True

    def _judge(self, number: int) -> None:
        gang = self._waiting[number]
        verdict = self._verdicts[number] = self._below_ceiling(gang) or self._judged(gang)
        for resource in verdict.lacking:
            self._blocked.setdefault(resource, number)
        if verdict.placement is None and not gang.over_quota:
            for share in gang.shares:
                _add(share.promised, gang.totals)

    def _judged(self, gang: Gang) -> Verdict:
        over = gang.over_quota
        lacking = self.room.lacks(gang.need)
        behind = [self._blocked[r] for r in RESOURCES if r in self._blocked and gang.totals[r] > 0]
        if not lacking and not behind:
            gang.hold()
            _add(self._later, gang.totals, -1)
            return Verdict(placement=self.room.take(gang.need), over_quota=over)
        first = min(behind) if behind and not lacking else None
        if first is None:
            reason = self._waits(gang, lacking, behind=bool(behind))
        else:
            reason = self._behind(first)
        if not over and not behind and self._make_room(gang):
            reason = Reason(reason.code, {**reason.params, "claims": True})
        verdict = Verdict(reason=reason, ahead=self._ahead, lacking=lacking, behind=first)
        self._ahead += 1
        return verdict

    def _below_ceiling(self, gang: Gang) -> Verdict | None:
        """It waits for its own project or department, and holds up no workload of another one."""
        for share in gang.shares:
            if one := share.passes(gang.totals, share.used):
                if not gang.over_quota:
                    self._make_room(gang)
                gang.project.blocked.add(one)
                return Verdict(reason=_ceiling(gang, share, one), over_quota=gang.over_quota)
        behind = [r for r in RESOURCES if r in gang.project.blocked and gang.totals[r] > 0]
        if behind:
            return Verdict(reason=_ceiling(gang, gang.project, behind[0]), ahead=1)
        return None

    def _make_room(self, gang: Gang) -> bool:
        """Claim the slots of as few gangs over quota as it takes; none where all do not suffice."""
        victims: list[Gang] = []
        latest = reversed(self.held)
        candidates = [
            one for one in latest if one.over_quota and one.is_preemptible and not one.is_leaving
        ]
        # The lowest priority, of these the one that was placed last.
        queue = sorted(candidates, key=lambda one: one.priority)
        while not self._fits_later(gang, victims):
            if not queue:
                return False
            victims.append(queue.pop(0))
        for one in reversed(list(victims)):
            fewer = [other for other in victims if other is not one]
            if self._fits_later(gang, fewer):
                victims = fewer
        for one in victims:
            one.is_leaving = True
            _add(self._later, one.totals)
            for share in one.shares:
                _add(share.later, one.totals, -1)
        self.reclaimed += victims
        _add(self._later, gang.totals, -1)
        for share in gang.shares:
            _add(share.later, gang.totals)
        return True

    def _fits_later(self, gang: Gang, victims: Sequence[Gang]) -> bool:
        for one, value in gang.totals.items():
            if value and value > self._later[one] + sum(v.totals[one] for v in victims) + TINY:
                return False
        for number, share in enumerate(gang.shares):
            own = [v for v in victims if v.shares[number] is share]
            later = {one: share.later[one] - sum(v.totals[one] for v in own) for one in RESOURCES}
            if share.passes(gang.totals, later):
                return False
        return True

    def _never(self, gang: Gang) -> Reason:
        if never := self.room.never(gang.need):
            lacking = [[r, gang.totals[r], self.room.totals[r]] for r in never]
            return Reason(SLOTS_NEVER, {"cluster": self.cluster, "lacking": lacking})
        for share in gang.shares:
            most = share.ceiling if gang.is_preemptible else share.least()
            if one := _passes(gang.totals, _none(), most):
                lacking = [[one, gang.totals[one], most[one]]]
                return Reason(QUOTA_NEVER, {"of": share.name, "lacking": lacking})
        return NO_REASON

    def _waits(self, gang: Gang, lacking: Sequence[str], *, behind: bool) -> Reason:
        told = [[r, gang.totals[r], self.room.free[r], self.room.totals[r]] for r in lacking]
        ahead = self._ahead if behind else 0
        if ahead > MANY_AHEAD:
            return Reason(SLOTS_BEHIND, {"ahead": MANY_AHEAD + 1, "needs": []})
        return Reason(SLOTS_WAIT, {"lacking": told, "ahead": ahead})

    def _behind(self, first: int) -> Reason:
        other, its = self._waiting[first], self._verdicts[first]
        needs = [[resource, other.totals[resource]] for resource in its.lacking]
        # An exact number far back would change every row with each step of the queue.
        return Reason(SLOTS_BEHIND, {"ahead": min(self._ahead, MANY_AHEAD + 1), "needs": needs})


def cover(held: Sequence[Gang]) -> None:
    """Count what is held, in the order of placement: within quota as long as it lasts.

    What must not be claimed comes first.
    """
    for gang in sorted(held, key=lambda gang: gang.is_preemptible):
        gang.over_quota = not gang.is_covered()
        gang.hold()


def _by_share(numbers: Sequence[int], waiting: Sequence[Gang], totals: Amounts) -> Iterator[int]:
    """Gangs over quota: by rank, use over weight, priority, place in the queue.

    The use of a project changes as its gangs are placed, hence one heap over the projects' first.
    """
    queues: dict[int, list[int]] = {}
    for number in reversed(numbers):
        queues.setdefault(id(waiting[number].project), []).append(number)

    def entry(queue: list[int]) -> tuple[int, float, int, int]:
        gang = waiting[queue[-1]]
        return -gang.project.rank, _use(gang.project, totals), -gang.priority, queue[-1]

    heap = [(*entry(queue), key) for key, queue in queues.items()]
    heapq.heapify(heap)
    while heap:
        *_, key = heap[0]
        queue = queues[key]
        yield queue.pop()
        if queue:
            heapq.heapreplace(heap, (*entry(queue), key))
        else:
            heapq.heappop(heap)


def _use(share: Share, totals: Amounts) -> float:
    """The largest part of any resource of the cluster that it holds, by its weight."""
    parts = (share.used[one] / totals[one] for one in RESOURCES if totals[one])
    return max(parts, default=0.0) / share.weight


def _add(to: dict[str, float], amounts: Amounts, sign: int = 1) -> None:
    for one, value in amounts.items():
        to[one] += sign * value


def _ceiling(gang: Gang, share: Share, resource: str) -> Reason:
    amounts = [resource, gang.totals[resource], share.used[resource], share.ceiling[resource]]
    return Reason(QUOTA_WAIT, {"of": share.name, "lacking": [amounts]})
