"""Making templates. What they hold is judged where it is used: in a project, under its policy."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from assets.models import Template
from gangline.access.actor import Actor
from gangline.access.grants import can, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.scopes.models import Scope
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import configuration_problem
from gangline.spec.problems import InvalidSpec, Problem, Role
from gangline.spec.workload import SPEC


@transaction.atomic
def create_template(
    *,
    actor: Actor | None,
    scope: Scope,
    name: str,
    framework: str,
    configuration: str,
    values: Mapping[str, Any],
    description: str = "",
    master: str = "same",
) -> Template:
    """Store a template in ``scope``; it holds there and below. ``actor`` None: the system itself.

    Raises InvalidSpec for a path that is no field or a configuration that cannot be, NotAllowed.
    """
    if actor is not None and not can(actor.user, Permission.TEMPLATE_CREATE, scope):
        who = [person.username for person in who_can(Permission.TEMPLATE_CREATE, scope)]
        raise NotAllowed(Permission.TEMPLATE_CREATE, scope, who)
    if problems := [*_problems(framework, configuration, values)]:
        raise InvalidSpec(problems)
    template = Template.objects.create(
        scope=scope,
        name=name,
        description=description,
        framework=framework,
        configuration=configuration,
        master=master,
        values=dict(values),
        created_by=actor.user if actor else None,
        created_at=db_now(),
    )
    record(
        actor=actor,
        action=actions.TEMPLATE_CREATE,
        object_type="template",
        object_id=str(template.pk),
        object_name=name,
        scope=scope,
        detail={"fields": sorted(values)},
    )
    return template


def _problems(framework: str, configuration: str, values: Mapping[str, Any]) -> list[Problem]:
    known = {f"{Role.WORKER}.{path}" for path in catalogue(SPEC.worker)}
    known |= {f"{Role.MASTER}.{path}" for path in catalogue(SPEC.master)}
    found = [
        Problem.of(Role.WORKLOAD, path, "unknown", "is not a field", label=path)
        for path in values
        if path not in known
    ]
    if (message := configuration_problem(framework, configuration)) is not None:
        found.append(
            Problem.of(
                Role.WORKLOAD, "configuration", "framework", message, configuration,
                label="Configuration",
            )
        )  # fmt: skip
    return found
