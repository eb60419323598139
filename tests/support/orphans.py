"""Objects on a bed that bear an installation's label and that no workload knows."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.kinds import KINDS
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import must

JOBS = KINDS["PyTorch"].resource


def marks(install: str, workload: str) -> dict[str, str]:
    """The labels that Gangline writes."""
    return {labels.INSTALL: install, labels.WORKLOAD: workload, labels.ATTEMPT: "1"}


def put(
    bed: Bed, namespace: str, name: str, marks: Mapping[str, str], *, runs: bool = False
) -> dict[str, Any]:
    """A job of three pods with two GPUs each, made by the bed's administrator."""
    container = {
        "name": "pytorch",
        "image": "registry.example/training:1",
        "resources": {"limits": {"nvidia.com/gpu": "2"}},
    }
    template = {"metadata": {"labels": dict(marks)}, "spec": {"containers": [container]}}
    body = {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": dict(marks)},
        "spec": {
            "runPolicy": {"suspend": not runs},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": template}},
        },
    }
    return dict(must(bed.client.create(JOBS, namespace, body)).body)


@contextmanager
def left_over(bed: Bed, install: str) -> Iterator[str]:
    """A training that runs and one that waits, both unknown; gives their namespace."""
    with bed.namespace("gangline") as namespace:
        put(bed, namespace, "resnet-night", marks(install, str(uuid.uuid4())), runs=True)
        put(bed, namespace, "forgotten", {labels.INSTALL: install})
        yield namespace
