"""The template and the assets that a workload was made of, then and now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from assets.kinds import KINDS
from assets.models import Asset, Template
from gangline.accounts.models import User
from gangline.resources.registry import get
from workloads.models import Workload

TEMPLATE = "template"


def made_of(template: UUID | str | None, assets: Iterable[str]) -> list[dict[str, Any]]:
    """What is stored with a workload: each by its kind, id, name and version."""
    wanted = sorted(assets)
    rows: list[tuple[str, Any, str, int]] = []
    if template is not None:
        found = Template.objects.filter(pk=template).values_list("pk", "name", "version")
        rows += [(TEMPLATE, *row) for row in found]
    if wanted:
        used = Asset.objects.filter(pk__in=wanted).order_by("kind", "name")
        rows += used.values_list("kind", "pk", "name", "version")
    return [
        {"kind": kind, "id": str(pk), "name": name, "version": version}
        for kind, pk, name, version in rows
    ]


@dataclass(frozen=True, slots=True)
class Ingredient:
    """One of them. ``now`` is its version today; None: it was deleted."""

    label: str
    name: str
    version: int
    now: int | None
    url: str
    """Empty where the reader may not see it."""


def ingredients(user: User, workload: Workload) -> list[Ingredient]:
    """What the workload was made of, for somebody who reads about it."""
    return [_ingredient(user, one) for one in workload.made_of]


def _ingredient(user: User, stored: Mapping[str, Any]) -> Ingredient:
    kind = next((one for one in KINDS if one.key == stored["kind"]), None)
    resource = get(kind.resource_key if kind else TEMPLATE)
    row = resource.model._default_manager.filter(pk=stored["id"]).first()
    sees = row is not None and resource.visible(user).filter(pk=row.pk).exists()
    return Ingredient(
        label=kind.label if kind else "Template",
        name=row.name if row is not None and sees else stored["name"],
        version=stored["version"],
        now=row.version if row is not None else None,
        url=resource.url(row) if row is not None and sees else "",
    )
