"""Forgetting everything on a cluster that is gone for ever."""

import shutil
from pathlib import Path

from django.conf import settings
from django.db import transaction

from gangline.clusters.models import Cluster
from gangline.db.locks import locked
from gangline.organization.models import Department, Project
from gangline.scopes.models import Scope
from workloads.models import Workload


def forget_all(cluster: Cluster) -> None:
    """Delete its workloads with their logs, its projects and its departments, in a transaction.

    Anything still running on the cluster keeps running.
    """
    ids = list(locked(Workload.objects.filter(cluster=cluster)).values_list("pk", flat=True))
    Workload.objects.filter(cluster=cluster).delete()
    for model in (Project, Department):
        rows = model.objects.filter(cluster=cluster)
        scopes = list(rows.values_list("scope_id", flat=True))
        rows.delete()
        Scope.objects.filter(pk__in=scopes).delete()
    logs = Path(settings.GANGLINE.data_dir) / "logs"

    def erase() -> None:
        for pk in ids:
            shutil.rmtree(logs / str(pk), ignore_errors=True)

    transaction.on_commit(erase)
