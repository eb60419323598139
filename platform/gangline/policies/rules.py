"""What holds for one field once all policies are merged, and how a value breaks it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from math import gcd, lcm
from typing import Any

from gangline.lib.problems import Problem
from gangline.spec import images
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.shapes import split_names
from gangline.spec.values import size
from gangline.spec.words import accepted, as_typed, one_of, plain_number, span

MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value and the words for the scope that set it, such as "project vision"."""

    value: Any
    source: str
    note: str = ""
    """Of a default that had to be moved: "6 (system), limited to 3 by project vision"."""


@dataclass(frozen=True, slots=True)
class Step(Sourced):
    """Allowed values are ``origin`` plus whole multiples of ``value``."""

    origin: int | float = 0


@dataclass(frozen=True, slots=True)
class TraceRow:
    """The rule of one scope for the field, and whether it is in effect."""

    scope: str
    rule: str
    value: Any
    wins: bool


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The merged policy for one field: every rule in it must hold (R22).

    The default of a list is its items; ``item_sources`` has the scope of each by key.
    ``conflict`` is the reason why no value at all is allowed.
    """

    default: Sourced | None = None
    minimum: Sourced | None = None
    maximum: Sourced | None = None
    steps: tuple[Step, ...] = ()
    options: Sourced | None = None
    registries: Sourced | None = None
    """Of an image: where it may come from, as `spec.images.registry` writes it."""
    digest: Sourced | None = None
    """An image must have one."""
    total: Sourced | None = None
    """Of GPU devices: the most that all pods of a workload may have together."""
    required: Sourced | None = None
    fixed: Sourced | None = None
    is_blocked: bool = False
    """It is fixed because it must not be set at all."""
    computed: Sourced | None = None
    """The default follows from another field: a `Computed`."""
    attributes: Mapping[str, "FieldRule"] = field(default_factory=dict)
    """Of a list: what holds for every item, by attribute."""
    can_add: Sourced | None = None
    locked: Mapping[str, str] = field(default_factory=dict)
    trace: tuple[TraceRow, ...] = ()
    item_sources: Mapping[str, str] = field(default_factory=dict)
    conflict: str = ""
    completed: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """Of a list: an item with the defaults of the cluster."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """The message for a broken rule, by scope."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a value breaks: the code of the problem, and what its sentence needs."""

    code: str
    source: str
    accepted: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    index: int | None = None
    """Of a list of plain values: the one that breaks it."""

    def of(self, draft: Problem, **more: Any) -> Problem:
        """``draft``, which has the place and the value, as the problem that this is."""
        about = {"accepted": self.accepted, "source": self.source, **self.params, **more}
        return draft.at(code=self.code, **about)


def breaches(spec: SpecField, rule: FieldRule, value: Any) -> Iterator[Breach]:
    """Every rule about the value itself that ``value``, of the right type, breaks."""
    if spec.has_bounds:
        yield from _bound_breaches(spec, rule, value)
    if rule.options is not None:
        yield from _option_breaches(spec, rule.options, value)
    if (rule.registries or rule.digest) and not str(value).startswith(images.LOCAL):
        yield from _image_breaches(rule, str(value))


def _image_breaches(rule: FieldRule, image: str) -> Iterator[Breach]:
    """What a container image breaks; a runtime of the machine comes from no registry."""
    allowed, digest = rule.registries, rule.digest
    place = images.repository(image)
    if allowed and not any(images.within(place, one) for one in allowed.value):
        yield Breach("registries", allowed.source, one_of(allowed.value))
    if digest and not images.has_digest(image):
        yield Breach("digestRequired", digest.source, "a reference such as name@sha256:…")


def _option_breaches(spec: SpecField, options: Sourced, value: Any) -> Iterator[Breach]:
    values = [option.value for option in options.value]
    allowed = {_alike(spec, one) for one in values}
    listed = f"one of {one_of(values[:100])}"
    code = "options" if len(values) <= MOST_LISTED else "options:several"
    breach = Breach(code, options.source, listed, {"count": len(values)})
    if spec.is_array:
        for index, item in enumerate(value if isinstance(value, list) else ()):
            if not isinstance(item, Mapping) or item.get(spec.item_key) not in allowed:
                yield replace(breach, index=index)
    elif spec.is_several and isinstance(value, str):
        if not allowed.issuperset(split_names(value)):
            yield breach
    elif _alike(spec, value) not in allowed:
        yield breach


def _alike(spec: SpecField, value: Any) -> Any:
    """What two options are compared by: 1000M is 1G."""
    return size(spec, value) if spec.kind is Kind.QUANTITY else value


