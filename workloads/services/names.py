"""Names of workloads: what is wrong with one, and which one is free instead."""

import re
import secrets
from collections.abc import Iterator

from gangline.organization.models import Project
from gangline.spec.problems import Problem, Role
from gangline.spec.types import LONGEST_NAME, is_workload_name
from workloads.models import Desired, Workload

SUFFIX_LENGTH = 5
LONGEST_PREFIX = LONGEST_NAME - SUFFIX_LENGTH - 1
_SUFFIX_SIGNS = "bcdfghjklmnpqrstvwxz2456789"
"""Neither vowels nor what looks alike: no suffix is a word or is read as another one."""


def prefixed(name: str) -> str:
    """``name`` with a suffix that no other workload has got yet, as far as chance goes."""
    return f"{name}-{''.join(secrets.choice(_SUFFIX_SIGNS) for _ in range(SUFFIX_LENGTH))}"


def prefix_problems(name: str) -> Iterator[Problem]:
    """What is wrong with a name to which a suffix is added."""
    found = list(name_problems(name, None))
    if not found and len(name) > LONGEST_PREFIX:
        yield Problem.of(
            Role.WORKLOAD, "name", "maxLength:suffix", value=name, most=LONGEST_PREFIX,
            accepted=f"1 to {LONGEST_PREFIX} characters", label="Name",
        )  # fmt: skip
    yield from found


def name_problems(name: str, project: Project | None) -> Iterator[Problem]:
    draft = Problem.of(
        Role.WORKLOAD, "name", "required", value=name, accepted="a name such as digits-1",
        label="Name",
    )  # fmt: skip
    if name == "":
        yield draft
    elif not is_workload_name(name):
        yield draft.at(code="format:name", most=LONGEST_NAME)
    elif (
        project is not None
        and Workload.objects.filter(project=project, name=name, deleted_at__isnull=True).exists()
    ):
        yield name_taken(name, project)


def free_name(name: str, project: Project) -> str:
    """The first of name-2, name-3 … that no workload of the project has."""
    base = re.sub(r"-[0-9]{1,4}\Z", "", name) or name
    taken = set(
        Workload.objects.filter(
            project=project, deleted_at__isnull=True, name__startswith=base[:45]
        ).values_list("name", flat=True)
    )
    number = 2
    while f"{base[:45]}-{number}" in taken:
        number += 1
    return f"{base[:45].rstrip('-')}-{number}"


def name_taken(name: str, project: Project) -> Problem:
    """The name is in use, perhaps by a workload that is still being deleted."""
    suggestion = free_name(name, project)
    holder = Workload.objects.filter(project=project, name=name, deleted_at__isnull=True).first()
    if holder is not None and holder.desired == Desired.DELETED:
        code = "unique:deleting"
    else:
        code = "unique:workload"
    return Problem.of(
        Role.WORKLOAD, "name", code, value=name, accepted=suggestion, label="Name",
        cluster=project.cluster.name, project=project.name,
    )  # fmt: skip
