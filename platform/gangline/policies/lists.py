"""Merge the items of a list: what a policy gives, and what was given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gangline.spec.catalogue import SpecField
from gangline.spec.items import merged
from gangline.spec.problems import Problem, Role, shown
from gangline.spec.sources import ItemSource, Source, Value, policy_source
from gangline.spec.values import TYPE, item_label, nest

from .rules import FieldRule

EXCLUDE = "exclude"
"""``{"name": "WANDB_MODE", "exclude": true}`` removes a default item."""


@dataclass(frozen=True, slots=True)
class MergedList:
    """An effective list, the source of each item, and what was wrong with the given items.

    ``refused`` holds by index as sent what a policy does not allow.
    """

    items: list[Any]
    sources: tuple[ItemSource, ...]
    problems: list[Problem]
    refused: Mapping[int, Problem]

    def allowed(self) -> "MergedList":
        """The same without the items that a policy does not allow."""
        pairs = zip(self.items, self.sources, strict=True)
        kept = [(item, at) for item, at in pairs if at.sent not in self.refused]
        return replace(
            self, items=[item for item, _ in kept], sources=tuple(at for _, at in kept), refused={}
        )


def merge_items(
    role: Role,
    spec: SpecField,
    rule: FieldRule,
    given: list[Any],
    source: Source,
    standing: MergedList | None = None,
    origins: Sequence[ItemSource] = (),
) -> MergedList:
    """Default items first, each changed or removed as ``given``; then the new ones, in order.

    ``standing``: the items that stand in place of the rule's defaults. ``origins``: where single
    items come from, where that is not ``source``.
    """
    own = {origin.key: origin.source for origin in origins}
    merge = _Merge(role, spec, rule, source, standing, own)
    for index, item in enumerate(given):
        key = item.get(spec.item_key) if isinstance(item, Mapping) else None
        if isinstance(key, str):
            merge.say(index, item, key)
        else:
            merge.new.append((item, ItemSource("", source, sent=index)))
    pairs = [(filled(spec, rule, item), at) for item, at in (*merge.defaults.values(), *merge.new)]
    sources = tuple(source for _, source in pairs)
    return MergedList([item for item, _ in pairs], sources, merge.problems, merge.refused)


def filled(spec: SpecField, rule: FieldRule, item: Any) -> Any:
    """``item`` with the policy's defaults of the attributes that it does not have, and then with
    those of the cluster."""
    if not isinstance(item, Mapping):
        return item
    found = _ruled(spec, rule, item) if rule.attributes else item
    return rule.completed(found) if rule.completed else found


def _ruled(spec: SpecField, rule: FieldRule, item: Mapping[str, Any]) -> Mapping[str, Any]:
    flat = spec.flat(item)
    missing = {
        path: (of.fixed or of.default).value  # type: ignore[union-attr]  # one of them is there
        for path, of in rule.attributes.items()
        if flat.get(path) is None and (of.fixed or of.default)
    }
    more = {
        path: value
        for path, value in missing.items()
        if value is not None and not _is_elsewhere(spec, item, path)
    }
    return merged(spec, nest(more), item) if more else item


def _is_elsewhere(spec: SpecField, item: Mapping[str, Any], path: str) -> bool:
    """Whether the attribute belongs to an alternative that the item does not have.

    An existing claim has no description.
    """
    group = path.partition(".")[0]
    attribute = spec.attribute(path)
    other = attribute is not None and attribute.alternative and item.get(group) is None
    return bool(other) or (group == "claimInfo" and item.get("existingPvc") is True)


ITEM_ACCEPTED = {
    TYPE: "true or false",
    "canAdd": "only the entries that the policy has",
    "locked": "the entry as the policy has it",
}
"""What would be accepted instead, by the rule that an item breaks."""


def overlaid(spec: SpecField, under: Value | None, over: Value | None) -> Value | None:
    """``over`` on top of ``under``: as a whole, or item by item."""
    if under is None or over is None:
        return over or under
    both = isinstance(under.value, list) and isinstance(over.value, list)
    if not (both and spec.is_by_item):
        return over
    keys = {item.get(spec.item_key) for item in over.value if isinstance(item, Mapping)}
    kept = [item for item in under.value if item.get(spec.item_key) not in keys]
    origins = {source.key: source for source in under.items}
    items = (
        *(origins.get(key) or ItemSource(key, under.source) for key in map(_key_in(spec), kept)),
        *(over.items or (ItemSource(key, over.source) for key in map(_key_in(spec), over.value))),
    )
    return Value([*kept, *over.value], over.source, items)


def _key_in(spec: SpecField) -> Callable[[Any], str]:
    """How an item of the list is called."""

    def key(item: Any) -> str:
        return str(item.get(spec.item_key, "")) if isinstance(item, Mapping) else ""

    return key


def item_problem(
    role: Role, spec: SpecField, index: int | None, key: str, code: str, source: str, **params: Any
) -> Problem:
    """A problem with one item; without index it is about an item that was not sent.

    The rule of ``code`` is one of those of `ITEM_ACCEPTED`.
    """
    path = spec.path if index is None else f"{spec.path}.{index}"
    name = shown(key)
    label = item_label(spec, index or 0, name)
    draft = Problem.of(role, path, code, value=name, source=source, key=name, label=label, **params)
    return draft.at(accepted=ITEM_ACCEPTED[draft.rule])


@dataclass(slots=True)
class _Merge:
    """The state of one merge."""

    role: Role
    spec: SpecField
    rule: FieldRule
    source: Source
    standing: MergedList | None
    origins: Mapping[str, Source]
    defaults: dict[str, tuple[Any, ItemSource]] = field(init=False)
    locked_alike: dict[str, str] = field(init=False)
    given: set[str] = field(default_factory=set)
    new: list[tuple[Any, ItemSource]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: dict[int, Problem] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rule, key_name = self.rule, self.spec.item_key
        items = {item[key_name]: item for item in (rule.default.value if rule.default else ())}
        self.defaults = {
            key: (
                item,
                ItemSource(key, policy_source(rule.item_sources[key]), rule.locked.get(key, "")),
            )
            for key, item in items.items()
        }
        if self.standing is not None:
            pairs = zip(self.standing.items, self.standing.sources, strict=True)
            self.defaults = {s.key: (item, replace(s, sent=None)) for item, s in pairs}
        self.locked_alike = {_alike(key): key for key in rule.locked}

    def say(self, index: int, item: Mapping[str, Any], key: str) -> None:
        """Take one item that was sent, with its key."""
        excluded, plain = item.get(EXCLUDE), {n: v for n, v in item.items() if n != EXCLUDE}
        if excluded is not None and not isinstance(excluded, bool):
            self.problems.append(self._problem(index, key, "type:item", "", attribute=EXCLUDE))
        locked = self.locked_alike.get(_alike(key))
        if locked is not None:
            self._say_locked(index, plain, key, locked, excluded is True)
        elif excluded is True:
            self.defaults.pop(key, None)
        else:
            self._say_free(index, plain, key)
        self.given.add(key)

    def _say_free(self, index: int, item: dict[str, Any], key: str) -> None:
        source = ItemSource(key, self.origins.get(key, self.source), sent=index)
        if key in self.defaults and key not in self.given:
            default, _ = self.defaults[key]
            if (changed := merged(self.spec, default, item)) != default:
                self.defaults[key] = changed, source
            return
        closed = self.rule.can_add
        if closed is not None and key not in self.rule.item_sources:
            refusal = self._problem(index, key, "canAdd", closed.source)
            self.refused[index] = refusal
        self.new.append((item, source))

    def _say_locked(
        self, index: int, item: dict[str, Any], key: str, locked: str, excluded: bool
    ) -> None:
        if key != locked:
            code = "locked:alike"
        elif excluded:
            code = "locked:removed"
        elif key not in self.defaults:
            code = "locked:added"
        elif merged(self.spec, self.defaults[key][0], item) != self.defaults[key][0]:
            code = "locked:changed"
        else:
            return
        source = self.rule.locked[locked]
        self.refused[index] = self._problem(index, key, code, source, locked=shown(locked))

    def _problem(self, index: int, key: str, code: str, source: str, **params: Any) -> Problem:
        return item_problem(self.role, self.spec, index, key, code, source, **params)


def _alike(key: str) -> str:
    return key.strip().casefold()
