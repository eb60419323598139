"""Departments and projects: each gets its scope with it."""

import re
from typing import Any

from django.db import transaction

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.clusters.connections import queue_problem
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.services import NameRefused, new_scope
from gangline.spec.types import workload_name_problem

from .models import Department, Project

_QUEUE = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?")
RESERVED = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


class QueueRefused(ValueError):
    """The queue cannot be one of the cluster, in a sentence."""


def create_project(
    *,
    actor: Actor | None,
    department: Department,
    name: str,
    gpu_quota: int | None = None,
    queue: str = "",
) -> Project:
    """A project of a department; its name is unique on the whole cluster (R1).

    ``queue`` as in `name_queue`. Raises NameRefused, QueueRefused.
    """
    _check_name("project", name)
    _check_queue(department.cluster, name, queue)
    _need(actor, Permission.PROJECT_CREATE, department.scope)
    taken = f"There is already a project {name} on {department.cluster.name}."
    with new_scope(ScopeKind.PROJECT, department.scope_id, name, taken) as scope:
        project = Project.objects.create(
            department=department,
            cluster_id=department.cluster_id,
            name=name,
            scope=scope,
            gpu_quota=gpu_quota,
            queue=queue,
            created_at=db_now(),
        )
        _record(actor, actions.PROJECT_CREATE, project, gpu_quota=gpu_quota, queue=queue)
    return project


def name_queue(*, actor: Actor | None, project: Project, queue: str) -> Project:
    """Let the project's further trainings wait in this queue of the cluster's scheduler.

    Empty: in the scheduler's default one. Raises QueueRefused.
    """
    _need(actor, Permission.PROJECT_EDIT, project.department.scope)
    _check_queue(project.cluster, project.name, queue)
    with transaction.atomic():
        before, project.queue = project.queue, queue
        project.save(update_fields=["queue"])
        _record(actor, actions.PROJECT_EDIT, project, queue=queue, queue_before=before)
    return project


def _need(actor: Actor | None, permission: Permission, scope: Scope) -> None:
    if actor is not None and not can(actor.user, permission, scope):
        raise NotAllowed(permission, scope)


def _check_queue(cluster: Cluster, project: str, queue: str) -> None:
    """As far as is known of the cluster. A project that names no queue needs none to be there."""
    if not queue:
        return
    if not _QUEUE.fullmatch(queue):
        raise QueueRefused(
            f"Queue {queue!r} is none: a name has 1 to 63 small letters, digits, dots and hyphens."
        )
    if why := queue_problem(cluster, project=project, queue=queue):
        raise QueueRefused(why)


def _check_name(noun: str, name: str) -> None:
    if (problem := workload_name_problem(name)) is not None:
        raise NameRefused(f"The {noun}'s name {problem}.")
    if name in RESERVED:
        raise NameRefused(f"{name} is reserved: Kubernetes uses it.")


def _record(actor: Actor | None, action: str, made: Department | Project, **detail: Any) -> None:
    record(
        actor=actor,
        action=action,
        object_type=type(made).__name__.lower(),
        object_id=str(made.pk),
        object_name=made.name,
        scope=made.scope,
        detail=detail,
    )
