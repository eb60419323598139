"""Values of one replica: nested JSON to paths and back, and how the spec itself judges them."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .catalogue import Kind, SpecField, catalogue
from .conditions import condition_problems
from .items import chosen
from .problems import Problem, Role, shown
from .types import quantity_bytes
from .words import accepted, as_typed, did_you_mean, lowered, must_be, one_of, span
from .workload import WorkerSpec

MOST_SUGGESTIONS = 20
TYPE = "type"
"""Rule of a problem with a value that cannot be compared with anything."""


def flatten(
    model: type[BaseModel], nested: Any, role: Role
) -> tuple[dict[str, Any], list[Problem]]:
    """What was said, by path, with what stands where no field is.

    Values are taken as they are: ``validate`` judges them. ``null`` means "not given".
    """
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    if not isinstance(nested, Mapping):
        return values, [_not_an_object(role, "", nested)]
    _descend(model, nested, "", role, values, problems)
    return values, problems


def _descend(
    model: type[BaseModel],
    nested: Mapping[Any, Any],
    prefix: str,
    role: Role,
    values: dict[str, Any],
    problems: list[Problem],
) -> None:
    fields, groups = catalogue(model), _groups(model)
    for key, value in nested.items():
        path = f"{prefix}{key}" if isinstance(key, str) else f"{prefix}{shown(key)}"
        if path in fields and "." not in key:
            if value is not None:
                values[path] = fields[path].canonical(value)
        elif path not in groups or "." in key:
            known = _names_under(model, prefix) if len(problems) < MOST_SUGGESTIONS else ()
            problem = _unknown(role, prefix, shown(key), value, known)
            problems.append(_once(problem) if role is Role.MASTER else problem)
        elif isinstance(value, Mapping):
            _descend(model, value, f"{path}.", role, values, problems)
        elif value is not None:
            problems.append(_not_an_object(role, path, value))


@cache
def _groups(model: type[BaseModel]) -> frozenset[str]:
    """Paths of the objects that hold fields, such as ``compute``."""
    parts = (path.split(".")[:-1] for path in catalogue(model))
    return frozenset(".".join(part[: n + 1]) for part in parts for n in range(len(part)))


@cache
def _names_under(model: type[BaseModel], prefix: str) -> tuple[str, ...]:
    inside = (path[len(prefix) :] for path in catalogue(model) if path.startswith(prefix))
    return tuple(dict.fromkeys(path.split(".")[0] for path in inside))


def _not_an_object(role: Role, path: str, value: Any) -> Problem:
    return Problem.of(role, path, TYPE, value=value, accepted="an object with named fields")


def _unknown(role: Role, prefix: str, key: str, value: Any, known: Iterable[str]) -> Problem:
    known = tuple(known)
    meant = did_you_mean(key, known)
    otherwise = ", ".join(known) or "a field of the specification"
    return Problem.of(
        role,
        f"{prefix}{key}",
        "unknown:meant" if meant else "unknown",
        value=value,
        meant=meant,
        accepted=f"{prefix}{meant}" if meant else otherwise,
        label=f"{prefix}{key}",
    )


def _once(problem: Problem) -> Problem:
    """``problem`` of a master, put right where only the workers have such a field."""
    if problem.path not in catalogue(WorkerSpec):
        return problem
    accepted = f"{problem.path} among the values of the workers"
    return problem.at(code="unknown:workers", accepted=accepted)


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """The opposite of ``flatten``: ``{"compute.gpuDevicesRequest": 1}`` becomes nested objects."""
    nested: dict[str, Any] = {}
    for path, value in values.items():
        *groups, name = path.split(".")
        branch = nested
        for group in groups:
            inner = branch.setdefault(group, {})
            branch = inner if isinstance(inner, dict) else {}
        branch[name] = value
    return nested


def validate(
    model: type[BaseModel],
    role: Role,
    values: Mapping[str, Any],
    sent: Mapping[str, Sequence[int | None]] = MappingProxyType({}),
    *,
    is_whole: bool = True,
) -> list[Problem]:
    """Every way in which ``values`` (by path) break the spec itself, in catalogue order.

    ``is_whole``: they are all of a replica, so that rules between fields count. ``sent`` tells of
    merged lists which index each item had when it was sent, None for an item that was not sent.
    Never raises for a JSON value, whatever its type, size or characters.
    """
    fields = catalogue(model)
    known = {path: value for path, value in values.items() if path in fields}
    found = list(_schema_problems(model, role, known, sent))
    wrong = {problem.path for problem in found}
    right = {p: value for p, value in known.items() if value is not None and p not in wrong}
    for path in right:
        found.extend(_cross_field_problems(fields, role, fields[path], right, sent))
    wrong_fields = {field_path(path, fields) for path in wrong}
    if is_whole:
        found += condition_problems(fields, role, right, wrong_fields)
        found += _taken_elsewhere(fields, role, right, sent)
    order = {path: place for place, path in enumerate(fields)}
    found.sort(key=lambda problem: order[field_path(problem.path, fields)])
    groups = _names_under(model, "")
    strange = (path for path in values if path not in fields)
    return found + [_unknown(role, "", shown(path), values[path], groups) for path in strange]


def half_of(values: Mapping[str, Any], half: Role | str) -> dict[str, Any]:
    """Of values by qualified path, those of one half by its own paths."""
    start = f"{half}."
    return {p.removeprefix(start): value for p, value in values.items() if p.startswith(start)}


def field_path(path: str, fields: Container[str]) -> str:
    """The path of the field a problem is about: an item's path without index and attribute.

    An empty text when there is no such field.
    """
    while path and path not in fields:
        path = path.rpartition(".")[0]
    return path


def _schema_problems(
    model: type[BaseModel],
    role: Role,
    values: Mapping[str, Any],
    sent: Mapping[str, Sequence[int | None]],
) -> Iterator[Problem]:
    try:
        model.model_validate(nest(values))
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=True):
            yield _problem(catalogue(model), role, detail, values, sent)


def _problem(
    fields: Mapping[str, SpecField],
    role: Role,
    detail: ErrorDetails,
    values: Mapping[str, Any],
    sent: Mapping[str, Sequence[int | None]],
) -> Problem:
    field = fields[field_path(".".join(map(str, detail["loc"])), fields)]
    inside = detail["loc"][field.path.count(".") + 1 :]
    value = detail["input"] if detail["type"] != "missing" else None
    draft = Problem.of(role, field.path, "", value=value, label=field.label)
    if not inside:
        return _said(draft, field, detail)
    item = _Item(field, int(inside[0]), values[field.path], sent.get(field.path))
    if len(inside) == 1:
        words = _item_in_words(field)
        return draft.at(path=item.path, code=TYPE, accepted=words, label=item.label)
    inner = ".".join(map(str, inside[1:]))
    draft = draft.at(path=f"{item.path}.{shown(inner)}", key=shown(item.key))
    if (attribute := field.attribute(inner)) is not None:
        name = f"{attribute.label} of {lowered(item.label)}"
        return _said(draft.at(label=name), attribute, detail)
    if names := _names_inside(field, inner):
        words = f"an object with {_and(names)}"
        one = field.alternatives.get(inner)
        label = f"{one} of {lowered(item.label)}" if one else item.label
        return draft.at(code=TYPE, accepted=words, label=label)
    above, _, name = inner.rpartition(".")
    prefix = f"{item.path}.{above}.".replace("..", ".")
    return _unknown(role, prefix, shown(name), value, _names_inside(field, above))


def _names_inside(field: SpecField, group: str) -> tuple[str, ...]:
    """What an object inside of an item may have; of the item itself for an empty ``group``."""
    prefix = f"{group}." if group else ""
    inside = (a.path[len(prefix) :] for a in field.items if a.path.startswith(prefix))
    return tuple(dict.fromkeys(path.split(".")[0] for path in inside))


def _item_in_words(field: SpecField) -> str:
    """What an item must be: "an object with name and one of value or secret"."""
    alone = dict.fromkeys(a.path.partition(".")[0] for a in field.items if not a.alternative)
    one = [f"one of {one_of(field.alternatives)}"] if field.alternatives else []
    return f"an object with {_and([*alone, *one])}"


def _and(words: Sequence[str]) -> str:
    return " and ".join(words)


class _Item:
    """One item of a list: where it stands in what was sent, and what it is called."""

    def __init__(
        self,
        field: SpecField,
        index: int,
        items: Sequence[Any],
        sent: Sequence[int | None] | None,
    ) -> None:
        place = sent[index] if sent is not None else index
        self._item = items[index]
        self.key = self.text(field.item_key)
        self.path = field.path if place is None else f"{field.path}.{place}"
        self.label = item_label(field, place or 0, shown(self.key))

    def text(self, name: str) -> str:
        """An attribute at the top of the item; empty when it is no text or number."""
        value = self._item.get(name) if isinstance(self._item, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value if isinstance(value, str) else ""


def item_label(field: SpecField, index: int, key: str = "") -> str:
    """What one item is called: "Environment variable SEED", or its number when it has no name."""
    name = field.ui.item or field.label
    return f"{name[0].upper()}{name[1:]} {key or index + 1}"


_BOUNDS = {
    "greater_than_equal": "min",
    "greater_than": "min",
    "less_than_equal": "max",
    "less_than": "max",
}


def _said(draft: Problem, field: SpecField, detail: ErrorDetails) -> Problem:
    """``draft`` with rule, message and accepted values for one pydantic error."""
    kind, context = detail["type"], detail.get("ctx", {})
    words = accepted(field)
    if kind == "format":
        accepts = context["accepted"] or words
        return draft.at(code=kind, reason=context["message"], accepted=accepts)
    if kind == "size":
        code = _quantity_bound(field, draft.value)
        return draft.at(code=code, range=context["message"], accepted=words)
    if kind in _BOUNDS:
        more = as_typed(field, draft.value)
        return draft.at(code=_BOUNDS[kind], range=_range(field), accepted=words, **more)
    if kind == "missing":
        return draft.at(code="required", accepted=words)
    if kind == "string_too_long":
        return draft.at(code="maxLength", most=field.max_length, accepted=words)
    if kind == "too_long":
        return draft.at(code="maxItems", most=field.max_items, accepted=words)
    if kind == "string_unicode":
        return draft.at(code="type:unicode", accepted=words)
    rule = "options" if kind == "literal_error" and isinstance(draft.value, str) else TYPE
    return draft.at(code=f"{rule}:kind", kind=must_be(field), accepted=words)


def _quantity_bound(field: SpecField, value: str) -> str:
    low = quantity_bytes(str(field.minimum))
    return "min" if quantity_bytes(value) < low else "max"


def _range(field: SpecField) -> str:
    if field.is_percent:
        return "above 0 and at most 1, which is 100 %"
    if field.exclusive_minimum is not None:
        return f"more than {field.exclusive_minimum} and at most {field.maximum}"
    return span(field, field.minimum, field.maximum)


def _cross_field_problems(
    fields: Mapping[str, SpecField],
    role: Role,
    field: SpecField,
    values: Mapping[str, Any],
    sent: Mapping[str, Sequence[int | None]],
) -> Iterator[Problem]:
    value, other = values[field.path], values.get(field.at_least)
    if other is not None and size(field, value) < size(field, other):
        base = fields[field.at_least]
        yield Problem.of(
            role, field.path, "atLeast", value=value, other=lowered(base.label), least=other,
            accepted=f"{other} or more", label=field.label,
        )  # fmt: skip
    if field.kind is Kind.ITEMIZED:
        items = [_Item(field, index, value, sent.get(field.path)) for index in range(len(value))]
        yield from _repeated(role, field, items)
        for item, said in zip(items, value, strict=True):
            if isinstance(said, Mapping):
                yield from _choice_problems(role, field, item, said)


def _repeated(role: Role, field: SpecField, items: "Sequence[_Item]") -> Iterator[Problem]:
    """What two items have alike and must not: their key, or another attribute of that kind."""
    words = {field.item_key: "a name that no other entry has"}
    distinct = {field.item_key: str} | {a.path: a.unique for a in field.items if a.unique}
    for path, alike in distinct.items():
        seen: set[str] = set()
        attribute = field.attribute(path)
        for item in items:
            text, label = item.text(path), item.label
            if attribute is not None and path != field.item_key:
                label = f"{attribute.label} of {lowered(label)}"
            if alike(text) in seen:
                yield Problem.of(
                    role, f"{item.path}.{path}", "unique", value=shown(text),
                    accepted=words.get(path, "one that no other entry has"),
                    key=shown(item.key), label=label,
                )  # fmt: skip
            elif text:
                seen.add(alike(text))


def _taken_elsewhere(
    fields: Mapping[str, SpecField],
    role: Role,
    values: Mapping[str, Any],
    sent: Mapping[str, Sequence[int | None]],
) -> Iterator[Problem]:
    """What items of two lists have alike and must not, such as a container path."""
    taken: dict[tuple[str, str], tuple[str, str]] = {}
    for path, items in values.items():
        field = fields[path]
        shared = [a for a in field.items if a.unique and a.unique_across]
        for index in range(len(items) if shared else 0):
            item = _Item(field, index, items, sent.get(path))
            for attribute in shared:
                text = item.text(attribute.path)
                mark = (attribute.unique_across, attribute.unique(text) if attribute.unique else "")
                first, owner = taken.setdefault(mark, (path, item.label))
                if text and first != path:
                    yield Problem.of(
                        role, f"{item.path}.{attribute.path}", "unique:other",
                        other=lowered(owner), value=shown(text),
                        accepted="one that no other entry has", key=shown(item.key),
                        label=f"{attribute.label} of {lowered(item.label)}",
                    )  # fmt: skip


def _choice_problems(
    role: Role, field: SpecField, item: _Item, value: Mapping[str, Any]
) -> Iterator[Problem]:
    """What is wrong with an item that has none of its alternatives, or more than one."""
    found = chosen(field, value)
    if not field.alternatives or len(found) == 1:
        return
    if not found and value.get("description"):
        return  # who submits it fills it in: it is judged then
    name = found[1] if found else next(iter(field.alternatives))
    rule = "oneOf" if found else "required"
    label = f"{field.alternatives[name]} of {lowered(item.label)}"
    accepted = f"one of {one_of(field.alternatives)}"
    yield Problem.of(
        role, f"{item.path}.{name}", rule, accepted=accepted,
        other=field.alternatives[found[0]] if found else "", key=shown(item.key), label=label,
    )  # fmt: skip


def size(field: SpecField, value: Any) -> Any:
    """A valid value of a numeric field as something that can be compared."""
    return quantity_bytes(value) if field.kind is Kind.QUANTITY else value
