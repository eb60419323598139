"""What a judged submission fixes for good: an attempt's spec and its workload's columns."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from gangline.clusters.connections import driver_for
from gangline.spec.problems import Role
from workloads import refs
from workloads.models import Workload
from workloads.services.asking import Preview
from workloads.services.judging import stored


@dataclass(frozen=True, slots=True)
class Frozen:
    """What an attempt runs; ``spec_hash`` is its fingerprint (R21a)."""

    effective: dict[str, Any]
    rendered: Any
    spec_hash: str


def columns_of(judged: Preview) -> dict[str, Any]:
    """Columns of a workload that follow from its specification."""
    worker = judged.resolution.values(Role.WORKER)
    return {
        "num_workers": judged.totals.workers,
        "pods_total": judged.totals.pods,
        "gpus": judged.totals.gpus,
        "backoff_limit": worker.get("backoffLimit") or 0,
        "auto_delete_seconds": worker.get("autoDeletionTimeAfterCompletionSeconds"),
    }


def freeze(workload: Workload, judged: Preview) -> Frozen:
    """The specification in the form of the workload's cluster. ``workload`` has `columns_of`."""
    effective = stored(judged.resolution)
    rendered = driver_for(workload.cluster).render(refs.submission_of(workload, effective))
    text = json.dumps([effective, rendered], sort_keys=True, separators=(",", ":"), default=str)
    return Frozen(effective, rendered, hashlib.sha256(text.encode()).hexdigest())
