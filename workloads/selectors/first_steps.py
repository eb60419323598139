"""The first steps that Home offers until they are done or put away."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from assets.models import Template
from assets.selectors.templates import usable_templates
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.organization.selectors import visible_projects
from gangline.settings.catalogue import QUICK_START
from gangline.settings.values import value_of
from workloads.models import Draft, Workload
from workloads.selectors import listing

SAMPLE = "digits-xgboost"
HIDDEN = "hide_first_steps"
"""Name in the person's preferences."""


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
    """Whether the person has the sample in the form: any other draft does not count."""
    drafts = Draft.objects.filter(owner=user, inputs__setup__templateId__text=str(sample.pk))
    return any(not draft.is_untouched for draft in drafts.only("versions"))


def first_steps(user: User) -> FirstSteps | None:
    """None when there is no sample to start from, or it was put away or switched off."""
    if user.preferences.get(HIDDEN) or not value_of(QUICK_START):
        return None
    sample = sample_template(user)
    if sample is None:
        return None
    runs = listing.visible(user).filter(owner=user, template=sample)
    run = runs.order_by("-created_at").first()
    return FirstSteps(
        sample=sample,
        run=run,
        sample_done=run is not None and run.status == "Completed",
        looked=_looked(user, sample),
        project=_with_policy(user),
        key=uuid4(),
    )
