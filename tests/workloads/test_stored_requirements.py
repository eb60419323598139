"""Requirements of nodes that were stored before they had names."""

from importlib import import_module

import pytest
from django.apps import apps

from assets.models import Template
from gangline.resources.services import make
from gangline.spec.sources import Value
from gangline.spec.typed import typed
from gangline.spec.workload import WorkerSpec
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.models import Attempt, Workload

PATH = "worker.nodeAffinityRequired"
OLD = [{"key": "example.com/rack", "operator": "In", "values": "a, b"}]


@pytest.mark.django_db
def test_requirements_of_then_have_the_names_that_they_would_get_now(world: World) -> None:
    made = ApiClient(world, "researcher-vision").post("workloads/distributed", world.body())
    assert made.status_code == 202
    stored = Value(OLD).to_json() | {"items": [{"key": OLD[0]["key"], "source": {"kind": "you"}}]}
    Workload.objects.update(given={PATH: stored})
    Attempt.objects.update(effective={PATH: stored})
    template = make(
        "template",
        scope=world.vision.scope,
        name="t",
        framework="PyTorch",
        configuration="workersOnly",
        values={},
    )
    Template.objects.update(values={PATH: OLD})
    for app in ("workloads.migrations.0018", "assets.migrations.0009"):
        import_module(f"{app}_named_requirements").forwards(apps, None)
    template.refresh_from_db()
    values = [Workload.objects.get().given[PATH], Attempt.objects.get().effective[PATH]]
    for items in (*(one["value"] for one in values), template.values[PATH]):
        assert items == [{"name": "example.com-rack", **OLD[0]}]
        assert typed(WorkerSpec, {"nodeAffinityRequired": items}).node_affinity_required
    assert [one["items"][0]["key"] for one in values] == ["example.com-rack"] * 2
