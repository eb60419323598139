"""The settings of a storage class, and their effect on claims. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from gangline.lib.problems import Problem

from .base import Default, ItemKey, SpecModel, Ui, refused
from .shapes import join_pairs, split_pairs
from .storage import AccessModes, ClaimInfo, Volume
from .types import Format, Prose, quantity_bytes
from .words import one_of

MODES = ("readWriteOnce", "readOnlyMany", "readWriteMany")
VOLUME_MODES = ("Filesystem", "Block")
SIZE, CLASS, VOLUME_MODE = "claimInfo.size", "claimInfo.storageClass", "claimInfo.volumeMode"
ACCESS, PARAMETERS = "claimInfo.accessModes", "claimInfo.addedAttrValues"
LONGEST_VALUE = 253
_KEY = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


def _key_problem(text: str) -> str | None:
    if _KEY.fullmatch(text):
        return None
    return "must have letters, digits, “-”, “_” or “.”, with a letter or digit at both ends"


def _pattern_problem(text: str) -> str | None:
    try:
        re.compile(text)
    except re.error as why:
        return f"must be a regular expression: {why}"
    return None


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


Text = Annotated[str, Field(max_length=250)]
Bound = Annotated[float, Field(ge=-1e15, le=1e15)]


class Parameter(SpecModel):
    """Something that volumes of a class may be given beside their size: an annotation of theirs."""

    key: Annotated[
        str,
        Field(max_length=63),
        Format("annotation-key", "a key such as iops", _key_problem),
        Ui("Key", placeholder="iops"),
    ]
    display: Annotated[Prose | None, Ui("Label", placeholder="The key")] = None
    format: Annotated[
        Literal["text", "number", "boolean"] | None,
        Ui("Value", words={"text": "Text", "number": "Number", "boolean": "Yes or no"}),
        Default("text"),
    ] = None
    description: Annotated[Prose | None, Ui("Help")] = None
    placeholder: Annotated[Prose | None, Ui("Example")] = None
    default_value: Annotated[Text | None, Ui("Default")] = None
    min_value: Annotated[Bound | None, Ui("At least")] = None
    max_value: Annotated[Bound | None, Ui("At most")] = None
    step: Annotated[Bound | None, Ui("In steps of")] = None
    validation_regexp: Annotated[
        Text | None,
        Format("pattern", "a regular expression such as [a-z]+", _pattern_problem),
        Ui("Pattern", placeholder="[a-z]+"),
    ] = None
    validation_error: Annotated[Prose | None, Ui("Error message")] = None
    required: Annotated[bool | None, Ui("Required"), Default(False)] = None

    @field_validator("max_value")
    @classmethod
    def _not_below(cls, value: float | None, info: ValidationInfo) -> float | None:
        low = info.data.get("min_value")
        if value is not None and low is not None and value < low:
            raise refused(f"must be at least {low:g}, the least", f"{low:g} or more")
        return value

    @field_validator("step")
    @classmethod
    def _forward(cls, value: float | None) -> float | None:
        if value is not None and value <= 0:
            raise refused("must be more than 0", "a number above 0")
        return value

    @property
    def label(self) -> str:
        return self.display or self.key

    def breach(self, text: str) -> Problem | None:
        """What is wrong with ``text``."""
        found = self._breach(text)
        if found is None or not self.validation_error:
            return found
        # The message that was configured for the class, in its place.
        return found.at(raw=f"cannot be this: {self.validation_error}")

    def _breach(self, text: str) -> Problem | None:
        if len(text) > LONGEST_VALUE:
            words = f"at most {LONGEST_VALUE} characters"
            return _breach("maxLength", "", words, most=LONGEST_VALUE)
        if self.format == "boolean" and text not in ("true", "false"):
            return _breach("type", "", "true or false")
        if self.format == "number" and (wrong := self._out_of_range(text)):
            return wrong
        if self.validation_regexp and not re.fullmatch(self.validation_regexp, text):
            words = f"text like {self.placeholder or self.validation_regexp}"
            return _breach("format", "", words, reason=f"must be {words}")
        return None

    def _out_of_range(self, text: str) -> Problem | None:
        number = _number(text)
        if number is None:
            return _breach("type", "", "a number")
        low, high, step = self.min_value, self.max_value, self.step
        if low is not None and number < Decimal(str(low)):
            return _breach("min", "", f"at least {low:g}", range=f"at least {low:g}")
        if high is not None and number > Decimal(str(high)):
            return _breach("max", "", f"at most {high:g}", range=f"at most {high:g}")
        if step is not None and (number - Decimal(str(low or 0))) % Decimal(str(step)):
            words = f"in steps of {step:g}" + (f" from {low:g}" if low else "")
            return _breach("step", "", words, fitting=words)
        return None


class Parameters(SpecModel):
    """The part of a configuration that is a list."""

    attributes: Annotated[
        list[Parameter] | None,
        Field(max_length=16),
        Ui(
            "Parameters",
            help=(
                "Further options for volumes of this class. Each becomes an annotation of the "
                "claim, which the provisioner reads."
            ),
            section="volumes",
            item="parameter",
        ),
        ItemKey("key"),
    ] = None

    @field_validator("attributes")
    @classmethod
    def _defaults_fit(cls, value: list[Parameter] | None) -> list[Parameter] | None:
        for one in value or ():
            if one.default_value and (wrong := one.breach(one.default_value)):
                message = f"must have a default that fits: that of {one.key} {wrong.message}"
                raise refused(message, wrong.accepted)
        return value


def _breach(code: str, attribute: str, accepted: str, **params: Any) -> Problem:
    """What a claim requests of its class and cannot have. ``attribute`` is a path of the volume."""
    return Problem(code, attribute, {"accepted": accepted, **params})


@dataclass(frozen=True, slots=True)
class ClassRules:
    """What may be asked of one storage class; without configuration, anything."""

    name: str = ""
    denied: frozenset[str] = frozenset()
    """Of ``forWorkloads``, ``forAssets``, ``ephemeral``, ``persistent``, modes, volume modes."""
    minimum: str = ""
    maximum: str = ""
    step: str = ""
    units: tuple[str, ...] = ()
    size: str = ""
    """The default, and so on."""
    modes: tuple[str, ...] = ()
    volume_mode: str = ""
    needs_modes: bool = False
    needs_volume_mode: bool = False
    shares_data: bool = False
    parameters: tuple[Parameter, ...] = field(default=())

    @classmethod
    def of(cls, name: str, stored: Mapping[str, Any]) -> "ClassRules":
        """From the JSON that is kept with the cluster."""
        parameters = [Parameter.model_validate(one) for one in stored.get("attributes", ())]
        return cls(
            name=name,
            denied=frozenset(key for key, value in stored.items() if value is False),
            minimum=stored.get("min", ""),
            maximum=stored.get("max", ""),
            step=stored.get("step", ""),
            units=tuple(stored.get("units", ())),
            size=stored.get("size", ""),
            modes=tuple(stored.get("modes", ())),
            volume_mode=stored.get("volumeMode", ""),
            needs_modes=bool(stored.get("needsModes")),
            needs_volume_mode=bool(stored.get("needsVolumeMode")),
            shares_data=bool(stored.get("sharesData")),
            parameters=tuple(parameters),
        )

    def allows(self, what: str) -> bool:
        return what not in self.denied

    @property
    def offered_modes(self) -> tuple[str, ...]:
        return tuple(mode for mode in MODES if self.allows(mode))

    @property
    def span(self) -> str:
        """The sizes that it has, in words; empty: any."""
        low, high = self.minimum, self.maximum
        between = f"between {low} and {high}" if low and high else f"at least {low}" if low else ""
        between = between or (f"at most {high}" if high else "")
        steps = f"in steps of {self.step}" if self.step else ""
        return ", ".join(filter(None, (between, steps)))

    @property
    def standing(self) -> Mapping[str, Any]:
        """By attribute, what a claim has that does not say otherwise."""
        modes = self.modes or ("readWriteOnce",)
        if not self.modes and not self.allows("readWriteOnce"):
            modes = self.offered_modes[-1:]  # to write is what most volumes are for
        mode = self.volume_mode
        if not mode and not self.allows("Filesystem"):
            mode = "Block"
        given = join_pairs((p.key, p.default_value) for p in self.parameters if p.default_value)
        return {
            **({SIZE: self.size} if self.size else {}),
            **{f"{ACCESS}.{one}": one in modes for one in MODES},
            VOLUME_MODE: mode or "Filesystem",
            **({PARAMETERS: given} if given else {}),
        }

    def missing(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `standing` adds to a volume without a value of its own."""
        claim = item.get("claimInfo")
        claim = claim if isinstance(claim, Mapping) else {}
        modes = claim.get("accessModes")
        known = {**claim, **({} if not isinstance(modes, Mapping) else modes)}
        found = {
            path: value
            for path, value in self.standing.items()
            if path != PARAMETERS and known.get(path.rpartition(".")[2]) in (None, "")
        }
        given = claim.get("addedAttrValues") or ""
        if isinstance(given, str) and (defaults := self.standing.get(PARAMETERS)):
            said = dict(split_pairs(given))
            every = join_pairs((said | dict(split_pairs(defaults)) | said).items())
            found |= {PARAMETERS: every} if every != given else {}
        if self.needs_modes and not self.modes:
            found = {p: v for p, v in found.items() if not p.startswith(ACCESS)}
        if self.needs_volume_mode and not self.volume_mode:
            found.pop(VOLUME_MODE, None)
        return found

    def breaches(self, volume: Volume, *, is_asset: bool = False) -> Iterator[Problem]:
        """V18 and every other request of a new claim that is not allowed."""
        claim = volume.claim_info
        if claim is None:
            return
        if not self.allows("forAssets" if is_asset else "forWorkloads"):
            whom = "data sources" if is_asset else "volumes of workloads"
            yield _breach("options:class_use", CLASS, "another class", whom=whom)
            return
        kind = "ephemeral" if volume.ephemeral else "persistent"
        if not self.allows(kind) and not is_asset:
            accepted = "false" if volume.ephemeral else "true"
            yield _breach("options:lifetime", "ephemeral", accepted, kind=kind)
        yield from self._modes(claim)
        yield from self.sized(claim.size)
        yield from self._given(claim.added_attr_values or "")

    def _modes(self, claim: ClaimInfo) -> Iterator[Problem]:
        modes = claim.access_modes
        if modes is None and self.needs_modes:
            accepted = one_of(self.offered_modes)
            yield _breach("required:mode", f"{ACCESS}.readWriteOnce", accepted)
        wanted = (modes or AccessModes()).model_dump(by_alias=True)
        wanted["readWriteOnce"] = wanted["readWriteOnce"] is not False
        for mode, is_wanted in wanted.items():
            if is_wanted and not self.allows(mode) and not (modes is None and self.needs_modes):
                accepted = one_of(self.offered_modes)
                yield _breach("options:not_offered", f"{ACCESS}.{mode}", accepted)
        if claim.volume_mode is None and self.needs_volume_mode:
            yield _breach("required", VOLUME_MODE, one_of(VOLUME_MODES))
        elif not self.allows(claim.volume_mode or "Filesystem"):
            other = "Block" if (claim.volume_mode or "Filesystem") == "Filesystem" else "Filesystem"
            yield _breach("options", VOLUME_MODE, other)

    def sized(self, size: str | None) -> Iterator[Problem]:
        if size is None:
            return
        low, high, step = self.minimum, self.maximum, self.step
        wanted = quantity_bytes(size)
        least = quantity_bytes(low) if low else 0
        span = self.span.partition(", in")[0]
        if wanted < least:
            yield _breach("min", SIZE, span, range=span)
        elif high and wanted > quantity_bytes(high):
            yield _breach("max", SIZE, span, range=span)
        elif step and (wanted - least) % quantity_bytes(step):
            steps = f"in steps of {step}" + (f" from {low}" if low else "")
            yield _breach("step", SIZE, steps, fitting=steps)

    def _given(self, text: str) -> Iterator[Problem]:
        given, known = dict(split_pairs(text)), {one.key: one for one in self.parameters}
        for key in given:
            if key not in known:
                there = one_of(list(known)) if known else "none: it has no parameters"
                yield _breach("unknown:parameter", f"{PARAMETERS}.{key}", there, label=key)
        for key, one in known.items():
            value = given.get(key, "")
            at = f"{PARAMETERS}.{key}"
            if not value:
                if one.required:
                    accepted = one.placeholder or "a value"
                    yield _breach("required", at, accepted, label=one.label)
            elif wrong := one.breach(value):
                yield wrong.at(path=at, label=one.label)


