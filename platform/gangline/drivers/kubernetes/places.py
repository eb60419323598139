"""Which field a place in a native object comes from. Pure.

The inverse of rendering, found by rendering: a field owns what is otherwise where it is left out.
Where a field has no value, the place that it would have is read from the tables of `mapping`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gangline.drivers.base import Submission
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.problems import Role, shown
from gangline.spec.values import item_label
from gangline.spec.words import lowered
from gangline.spec.workload import SPEC

from . import mapping, volumes
from .environment import MASTER, WORKER
from .kinds import KINDS
from .resources import CLAIMS

Place = tuple[str, ...]
"""Keys from the top of an object on; an element of a list by its name, or by its index."""
Render = Callable[[Submission], Mapping[str, Any]]

_KEY = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_SIDES = {"requests": "limits", "limits": "requests"}
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Owner:
    """A field, or one item of a list."""

    role: Role
    path: str
    key: str = field(default="", compare=False)
    value: Any = field(default=None, compare=False)
    label: str = field(default="", compare=False)
    """What an item is called; a field has its name in the catalogue."""


WHOLE = Owner(Role.WORKLOAD, "")
"""No field in particular."""


def keys(path: str) -> Place:
    """``spec.containers[0].resources.limits[cpu]`` in its parts; dots inside of brackets stay."""
    return tuple(match[1] or match[2] for match in _KEY.finditer(path) if match[1] or match[2])


@dataclass
class Places:
    """For one submission and the driver's own ``render``."""

    submission: Submission
    render: Render
    native: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.native = self.render(self.submission)

    def template(self, role: str) -> Place:
        """Where the pod template of ``role`` is, a key of the job's replicas."""
        return ("job", "spec", KINDS[self.submission.framework].replicas, role, "template")

    def owner(self, within: Place, path: str, words: str = "") -> Owner:
        """The field behind ``path`` of the object at ``within``.

        ``words``: what is said of it; they may quote the item of a list that the path leaves open.
        """
        asked = (*within, *keys(path))
        if asked[:3] == ("job", "metadata", "name"):
            return Owner(Role.WORKLOAD, "name", value=self.submission.name)
        place = _named(self.native, asked)
        if found := self._volume(place):
            return found
        for look, tried in self._ways(place) if path else ():
            if found := look(tried):
                return self._item(found, place, words)
        return WHOLE

    def _ways(self, place: Place) -> Iterator[tuple[Callable[[Place], Owner | None], Place]]:
        """Where to look for the field, the likeliest first."""
        other = _other_side(place)
        yield self._claimed, place
        if "requests" in place:
            yield self._claimed, other  # nobody wrote the request: it is as large as the limit
        yield self._unset, place
        yield self._claimed, other
        yield self._unset, other

    def _claimed(self, place: Place) -> Owner | None:
        """The one field that owns the place, something below it, or what it lies in."""
        below = {o for leaf, o in self._owners.items() if leaf[: len(place)] == place}
        if len(below) == 1:
            return below.pop()
        above = (place[:length] for length in range(len(place), 3, -1))
        return None if below else next(filter(None, map(self._owners.get, above)), None)

    def _unset(self, place: Place) -> Owner | None:
        """The field that a table would write there."""
        role, target = self._role(place), _target(place)
        if role is None or not target:
            return None
        tables = {**mapping.ROLE, **mapping.GANG}
        for path, to in tables.items():
            parts = tuple(to.target.split("|"))
            if target[: len(parts)] == parts:
                owner = Role.WORKER if path in mapping.GANG else role
                return Owner(owner, path, value=self._values(owner).get(path))
        return None

    def _role(self, place: Place) -> Role | None:
        kind = KINDS[self.submission.framework]
        if place[:3] != ("job", "spec", kind.replicas) or len(place) < 4:
            return None
        return {kind.worker: Role.WORKER, kind.master: Role.MASTER}.get(place[3])

    def _values(self, role: Role) -> Mapping[str, Any]:
        half = self.submission.master if role is Role.MASTER else self.submission.worker
        return half or {}

    def _volume(self, place: Place) -> Owner | None:
        """The volume that a claim beside the job is made for, whatever is said of the claim."""
        if place[:1] != ("dependents",):
            return None
        # What is refused was rendered earlier, perhaps for another scheduler.
        beside = dict(enumerate(self.native["dependents"]))
        claim = beside.get(int(place[1]), {})
        if claim.get("kind") != CLAIMS.kind:
            return None
        spec = volumes.field()
        for role in (Role.WORKER, Role.MASTER):
            for index, item in enumerate(self._values(role).get(volumes.PATH) or ()):
                volume = spec.complete(item)
                name = volumes.claim_name(self.submission, volume)
                if name == claim["metadata"]["name"] and not volume["existingPvc"]:
                    attribute = _attribute(volume, place[3:]) if place[2:3] == ("spec",) else ""
                    return _one_of(spec, Owner(role, volumes.PATH), index, item, attribute)
        return None

    def _item(self, owner: Owner, place: Place, words: str) -> Owner:
        """The item of a list that the place or the words are about, if they are about one."""
        model = SPEC.master if owner.role is Role.MASTER else SPEC.worker
        spec = catalogue(model).get(owner.path)
        if spec is None or not spec.item_key or not isinstance(owner.value, list):
            return owner
        attribute = place[-1] if spec.attribute(place[-1]) else spec.item_key
        for index, item in enumerate(owner.value):
            key = str(item.get(spec.item_key, ""))
            is_quoted = any(f'"{value}"' in words for value in item.values())
            if key in place or str(index) in place or is_quoted:
                return _one_of(spec, owner, index, item, attribute)
        return replace(owner, value=None)

    @cached_property
    def _owners(self) -> Mapping[Place, Owner]:
        """Every leaf that a field owns. Of several, the field that owns least is the nearest."""
        full = dict(_leaves(self.native))
        claims: list[tuple[Owner, list[Place]]] = []
        for owner, without in self._left_out():
            try:
                rest = dict(_leaves(self.render(without)))
            except (KeyError, TypeError, ValueError):
                continue  # nothing can be rendered without it
            claims.append((owner, [p for p, v in full.items() if rest.get(p, _ABSENT) != v]))
        owners: dict[Place, Owner] = {}
        for owner, places in sorted(claims, key=lambda claim: -len(claim[1])):
            owners |= dict.fromkeys(places, owner)
        return owners

    def _left_out(self) -> Iterator[tuple[Owner, Submission]]:
        asked = self.submission
        number = Owner(Role.WORKER, "numWorkers", value=asked.num_workers)
        yield number, replace(asked, num_workers=asked.num_workers + 1)
        for name, role in ((WORKER, Role.WORKER), (MASTER, Role.MASTER)):
            values = self._values(role)
            for path, value in values.items():
                rest = {p: v for p, v in values.items() if p != path}
                changes: dict[str, Any] = {name: rest}
                yield Owner(role, path, value=value), replace(asked, **changes)


