"""What Set-up offers: clusters, projects, frameworks, configurations, templates; with reasons."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import QuerySet

from assets.models import Template
from assets.selectors.templates import templates_for
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.connections import facts_of
from gangline.clusters.models import Cluster
from gangline.drivers.facts import Facts, FrameworkOffer
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects, with_scopes
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_ONLY, configuration_problem
from gangline.spec.problems import Problem
from workloads.models import Workload
from workloads.wizard.state import (
    CLUSTER,
    CONFIGURATION,
    FRAMEWORK,
    NAME,
    PROJECT,
    TEMPLATE,
    DraftState,
)

_ID = re.compile(r"[0-9]{1,18}", re.ASCII)
NOT_HERE = "Not available on this cluster."


@dataclass(frozen=True)
class Choices:
    """What this person can choose, and what the draft's choices come to.

    A choice that does not hold here, such as a project of another cluster, stays in the draft and
    comes back with its cluster; until then the nearest one that fits stands in for it.
    """

    user: User
    state: DraftState

    @cached_property
    def projects(self) -> list[Project]:
        """Projects that take this person's workloads."""
        return list(self._visible.order_by("name"))

    @property
    def _visible(self) -> QuerySet[Project]:
        return with_scopes(visible_projects(self.user, Permission.WORKLOAD_CREATE))

    @cached_property
    def _named(self) -> Project | None:
        """The project that the draft names: the thousand others are not read for it."""
        key = self.state.text(PROJECT)
        if "projects" in vars(self):
            return next((p for p in self.projects if str(p.pk) == key), None)
        return self._visible.filter(pk=key).first() if _ID.fullmatch(key) else None

    @cached_property
    def clusters(self) -> list[Cluster]:
        found = {project.cluster_id: project.cluster for project in self.projects}
        return sorted(found.values(), key=lambda cluster: cluster.name)

    @cached_property
    def _last_used(self) -> int | None:
        return (
            Workload.objects.filter(owner=self.user, deleted_at=None)
            .order_by("-created_at")
            .values_list("project_id", flat=True)
            .first()
        )

    @cached_property
    def cluster(self) -> Cluster | None:
        wanted = self.state.text(CLUSTER)
        if self._named and wanted in ("", str(self._named.cluster_id)):
            return self._named.cluster
        chosen = next((c for c in self.clusters if str(c.pk) == wanted), None)
        if chosen or not self.projects:
            return chosen
        return self._project_of_default.cluster

    @cached_property
    def _project_of_default(self) -> Project:
        if self._named:
            return self._named
        last = self._last_used
        return next((p for p in self.projects if p.pk == last), self.projects[0])

    @cached_property
    def projects_here(self) -> list[Project]:
        """Projects of the chosen cluster."""
        return [p for p in self.projects if self.cluster and p.cluster_id == self.cluster.pk]

    @cached_property
    def project(self) -> Project | None:
        if self._named and self.cluster and self._named.cluster_id == self.cluster.pk:
            return self._named
        here = self.projects_here
        if len(here) < 2:
            return here[0] if here else None
        last = self._last_used
        return next((p for p in here if p.pk == last), here[0])

    @cached_property
    def facts(self) -> Facts | None:
        return facts_of(self.cluster) if self.cluster else None

    @cached_property
    def frameworks_here(self) -> Mapping[str, FrameworkOffer]:
        return {offer.framework: offer for offer in self.facts.frameworks} if self.facts else {}

    def framework_card(self, name: str) -> str:
        """The same in one sentence, which fits on a card."""
        offer = self.facts.offer(name) if self.facts else None
        return "" if offer is None or offer.available else offer.reason or NOT_HERE

    def framework_reason(self, name: str) -> str:
        """Why the cluster cannot run the framework; empty when it can."""
        offer = self.facts.offer(name) if self.facts else None
        if offer is None or offer.available:
            return ""
        return offer.why_not or NOT_HERE

    @cached_property
    def framework(self) -> str:
        wanted = self.state.text(FRAMEWORK)
        if wanted in FRAMEWORKS:
            return wanted
        usable = [name for name in FRAMEWORKS if not self.framework_reason(name)]
        return usable[0] if usable else next(iter(FRAMEWORKS))

    @cached_property
    def configuration(self) -> str:
        wanted = self.state.text(CONFIGURATION)
        allowed = FRAMEWORKS[self.framework].configurations
        return wanted if wanted in allowed else allowed[0]

    @cached_property
    def configuration_problem(self) -> Problem | None:
        """What is wrong with the configuration that was typed."""
        wanted = self.state.text(CONFIGURATION)
        return configuration_problem(self.framework, wanted) if wanted else None

    def configuration_reason(self, name: str) -> str:
        known = FRAMEWORKS[self.framework]
        if name in known.configurations:
            return ""
        if name == WORKERS_ONLY:
            return f"{known.label} needs a {known.leader.word}."
        return f"{known.label} has no master."

    @cached_property
    def templates(self) -> Sequence[Template]:
        """Templates of the chosen framework that hold in the chosen project."""
        if self.project is None:
            return ()
        return [t for t in templates_for(self.project) if t.framework == self.framework]

    @cached_property
    def template(self) -> Template | None:
        wanted = self.state.text(TEMPLATE)
        if not wanted:
            return None
        return next((t for t in self.templates if str(t.pk) == wanted), None)

    @property
    def name(self) -> str:
        return self.state.text(NAME)
