"""What is said before a submission about clusters whose own scheduler admits."""

import pytest

from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from workloads.services.admission import Standing
from workloads.services.forecast import forecast
from workloads.services.slots import Need
from workloads.services.submission_types import Totals

LAB = {"admission": "cluster", "cpus": 64.0, "memory": 2**38, "gpus": []}


@pytest.mark.parametrize(
    ("there", "asked", "kind"),
    [(32, 40, "cannot"), (32, 32, "unknown"), (0, 8, "unknown"), (None, 8, "unknown")],
)
def test_only_what_exceeds_the_whole_cluster_is_certain(
    there: int | None, asked: int, kind: str
) -> None:
    """Nobody may have counted its GPUs; whether others hold some, its scheduler knows."""
    cluster = Cluster(name="lab", capacity=LAB | {"gpu_count": there})
    told = forecast(Standing(cluster), Project(name="vision"), Totals(gpus=asked), Need(()))
    assert told.kind == kind