@dataclass(frozen=True, slots=True)
class Classes:
    """The storage classes of one cluster."""

    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By name, as they are kept with the cluster; without what is not configured."""
    default: str = ""

    def of(self, name: str | None) -> ClassRules:
        """The one of a claim: the default where it names none."""
        name = name or self.default
        return ClassRules.of(name, self.rules.get(name, {}))

    def completed(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """``item`` of the list of volumes with what its class gives to a new claim."""
        claim = item.get("claimInfo")
        if item.get("existingPvc") is True or not isinstance(claim or {}, Mapping):
            return item
        claim = dict(claim or {})
        name = claim.get("storageClass")
        name = name if isinstance(name, str) and name else self.default
        if name not in self.rules:
            return item
        modes = claim.get("accessModes")
        for path, value in self.of(name).missing(item).items():
            group, _, mode = path.removeprefix("claimInfo.").partition(".")
            if not mode:
                claim[group] = value
            elif isinstance(modes or {}, Mapping):
                claim[group] = {**claim.get(group, {}), mode: value}
        return {**item, "claimInfo": claim}


def classes_of(detail: Mapping[str, Any]) -> Classes:
    """From the facts of a cluster."""
    listed = detail.get("storageClasses") or ()
    default = next((str(one["name"]) for one in listed if one.get("default")), "")
    return Classes(detail.get("storageRules", {}), default)