def _attribute(volume: volumes.Volume, place: Place) -> str:
    """What of a volume stands at ``place`` in the spec of its claim; empty if nothing does."""
    full = dict(_leaves(volumes.claim_spec(volume)))
    for name in volume if place else ():
        rest = dict(_leaves(volumes.claim_spec({**volume, name: None})))
        if any(leaf[: len(place)] == place and rest.get(leaf) != full[leaf] for leaf in full):
            return name
    return ""


def _one_of(
    spec: SpecField, owner: Owner, index: int, item: Mapping[str, Any], attribute: str
) -> Owner:
    """One item of the list ``owner``, and what of it is meant; without ``attribute`` all of it."""
    key = str(item.get(spec.item_key, ""))
    name, part = item_label(spec, index, shown(key)), spec.attribute(attribute)
    if part is not None and attribute != spec.item_key:
        name = f"{part.label} of {lowered(name)}"
    return Owner(
        owner.role,
        f"{owner.path}.{index}.{attribute or spec.item_key}",
        key,
        spec.flat(item).get(attribute),
        name,
    )


def _target(place: Place) -> Place:
    """A place in a pod template as the tables write it."""
    inside = place[5:] if place[4:5] == ("template",) else ()
    if inside[:2] == ("spec", "containers"):
        return ("container", *inside[3:])
    if inside[:1] == ("spec",):
        return ("pod", *inside[1:])
    return inside[1:] if inside[:1] == ("metadata",) else ()


def _other_side(place: Place) -> Place:
    """A request that nobody wrote is as large as the limit."""
    return tuple(_SIDES.get(key, key) for key in place)


def _leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*place, str(key)))
    elif isinstance(value, list) and value:
        for name, inner in zip(_names(value), value, strict=True):
            yield from _leaves(inner, (*place, name))
    else:
        yield place, value


def _names(elements: Sequence[Any]) -> list[str]:
    """By name where all have one: an index moves when another element goes."""
    found = [str(e.get("name", "")) if isinstance(e, Mapping) else "" for e in elements]
    is_named = all(found) and len(set(found)) == len(found)
    return found if is_named else [str(index) for index in range(len(elements))]


def _named(value: Any, place: Place) -> Place:
    """``place`` with the names of elements instead of their indices, as far as they are there."""
    named: list[str] = []
    for key in place:
        if isinstance(value, list):
            names = _names(value)
            index = int(key) if key.isascii() and key.isdigit() else -1
            value = value[index] if 0 <= index < len(value) else None
            named.append(names[index] if value is not None else key)
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
            named.append(key)
    return tuple(named)
