"""What the contract needs to know of one resource."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.world import World

Values = Callable[[World, str], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One resource. ``name`` is the text that tells two objects apart."""

    make: Callable[[World, str], Any]
    """An object, stored by the product's own services."""
    form: Values | None = None
    """What a person posts for a new object."""
    body: Values | None = None
    """What a client sends for one."""
    edit: Mapping[str, str] = field(default_factory=dict)
    """Fields of the form that an edit changes, with their new text."""
    body_edit: Mapping[str, Any] = field(default_factory=dict)
    bad: tuple[tuple[str, str], ...] = ()
    """Field of the form and a text that is refused there."""
    bad_body: tuple[tuple[str, Any], ...] = ()
    name_field: str = "name"
    used: Callable[[World, Any], str] | None = None
    """Make something that uses the object; returns its name."""
    secret_field: str = ""
    copied_anew: tuple[str, ...] = ()
    """Fields of the form that a copy does not begin with."""
    differs_in_copy: tuple[str, ...] = ()
    """Of its snapshot, beside the name."""
    differs_as_yaml: tuple[str, ...] = ()
    """The same of what its YAML makes."""
    shows_secret: bool = False
    """The answer to a new one is a page with its secret."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Checks that do not apply, each with the reason."""