def _bound_breaches(spec: SpecField, rule: FieldRule, value: Any) -> Iterator[Breach]:
    low, high = rule.minimum, rule.maximum
    words = accepted(spec, low.value if low else None, high.value if high else None)
    together = low is not None and high is not None and low.source == high.source
    sizes = [size(spec, number) for number in spec.numbers(value)]
    more = as_typed(spec, value)
    if low is not None and min(sizes) < size(spec, low.value):
        bounds = span(spec, low.value, high.value if high and together else None)
        yield Breach("min", low.source, words, {"range": bounds, **more})
    elif high is not None and max(sizes) > size(spec, high.value):
        bounds = span(spec, low.value if low and together else None, high.value)
        yield Breach("max", high.source, words, {"range": bounds, **more})
    for step in rule.steps:
        if not _on(step, value):
            width, origin = plain_number(step.value), plain_number(step.origin)
            listed = _few(spec, rule)
            fitting = one_of(listed) if listed else f"in steps of {width} from {origin}"
            yield Breach("step", step.source, words, {"fitting": fitting})


def _on(step: Step, value: int | float) -> bool:
    return (_exact(value) - _exact(step.origin)) % _exact(step.value) == 0


def _exact(number: int | float) -> Fraction:
    """The decimal number that was written: 0.3 is a multiple of 0.1."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _number(spec: SpecField, exact: Fraction) -> int | float:
    return float(exact) if spec.kind is Kind.NUMBER else int(exact)


def limits(spec: SpecField, rule: FieldRule) -> tuple[Any, Any]:
    """Least and largest value that both the field and its policy take."""
    own_low = spec.minimum if spec.minimum is not None else spec.exclusive_minimum
    low = max((x for x in (own_low, rule.minimum and rule.minimum.value) if x is not None),
              key=lambda x: size(spec, x), default=None)  # fmt: skip
    high = min((x for x in (spec.maximum, rule.maximum and rule.maximum.value) if x is not None),
               key=lambda x: size(spec, x), default=None)  # fmt: skip
    return low, high


def _lattice(steps: Sequence[Step]) -> tuple[Fraction, Fraction] | None:
    """Origin and width of the values that stand on every step, or None (Chinese remainders)."""
    origin, width = _exact(steps[0].origin), _exact(steps[0].value)
    for step in steps[1:]:
        other, wide = _exact(step.origin), _exact(step.value)
        scale = lcm(*(number.denominator for number in (origin, width, other, wide)))
        a, m, b, n = (int(number * scale) for number in (origin, width, other, wide))
        common = gcd(m, n)
        if (b - a) % common:
            return None
        jumps = (b - a) // common * pow(m // common, -1, n // common) % (n // common)
        origin, width = Fraction(a + m * jumps, scale), Fraction(m // common * n, scale)
    return origin, width


def _on_steps(spec: SpecField, rule: FieldRule) -> Iterator[int | float]:
    """Allowed values on every step, from the largest down."""
    if (lattice := _lattice(rule.steps)) is None:
        return
    origin, width = lattice
    at = (_exact(limits(spec, rule)[1]) - origin) // width * width + origin
    while _is_reached(spec, rule, at):
        yield _number(spec, at)
        at -= width


def _is_reached(spec: SpecField, rule: FieldRule, value: Fraction) -> bool:
    """Whether ``value`` is not below the least allowed one."""
    least = limits(spec, rule)[0]
    return value > least if least == spec.exclusive_minimum else value >= _exact(least)


def _few(spec: SpecField, rule: FieldRule) -> list[str]:
    """The allowed values as text, smallest first, or nothing when they are many."""
    found = list(islice(_on_steps(spec, rule), MOST_LISTED + 1))
    return [plain_number(number) for number in reversed(found)] if len(found) <= MOST_LISTED else []


def nearest_allowed(spec: SpecField, rule: FieldRule, value: Any) -> Any:
    """The allowed value of a numeric field next to ``value``, smaller if there is one.

    The rule must be without conflict, so that there is any.
    """
    low, high = limits(spec, rule)
    clamped = low if size(spec, value) < size(spec, low) else value
    clamped = high if size(spec, clamped) > size(spec, high) else clamped
    lattice = _lattice(rule.steps) if rule.steps else None
    if lattice is None:
        return clamped
    origin, width = lattice
    below = (_exact(clamped) - origin) // width * width + origin
    return _number(spec, below if _is_reached(spec, rule, below) else below + width)


def conflict(spec: SpecField, rule: FieldRule) -> str:
    """Why the rules leave no value, as a predicate that names the scopes; empty if they do."""
    low, high, options = rule.minimum, rule.maximum, rule.options
    if low and high and size(spec, low.value) > size(spec, high.value):
        return (
            f"can have no value: {low.source} requires at least {low.value}, "
            f"{high.source} for at most {high.value}"
        )
    if options and not options.value:
        return f"can have no value: {options.source} allow no value in common"
    if rule.registries and not rule.registries.value:
        return f"can have no value: {rule.registries.source} allow no registry in common"
    if rule.steps and next(_on_steps(spec, rule), None) is None:
        scopes = [step.source for step in rule.steps] + [b.source for b in (low, high) if b]
        named = " and ".join(dict.fromkeys(scopes))
        return f"can have no value: no value is on every step within the limits of {named}"
    return ""
