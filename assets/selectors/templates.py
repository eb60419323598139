"""Which templates a person sees, and which hold in a project."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from assets.models import Template
from assets.selectors.fitness import able, reason_against
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.organization.selectors import clusters_of, visible_projects
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_ONLY
from gangline.spec.words import one_of


def templates_for(project: Project) -> QuerySet[Template]:
    """Templates of the project's own scope and of every scope above it, near first."""
    own = project.scope_id
    return (
        Template.objects.filter(
            Q(scope=own)
            | Q(scope__children=own)
            | Q(scope__children__children=own)
            | Q(scope__children__children__children=own)
        )
        .select_related("scope")
        .order_by("-used_count", "name")
        .distinct()
    )


def usable_templates(user: User) -> QuerySet[Template]:
    """Templates that hold in at least one project where the person may use them."""
    projects = visible_projects(user, Permission.TEMPLATE_VIEW).values("scope_id")
    return (
        Template.objects.filter(
            Q(scope__in=projects)
            | Q(scope__children__in=projects)
            | Q(scope__children__children__in=projects)
            | Q(scope__children__children__children__in=projects)
        )
        .select_related("scope")
        .order_by("name")
        .distinct()
    )


@dataclass(frozen=True, slots=True)
class TemplateCard:
    """What the page shows of one template."""

    id: uuid.UUID
    name: str
    description: str
    scope: str
    facts: tuple[str, ...]
    used: str
    reason: str = ""
    """Why it cannot run now; empty when it can."""


def template_cards(user: User, search: str = "") -> list[TemplateCard]:
    """The templates that the person can use, most used first."""
    found = usable_templates(user).order_by("-used_count", "name")
    if search:
        found = found.filter(Q(name__icontains=search) | Q(description__icontains=search))
    clusters = list(clusters_of(visible_projects(user, Permission.TEMPLATE_VIEW)))
    return [_card(template, clusters) for template in found]


def _card(template: Template, clusters: Sequence[Cluster]) -> TemplateCard:
    framework = FRAMEWORKS.get(template.framework)
    workers = template.values.get("worker.numWorkers", 1)
    master = "" if template.configuration == WORKERS_ONLY else " + master"
    words = f"{workers} worker{'' if workers == 1 else 's'}{master}"
    used = template.used_count
    names = able(template, clusters)
    return TemplateCard(
        id=template.pk,
        name=template.name,
        description=template.description,
        scope=template.scope.title,
        facts=(framework.label if framework else template.framework, words, *_where(names)),
        used="Never used" if not used else f"Used {used} time{'' if used == 1 else 's'}",
        reason=reason_against(template, clusters),
    )


def _where(names: Sequence[str]) -> tuple[str, ...]:
    """``On cluster lab``; three names at most."""
    if not names:
        return ()
    shown = one_of(names[:3]) if len(names) <= 3 else f"{', '.join(names[:3])} and others"
    return (f"On cluster {shown}" if len(names) == 1 else f"On clusters {shown}",)
