"""Rows of many workloads that were made and let go, and the manifests that belong to them."""

import json
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench import kubernetes_bed, organisation, rules
from bench.kubernetes_world import WORKERS
from bench.organisation import Organisation
from gangline.access.actor import Actor
from gangline.clusters.connections import driver_for
from gangline.db.clock import db_now
from gangline.drivers.base import AttemptRef
from gangline.drivers.kubernetes import manifests
from gangline.drivers.kubernetes.jobs import INTENT, RUN
from workloads import refs
from workloads.models import Attempt, CreateState, Workload
from workloads.services import bodies, submission

IMAGE = "registry.example/training:1"
BATCH = 200


def prepare(path: str, count: int) -> dict[str, Any]:
    """Inside: rows of ``count`` released workloads that nobody has seen yet, and their manifests.

    The manifests are lines of JSON in the file that is named in the answer, oldest first.
    """

    access = kubernetes_bed.access(path, "restricted")
    world = organisation.make(access)
    user = world.by_name[organisation.ADMINISTRATOR]
    body = rules.usual_body("sample", world.projects[0].pk, str(world.cluster.pk))
    body["spec"] |= {"image": IMAGE, "numWorkers": WORKERS}
    asked = bodies.read(user, body)
    sample = submission.submit(actor=Actor(user=user, channel="api"), request=asked).workload
    attempt = Attempt.objects.get(workload=sample)
    made = Path(path).with_name("manifests.jsonl")
    now = db_now()
    with made.open("w") as lines:
        for start in range(0, count, BATCH):
            pairs = [
                _rows(sample, attempt, world, number, now)
                for number in range(start, min(start + BATCH, count))
            ]
            Workload.objects.bulk_create([workload for workload, _ in pairs])
            Attempt.objects.bulk_create([attempt for _, attempt in pairs])
            for workload, one in pairs:
                lines.write(json.dumps(_manifest(refs.attempt_ref(workload, one))) + "\n")
    sample.delete()
    return {
        "cookie": organisation.cookie(organisation.ADMINISTRATOR),
        "manifests": str(made),
        "install": refs.installation_id(),
    }


def _rows(
    sample: Workload, attempt: Attempt, world: Organisation, number: int, now: datetime
) -> tuple[Workload, Attempt]:
    """A workload like the sample, and an attempt whose object was made and let go."""
    project = world.projects[number % len(world.projects)]
    created = now - timedelta(hours=1) + timedelta(seconds=number / 10)
    workload = Workload(**_values(sample))
    workload.pk, workload.name, workload.created_at = uuid.uuid4(), f"w{number:05}", created
    workload.project, workload.project_name = project, project.name
    workload.phase = workload.status = "Pending"
    workload.phase_since, workload.due_at = created, None
    one = Attempt(**{k: v for k, v in _values(attempt).items() if k != "id"})
    one.workload, one.created_at, one.sent_at = workload, created, created
    one.rendered = driver_for(world.cluster).render(refs.submission_of(workload, attempt.values))
    one.create_state, one.create_answered, one.released = CreateState.SEEN, True, True
    one.observed_state = "Pending"
    return workload, one


def _values(row: Workload | Attempt) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def _manifest(ref: AttemptRef) -> dict[str, Any]:
    """What the product makes, after the product has let it go."""

    made = manifests.job(replace(ref, namespace=ref.rendered["namespace"]))
    made["metadata"]["annotations"][INTENT] = RUN
    made["spec"]["runPolicy"]["suspend"] = False
    return made
