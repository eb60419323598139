"""Roles in words, and what they allow."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gangline.access.grants import custom_role
from gangline.access.models import CustomRole
from gangline.access.permissions import ENTITIES, VERBS, Permission
from gangline.access.roles import ROLES, Role
from gangline.db.once import once


def all_roles() -> list[Role]:
    """The built-in roles, then the custom ones by name."""
    return [*ROLES.values(), *map(custom_role, CustomRole.objects.order_by("name"))]


def role_labels() -> dict[str, str]:
    """Name of every role by its key."""
    return once("role labels", lambda: {role.key: role.label for role in all_roles()})


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """What a role allows with one kind of thing: a cell per verb of `MATRIX_VERBS`."""

    entity: str
    label: str
    cells: Sequence[tuple[Permission | None, str]]
    """The permission where there is one, and ``yes``, ``own`` or nothing."""
    others: Sequence[tuple[Permission, str, str]]
    """Permission, its verb and the same for what is peculiar to these things."""


MATRIX_VERBS = ("view", "create", "edit", "delete")


def matrix(permissions: Iterable[str] = (), own_only: Iterable[str] = ()) -> Iterator[MatrixRow]:
    """Everything that may be allowed, entity by entity, with what is."""
    allowed = dict.fromkeys(map(str, own_only), "own") | dict.fromkeys(map(str, permissions), "yes")
    known = {(one.entity, one.verb): one for one in Permission}
    for entity, (label, _) in ENTITIES.items():
        cells = [known.get((entity, verb)) for verb in MATRIX_VERBS]
        yield MatrixRow(
            entity,
            label,
            [(one, allowed.get(one or "", "")) for one in cells],
            [
                (one, VERBS[verb][0], allowed.get(one, ""))
                for (of, verb), one in known.items()
                if of == entity and verb not in MATRIX_VERBS
            ],
        )
