"""What the cluster said to a draft: kept with it, and stale once something is changed."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from gangline.db.clock import db_now
from gangline.drivers.base import DryRunResult
from gangline.spec.problems import Problem
from workloads.models import Attempt, Draft
from workloads.services import dry_run
from workloads.services.item_paths import field_of
from workloads.services.submission_types import Preview, SubmissionRequest


@dataclass(frozen=True, slots=True)
class LastDryRun:
    """What was said and what of it still holds for the draft as it is now."""

    at: datetime
    cluster: str
    last_dry_run: DryRunResult
    is_current: bool
    """Nothing that the cluster would see has been changed since."""

    @property
    def is_accepted(self) -> bool:
        told = self.last_dry_run
        return self.is_current and bool(told.asked) and not told.problems and not told.doubts


def ask(draft: Draft, preview: Preview, request: SubmissionRequest) -> None:
    """Ask the cluster and keep the answer. What our own checks refuse is not asked at all."""
    if preview.problems:
        return
    _keep(draft, dry_run.dry_run(preview, request), preview, request)


def carry_over(
    draft: Draft, attempt: Attempt, preview: Preview, request: SubmissionRequest
) -> None:
    """A copy of what the cluster refused begins with the refusal at its fields."""
    # Its name is another one already.
    refused = tuple(p for p in map(Problem.from_stored, attempt.refusal) if p.path != "name")
    if refused:
        _keep(draft, DryRunResult(problems=refused), preview, request, at=attempt.ended_at)


def last_dry_run(
    draft: Draft | None, preview: Preview, request: SubmissionRequest
) -> LastDryRun | None:
    """What was said to the draft last. An objection holds until its field is changed.

    One without a field, and doubt, hold until anything is.
    """
    kept: dict[str, Any] = draft.last_dry_run if draft else {}
    at = parse_datetime(kept["at"]) if kept else None
    if at is None:
        return None
    is_current = bool(kept["asked_about"] == _fingerprint(preview, request))
    holds = [
        problem
        for problem, was in ((Problem.from_stored(p), p["was"]) for p in kept["problems"])
        if is_current or (problem.path and _now(problem, preview, request) == was)
    ]
    told = DryRunResult(tuple(holds), tuple(kept["asked"]), tuple(kept["doubts"]))
    return LastDryRun(at, kept["cluster"], told, is_current)


def _keep(
    draft: Draft,
    told: DryRunResult,
    preview: Preview,
    request: SubmissionRequest,
    at: datetime | None = None,
) -> None:
    draft.last_dry_run = {
        "at": (at or db_now()).isoformat(),
        "cluster": preview.cluster.name if preview.cluster else "",
        "asked_about": _fingerprint(preview, request),
        "asked": list(told.asked),
        "doubts": list(told.doubts),
        "problems": [
            problem.as_stored() | {"was": _now(problem, preview, request)}
            for problem in told.problems
        ],
    }
    # The draft may have become a workload, or have been discarded, while the cluster was asked.
    Draft.objects.filter(pk=draft.pk).update(last_dry_run=draft.last_dry_run)


def _now(problem: Problem, preview: Preview, request: SubmissionRequest) -> Any:
    """The value that an objection is about, as it is now."""
    if problem.path == "name":
        return request.name
    return preview.resolution.plain.get(f"{problem.role}.{field_of(problem.path)}")


def _fingerprint(preview: Preview, request: SubmissionRequest) -> str:
    """Of all that the cluster sees: who said a value does not matter there."""
    seen = [
        request.name,
        str(request.project_id),
        str(request.cluster_id),
        preview.framework,
        preview.configuration,
        preview.resolution.plain,
    ]
    text = json.dumps(seen, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
