"""The first steps that Home offers until they are done or dismissed."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from django.urls import reverse

from assets.models import Template
from assets.selectors.templates import usable_templates
from gangline.access.grants import held_everywhere
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects
from gangline.policies.models import Policy
from gangline.settings.catalogue import QUICK_START
from gangline.settings.values import value_of
from workloads.models import Draft, Workload
from workloads.selectors import workload_list

SAMPLE = "digits-xgboost"
HIDDEN, SET_UP_HIDDEN = "hide_first_steps", "hide_set_up"
"""Names in the person's preferences."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to set up, and where."""

    label: str
    url: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The sample and the form, each with whether it is done."""

    sample: Template
    run: Workload | None
    sample_done: bool
    looked: bool
    project: int | None
    """One with a policy of its own, where the form has locks to show; None: there is none."""
    key: UUID
    """Draft that the button makes, so that a double click makes one workload."""


def sample_template(user: User) -> Template | None:
    """The template that trains within a minute, where the person can use it."""
    return usable_templates(user).filter(name=SAMPLE).first()


def _with_policy(user: User) -> int | None:
    projects = visible_projects(user, Permission.WORKLOAD_CREATE).order_by("name")
    return projects.filter(scope__policy__isnull=False).values_list("pk", flat=True).first()


def _looked(user: User, sample: Template) -> bool:
    """Whether the person has the sample in the form, or has made another workload there."""
    if Workload.objects.filter(owner=user, channel="form").exclude(template=sample).exists():
        return True
    drafts = Draft.objects.filter(owner=user, inputs__setup__templateId__text=str(sample.pk))
    return any(not draft.is_untouched for draft in drafts.only("versions"))


def first_steps(user: User) -> FirstSteps | None:
    """None when there is no sample to start from, both are done, or they were dismissed."""
    if user.preferences.get(HIDDEN) or not value_of(QUICK_START):
        return None
    sample = sample_template(user)
    if sample is None:
        return None
    runs = workload_list.visible(user).filter(owner=user, template=sample)
    run = runs.order_by("-created_at").first()
    is_run, looked = run is not None and run.status == "Completed", _looked(user, sample)
    if is_run and looked:
        return None
    return FirstSteps(
        sample=sample,
        run=run,
        sample_done=is_run,
        looked=looked,
        project=_with_policy(user),
        key=uuid4(),
    )


def is_administrator(user: User) -> bool:
    """Whether the person runs the installation: they may connect clusters."""
    return held_everywhere(user, Permission.CLUSTER_CREATE)


def set_up(user: User) -> list[Step]:
    """An administrator's first day; empty once a person did all of it, or it was dismissed.

    What the installation brings (this machine, examples) was made by nobody and does not count.
    """
    if user.preferences.get(SET_UP_HIDDEN) or not value_of(QUICK_START):
        return []
    done = {
        ("Connect a cluster", "cluster-create"): Cluster.objects.exclude(credential=None).exclude(
            last_ok_at=None
        ),
        ("Create a project", "project-create"): Project.objects.exclude(created_by=None),
        ("Invite users", "user-create"): User.objects.exclude(created_by=None),
        ("Set a policy", "policy-list"): Policy.objects.exclude(updated_by=None),
    }
    steps = [Step(label, reverse(name), rows.exists()) for (label, name), rows in done.items()]
    return [] if all(step.is_done for step in steps) else steps
