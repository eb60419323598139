"""Copies of credentials on clusters: a Secret in each namespace whose workloads use one.

Kept by `clusters.objects`. What is stored there names the credential and counts its values; the
values themselves are put in only while the Secret is applied.
https://kubernetes.io/docs/concepts/configuration/secret/
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from assets.credentials import store
from assets.models import Credential
from assets.scopes import projects_below
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters import objects
from gangline.clusters.connections import namespaces_of
from gangline.clusters.models import Cluster, ClusterObject, ObjectState
from gangline.drivers import claims
from gangline.drivers.base import KeptObject
from gangline.organization.models import Project
from gangline.scopes.models import Installation

KEY = "credential"
ROTATION = "gangline.dev/rotation"
_STATES = {
    ObjectState.OK: "Up to date",
    ObjectState.WAITING: "Being applied",
    ObjectState.DELETING: "Being removed",
}
_FOUND = {ObjectState.OK: "Found", ObjectState.WAITING: "Searching"}
"""Of Secrets that others keep."""


def keep(credential: Credential) -> None:
    """Want a Secret wherever a workload uses the credential, and nowhere else.

    That of others is looked for wherever it can be used.
    """
    wanted: dict[tuple[Any, str], Cluster] = {}
    users = Q(workloads__credential_uses__credential=credential.pk, workloads__deleted_at=None)
    used = Project.objects.filter(users).select_related("cluster").distinct()
    for project in used if credential.is_ours else projects_below(credential.scope_id):
        cluster = project.cluster
        if not cluster.engine.keeps_secrets:
            continue
        wanted[cluster.pk, _namespace(project)] = cluster
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
    """How the Secrets are, in the words that clients know."""
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
    states, otherwise = (_STATES, "Not applied") if credential.is_ours else (_FOUND, "Not found")
    return {
        "rows": [
            {
                "cluster": row.cluster,
                "may": can(user, Permission.CLUSTER_VIEW, row.cluster.scope),
                "namespace": row.namespace,
                "state": states.get(ObjectState(row.state), otherwise),
                "is_well": row.state in _STATES,
                "problem": row.why,
            }
            for row in rows
        ]
    }


def missing_in(project: Project, credentials: Iterable[Credential]) -> Mapping[Any, str]:
    """Why the Secret of others is not in the project's namespace, by credential."""
    looked_for = {str(one.pk): one.pk for one in credentials if not one.is_ours}
    if not looked_for:
        return {}
    rows = ClusterObject.objects.filter(
        cluster=project.cluster_id,
        namespace=_namespace(project),
        owner_type=KEY,
        owner_id__in=looked_for,
    ).exclude(state__in=(ObjectState.OK, ObjectState.WAITING))
    return {looked_for[row.owner_id]: row.why for row in rows}


def _namespace(project: Project) -> str:
    return project.own_namespace or namespaces_of(project.cluster)(project.name)


def _manifest(credential: Credential, namespace: str) -> dict[str, Any]:
    """The Secret without its data; nothing but its name where it is not ours."""
    if not credential.is_ours:
        return claims.manifest(claims.SECRET, namespace, credential.object_name)
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
    if KeptObject(row.kind, row.namespace, row.name, row.wanted).is_others:
        return objects.Filled(row.wanted)
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
