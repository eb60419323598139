"""What the contract writes: values of each resource that are accepted, and some that are not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gangline.audit.services import record
from gangline.resources.services import make
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
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Checks that do not apply, each with the reason."""


def _shelf(world: World, name: str) -> Any:
    return make("shelf", scope=world.department.scope, name=name)


def _entry(world: World, name: str) -> Any:
    return record(
        actor=world.actor("administrator"),
        action="project.edit",
        object_type="project",
        object_id="1",
        object_name=name,
        scope=world.vision.scope,
        detail={"name": {"from": "a", "to": name}},
    )


SAMPLES: dict[str, Sample] = {
    "shelf": Sample(
        make=_shelf,
        form=lambda world, name: {
            "scope": str(world.department.scope_id),
            "name": name,
            "width": "80",
            "code": "c4n4ry-x1",
        },
        body=lambda world, name: {
            "scopeId": str(world.department.scope_id),
            "name": name,
            "code": "c4n4ry-x1",
        },
        edit={"width": "30"},
        body_edit={"width": 30},
        bad=(
            ("name", "Bad Name"),
            ("width", "9999"),
            ("width", "x"),
            ("name", ""),
            ("name", "é" * 70),
        ),
        bad_body=(
            ("name", 7),
            ("width", "80"),
            ("width", 9999),
            ("colour", "red"),
            ("name", "\x1b"),
        ),
        secret_field="code",
        used=lambda world, shelf: "",
        left_out={"in_use": "nothing uses a shelf"},
    ),
    "department": Sample(
        make=lambda world, name: make("department", cluster=world.cluster, name=name),
        form=lambda world, name: {
            "cluster": str(world.cluster.pk),
            "name": name,
            "description": "d",
        },
        body=lambda world, name: {"clusterId": str(world.cluster.pk), "name": name},
        edit={"description": "other words"},
        body_edit={"description": "other words"},
        bad=(
            ("name", "Bad Name"),
            ("name", ""),
            ("name", "a" * 64),
            ("name", "kube-system"),
            ("cluster", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"),
            ("description", "x" * 401),
        ),
        bad_body=(("name", 7), ("name", "A B"), ("clusterId", "x"), ("nme", "x"), ("name", ["a"])),
        left_out={
            "secret": "no field is secret",
            "in_use": "checked with projects of its own test",
        },
    ),
    "audit": Sample(
        make=_entry,
        left_out={
            "same_everywhere": "its API is one of Run:ai's, with a test of its own",
            "audit": "it is never changed",
            "secret": "no field is secret",
            "in_use": "it is never deleted",
        },
    ),
}
