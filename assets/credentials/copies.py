"""Copies of credentials on clusters: a Secret in each namespace whose workloads use one.

Kept by `clusters.objects`. What is stored there names the credential and counts its values; the
values themselves are put in only while the Secret is applied.
https://kubernetes.io/docs/concepts/configuration/secret/
"""

import base64
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from assets.credentials import store
from assets.models import Credential
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters import objects
from gangline.clusters.connections import namespaces_of
from gangline.clusters.models import Cluster, ClusterObject, ObjectState
from gangline.organization.models import Project
from gangline.scopes.models import Installation

KEY = "credential"
ROTATION = "gangline.dev/rotation"
_STATES = {
    ObjectState.OK: "Up to date",
    ObjectState.WAITING: "Being applied",
    ObjectState.DELETING: "Being removed",
}


def keep(credential: Credential) -> None:
    """Want a Secret wherever a workload uses the credential, and nowhere else."""
    wanted: dict[tuple[Any, str], Cluster] = {}
    used = Project.objects.filter(
        workloads__credential_uses__credential=credential.pk, workloads__deleted_at=None
    )
    for project in used.select_related("cluster").distinct():
        cluster = project.cluster
        if not cluster.engine.keeps_secrets:
            continue
        namespace = project.own_namespace or namespaces_of(cluster)(project.name)
        wanted[cluster.pk, namespace] = cluster
    for (_, namespace), cluster in wanted.items():
        objects.want(cluster, (KEY, str(credential.pk)), _manifest(credential, namespace))
    kept = of(credential).exclude(state=ObjectState.DELETING)
    gone = [row.pk for row in kept if (row.cluster_id, row.namespace) not in wanted]
    objects.unwant(ClusterObject.objects.filter(pk__in=gone))


def remove(credential: Credential) -> None:
    """Take every copy away."""
    objects.unwant(of(credential))


def of(credential: Credential) -> QuerySet[ClusterObject]:
    """The copies, as they are kept."""
    return objects.of(credential, KEY)


def status(credential: Credential) -> str:
    """How the copies are, in the words that clients know."""
    states = set(of(credential).values_list("state", flat=True))
    if not states:
        return "No status"
    if states & {ObjectState.CONFLICT, ObjectState.FORBIDDEN, ObjectState.FAILED}:
        return "Issues found"
    if ObjectState.WAITING in states:
        return "Creating" if credential.rotations == 1 else "Updating"
    return "Deleting" if states == {ObjectState.DELETING} else "No issues found"


def panel(request: HttpRequest, credential: Credential) -> dict[str, Any] | None:
    """Where copies are and how they are, in clusters that the person may see."""
    rows = of(credential).select_related("cluster__scope").order_by("cluster__name", "namespace")
    user = request.user
    if not isinstance(user, User) or not rows:
        return None
    return {
        "rows": [
            {
                "cluster": row.cluster,
                "may": can(user, Permission.CLUSTER_VIEW, row.cluster.scope),
                "namespace": row.namespace,
                "state": _STATES.get(ObjectState(row.state), "Not applied"),
                "is_well": row.state in _STATES,
                "problem": row.why,
            }
            for row in rows
        ]
    }


def _manifest(credential: Credential, namespace: str) -> dict[str, Any]:
    """The Secret without its data."""
    install = str(Installation.objects.values_list("pk", flat=True).get())
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": credential.object_name,
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/managed-by": "gangline",
                "gangline.dev/install": install,
            },
            "annotations": {ROTATION: str(credential.rotations)},
        },
        "type": credential.type.secret_type,
    }


def _filled(row: ClusterObject) -> objects.Filled:
    """The Secret with its data, which nothing stores."""
    credential = Credential.objects.filter(pk=row.owner_id).first()
    if credential is None:
        raise objects.CannotFill("The credential is gone.")
    try:
        data: Mapping[str, str] = store.data_of(credential)
    except store.CannotUse as why:
        raise objects.CannotFill(str(why)) from why
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return objects.Filled({**row.wanted, "data": encoded}, (*data.values(), *encoded.values()))


objects.fill_with(KEY, _filled)
