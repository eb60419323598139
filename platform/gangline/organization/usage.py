"""What departments and projects use now. Workloads know it; organisation and pages ask here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .models import Department, Project, Quota


@dataclass(frozen=True, slots=True)
class Held:
    """What the running workloads of a project hold."""

    gpus: float = 0
    cpus: float = 0
    memory: int = 0
    running: int = 0

    def __add__(self, other: "Held") -> "Held":
        return Held(
            self.gpus + other.gpus,
            self.cpus + other.cpus,
            self.memory + other.memory,
            self.running + other.running,
        )


class Source(Protocol):
    """What a higher app answers."""

    def held(self, projects: Iterable[Project]) -> Mapping[int, Held]:
        """By the id of the project."""

    def waiting(self, projects: Iterable[Project]) -> int:
        """Workloads that wait for their place."""

    def over_quota(self, node: Project | Department, quotas: Iterable[Quota]) -> set[str]:
        """Ids of the running workloads that these quotas do not cover."""

    def changed(self, node: Project | Department) -> None:
        """A quota was changed: who waits is judged anew."""


_sources: list[Source] = []


def register(source: Source) -> None:
    _sources.append(source)


def held(projects: Iterable[Project]) -> dict[int, Held]:
    """What each project holds."""
    rows = list(projects)
    found = {one.pk: Held() for one in rows}
    for source in _sources:
        for pk, more in source.held(rows).items():
            found[pk] += more
    return found


def held_by(node: Project | Department) -> Held:
    """What one of them holds, a department with all its projects."""
    return held_by_each([node])[node.pk]


def held_by_each(nodes: Sequence[Project | Department]) -> dict[int, Held]:
    """The same of several of one kind, by their id."""
    projects = [one for one in nodes if isinstance(one, Project)]
    departments = [one.pk for one in nodes if isinstance(one, Department)]
    if not departments:
        return held(projects)
    found = dict.fromkeys(departments, Held())
    rows = list(Project.objects.filter(department__in=departments).select_related("cluster"))
    for project, more in zip(rows, held(rows).values(), strict=True):
        found[project.department_id] += more
    return found


def waiting(node: Project | Department) -> int:
    """How many workloads of a project, or of all of a department, wait."""
    projects = [node] if isinstance(node, Project) else list(node.projects.all())
    return sum(source.waiting(projects) for source in _sources)


def over_quota(node: Project | Department, quotas: Iterable[Quota]) -> set[str]:
    rows = list(quotas)
    return {one for source in _sources for one in source.over_quota(node, rows)}


def changed(node: Project | Department) -> None:
    for source in _sources:
        source.changed(node)
