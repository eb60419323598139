"""The request body of the API that asks for exactly what a draft asks for."""

from collections.abc import Mapping
from typing import Any

from gangline.spec.problems import Role
from gangline.spec.sources import WORKERS, Values
from gangline.spec.values import nest
from workloads.services.submission_types import Preview, SubmissionRequest


def body_of(request: SubmissionRequest, judged: Preview, *, is_different: bool) -> dict[str, Any]:
    """What has to be sent so that the policy's part of the values stays the policy's."""
    project, cluster = judged.project, judged.cluster
    given = request.everything
    body: dict[str, Any] = {
        "name": request.name,
        "projectId": str(project.pk) if project else "",
        "clusterId": str(cluster.pk) if cluster else "",
        "configuration": judged.configuration,
        "spec": {"distributedFramework": judged.framework, **nest(_of(given, Role.WORKER))},
    }
    if is_different:
        body["masterSpec"] = nest(_of_master(given, judged.resolution.effective))
    return body


def _of(values: Values, role: Role) -> dict[str, Any]:
    start = f"{role}."
    return {p.removeprefix(start): v.value for p, v in values.items() if p.startswith(start)}


def _of_master(given: Values, effective: Values) -> Mapping[str, Any]:
    """A master sent in full follows nobody: what it takes from the workers must be sent."""
    values = _of(given, Role.MASTER)
    for path, entry in effective.items():
        if path.startswith("master.") and entry.source == WORKERS:
            values.setdefault(path.removeprefix("master."), entry.value)
    return values
