"""Vocabulary for declaring spec fields: the base model and the notes a field may carry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, LiteralString

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, field_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, ValidationError

SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "setup": "Set-up",
        "environment": "Environment",
        "compute": "Compute",
        "slurm": "Slurm",
        "volumes": "Volumes",
        "data": "Data sources",
        "general": "General settings",
    }
)
"""Parts of the form and their titles, in the order in which people meet them."""


class SpecModel(BaseModel):
    """Base of every part of the spec: camelCase in JSON, snake_case in Python, typos refused."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        defer_build=True,  # importing the spec must stay cheap: the command line does it every time
    )

    @field_validator("*", mode="after")
    @classmethod
    def _can_be_stored(cls, value: Any) -> Any:
        """PostgreSQL stores no NUL, and no process takes one as an argument."""
        if isinstance(value, str) and "\0" in value:
            raise refused("must not contain a NUL character", "text without NUL characters")
        return value


def refused(
    message: str, accepted: str = "", code: LiteralString = "format"
) -> PydanticCustomError:
    """The error a validator raises: ``message`` is a predicate, ``accepted`` what is valid.

    Of a ``size`` the message is the bounds alone.
    """
    return PydanticCustomError(code, "{message}", {"message": message, "accepted": accepted})


def misplaced(error: PydanticCustomError | str, at: str, value: Any = None) -> ValidationError:
    """``error`` of a validator of a whole object, told at its attribute ``at`` (a JSON name).

    ``missing`` stands for an attribute that must be there.
    """
    details = InitErrorDetails(type=error, loc=(at,), input=value)
    return ValidationError.from_exception_data("", [details])


@dataclass(frozen=True, slots=True)
class Ui:
    """How a person meets the field. The only place where a label or a help text is written."""

    label: str
    help: str = ""
    section: str = ""
    unit: str = ""
    placeholder: str = ""
    flag: str = ""
    """CLI flag without dashes; empty: made from the field name."""
    item: str = ""
    """Of a list: what one item is called, such as "environment variable"."""
    words: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What people read in place of a choice."""
    advanced: bool = False
    """Few people need it: forms fold it away while it has no value."""
    rows: int = 0
    """Of a text with several lines: how many a form shows."""
    from_file: bool = False
    """Of a text: forms also take it from a file that the person chooses."""
    redraws: bool = False
    """Other fields depend on it: forms redraw them when it changes."""
    instructs: bool = False
    """Of an attribute: whoever makes an asset writes it, for those who fill in the rest."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Show label, help and unit in the JSON Schema, hence in OpenAPI."""
        about = " ".join(filter(None, (self.help, f"Unit: {self.unit}." if self.unit else "")))
        schema: Mapping[str, Any] = handler(core_schema)
        return {**schema, "title": self.label, **({"description": about} if about else {})}


@dataclass(frozen=True, slots=True)
class Percent:
    """People read and type the number, a part of 1, in percent."""


@dataclass(frozen=True, slots=True)
class Default:
    """Value of the built-in system policy, the lowest layer under every administrator's policy."""

    value: object


@dataclass(frozen=True, slots=True)
class ItemKey:
    """Attribute that identifies an item of a list, so that policies can lock or replace it."""

    name: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """An item of a list has exactly one of the attributes that carry this note.

    ``label`` is what people call the attribute when they choose between them. On a nested object it
    stands for all that the object holds.
    """

    label: str


@dataclass(frozen=True, slots=True)
class WorkloadLevel:
    """The field has one value for the whole workload; it stands in the worker half (R23).

    ``has_twin``: clients know it as a field of the master too, where it has no effect.
    """

    has_twin: bool = False


@dataclass(frozen=True, slots=True)
class Only:
    """The field exists for these frameworks only."""

    frameworks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unique:
    """No two items of a list may have the same value; ``alike`` gives what is compared.

    ``across``: nor may items of other lists whose attribute has the same word here.
    """

    alike: Callable[[str], str] = str
    across: str = ""


@dataclass(frozen=True, slots=True)
class NamesCredential:
    """The text is the name of a credential; a sibling attribute ``key`` is one of its keys.

    ``kinds``: the types that fit, all where there are none. ``is_personal``: one of the owner's own
    is meant, or, with the name of a sibling attribute, where that one is true.
    """

    kinds: tuple[str, ...] = ()
    is_personal: bool | str = False


@dataclass(frozen=True, slots=True)
class Several:
    """A text of several names, separated by commas: a list in JSON, and to policies."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The value must not be smaller than that of the sibling field ``name`` (a JSON name)."""

    name: str


@dataclass(frozen=True, slots=True)
class When:
    """The field has a meaning only where the sibling field ``name`` has one of ``values``.

    No values: wherever the sibling has any. ``is_required``: it must then have a value too. Of an
    attribute of items it is what forms show; the validators of the item judge.
    """

    name: str
    values: tuple[str | bool, ...] = ()
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Least and largest number where the sibling field ``name`` has such a value."""

    name: str
    by: Mapping[str, tuple[int, int]] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Guarded:
    """No policy may let a narrower scope override its rule for this field, or those inside it."""


@dataclass(frozen=True, slots=True)
class Voluntary:
    """No policy may require a value: the image and the namespace have one of their own."""


@dataclass(frozen=True, slots=True)
class Reads:
    """Other JSON that is taken for the field: ``read`` gives what the spec declares.

    It lets pass what it does not know. ``show`` gives the JSON that answers of the API have.
    """

    read: Callable[[Any], Any]
    show: Callable[[Any], Any] | None = None
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    """JSON Schema of what ``show`` gives."""
    keeps_items: bool = False
    """What ``show`` gives is a list with the same items, each merged and ruled by itself."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core_schema), **(self.schema or {})}


@dataclass(frozen=True, slots=True)
class Restricted:
    """It reaches beyond its pod: it must not be set unless a policy allows it.

    With ``least`` or ``choices`` only what lies outside of them is closed.
    """

    least: int | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Other spellings that are taken for a choice."""

    canonical: Mapping[str, str] = field(hash=False)
