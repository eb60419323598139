"""Data volumes of workloads: whether they can be mounted, and the claims that drivers see instead.

A driver knows claims only: a data volume reaches it as an existing claim that is mounted read-only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from assets.data_volumes import sharing
from assets.models import Asset
from assets.selectors.data import mount_of
from gangline.organization.models import Project
from gangline.policies.engine import Resolution
from gangline.spec.problems import Problem, Role
from gangline.spec.words import one_of
from workloads.services.item_paths import as_sent, field_of

FIELD, CLAIMS = "storage.dataVolume", "storage.pvc"
MOST, SHOWN = 16, 12
"""As many claims a replica may have; as many names an error lists."""
_ROLES = (Role.WORKER, Role.MASTER)


@dataclass(frozen=True, slots=True)
class Mounted:
    """Values as drivers see them."""

    values: Mapping[str, Any]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Namespace of each claim that is another project's, by the name of its volume."""
    volumes: tuple[UUID, ...] = ()
    moved: Mapping[tuple[Role, int], int] = field(default_factory=dict)
    """Index of a data volume by the role and the index of the claim that stands for it."""

    def back(self, problem: Problem) -> Problem:
        """The problems of a driver with such a claim, at the data volume."""
        head, _, rest = problem.path.removeprefix(f"{CLAIMS}.").partition(".")
        index = self.moved.get((problem.role, int(head))) if head.isdigit() else None
        if not problem.path.startswith(f"{CLAIMS}.") or index is None:
            return problem
        return problem.at(path=f"{FIELD}.{index}.{'mountPath' if rest == 'path' else 'id'}")


def mounted(values: Mapping[str, Any], project: Project) -> Mounted:
    """``values`` with claims in place of data volumes; what cannot be mounted is left out."""
    given = {role: items for role in _ROLES if (items := _items(values, role))}
    if not given:
        return Mounted(values)
    known = _known(project)
    found, elsewhere, moved = dict(values), {}, {}
    used: set[UUID] = set()
    for role, items in given.items():
        del found[f"{role}.{FIELD}"]
        claims = list(values.get(f"{role}.{CLAIMS}") or ())
        for number, item in enumerate(items):
            volume = known.get(str(item.get("id")).lower())
            if volume is None or sharing.why_not(volume, project):
                continue
            mount = {**mount_of(volume), "path": item.get("mountPath")}
            moved[role, len(claims)] = number
            claims.append(mount)
            used.add(volume.pk)
            if volume.scope_id != project.scope_id:
                elsewhere[mount["name"]] = volume.scope.project.claims_namespace
        if claims:
            found[f"{role}.{CLAIMS}"] = claims
    return Mounted(found, elsewhere, tuple(used), moved)


def problems(
    resolution: Resolution, *, project: Project, known: list[Problem]
) -> Iterator[Problem]:
    """Data volumes that the project does not have, or that its cluster cannot mount for it."""
    wrong = {(p.role, field_of(p.path)) for p in known}
    roles = _ROLES[:1] if resolution.master == "same" else _ROLES
    given = {
        role: items
        for role in roles
        if (role, FIELD) not in wrong and (items := _items(resolution.plain, role))
    }
    usable = _known(project) if given else {}
    for role, items in given.items():
        for number, item in enumerate(items):
            if (problem := _problem(role, number, item, usable, project)) is not None:
                yield problem.at(path=as_sent(problem, resolution.effective))
        if len(items) + len(resolution.plain.get(f"{role}.{CLAIMS}") or ()) > MOST:
            yield Problem.of(
                role, FIELD, "maxItems:volumes", most=MOST, value=len(items), label="Data volumes"
            )


def _problem(
    role: Role,
    number: int,
    item: Mapping[str, Any],
    usable: Mapping[str, Asset],
    project: Project,
) -> Problem | None:
    volume = usable.get(str(item.get("id")).lower())
    path = f"{FIELD}.{number}.id"
    if volume is None:
        names = [f"{one.pk} ({one.name})" for one in list(usable.values())[:SHOWN]]
        accepted = one_of(names) if names else "none yet: share one with this project first"
        return Problem.of(
            role, path, "options:volume", project=project.name, value=item.get("id"),
            accepted=accepted, label="Data volume",
        )  # fmt: skip
    if why := sharing.why_not(volume, project):
        return Problem.of(
            role, path, "cluster:volume", why=why, value=volume.name, label="Data volume"
        )
    return None


def _items(values: Mapping[str, Any], role: Role) -> list[Mapping[str, Any]]:
    found = values.get(f"{role}.{FIELD}")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _known(project: Project) -> Mapping[str, Asset]:
    return {str(one.pk): one for one in sharing.usable_in(project)}
