"""A card of a template says when nothing here can run it, and then offers no "Run now"."""

import pytest

from assets.models import Template
from assets.selectors.fitness import reason_against
from gangline.clusters.models import Cluster
from gangline.resources.services import make
from gangline.scopes.selectors import tenant_scope
from tests.support.world import IMAGE, World
from workloads.services.admission import Standing
from workloads.services.room import room_in_words

pytestmark = pytest.mark.django_db
RUN, CANNOT = "Run now", "Cannot run now: "


def _template(framework: str, image: str) -> Template:
    made: Template = make(
        "template",
        scope=tenant_scope(),
        name=framework.lower(),
        framework=framework,
        configuration="workersAndMaster" if framework == "XGBoost" else "workersOnly",
        values={"worker.image": image, "worker.command": "python train.py"},
    )
    return made


def _page(world: World) -> str:
    client = world.client("researcher-vision")
    return client.get("/templates").content.decode()


def test_what_fits_may_be_run_at_once(world: World) -> None:
    _template("XGBoost", IMAGE)
    assert RUN in (page := _page(world))
    assert CANNOT not in page


def test_without_its_framework_the_machines_reason_is_shown(world: World) -> None:
    _template("JAX", IMAGE)
    assert f"{CANNOT}jax cannot be imported." in (page := _page(world))
    assert RUN not in page


def test_without_the_framework_in_its_runtime_that_is_said(world: World) -> None:
    _template("PyTorch", "local://system")
    assert f"{CANNOT}local://system has no PyTorch." in _page(world)


def test_before_the_first_look_at_the_machine_nothing_is_ruled_out(world: World) -> None:
    Cluster.objects.update(facts={})
    _template("JAX", IMAGE)
    assert CANNOT not in _page(world)


def test_a_cluster_without_runtimes_runs_none_of_them(world: World) -> None:
    offer = {"framework": "XGBoost", "available": True, "runtimes": []}
    facts = {"version": "v1.36.3", "frameworks": [offer], "runtimes": []}
    cluster = Cluster(name="lab", kind="kubernetes", facts=facts)
    template = _template("XGBoost", IMAGE)
    assert reason_against(template, [cluster]) == f"It uses {IMAGE}, a runtime of one machine."
    template.values["worker.image"] = "registry.example/xgb:1"
    assert reason_against(template, [cluster]) == ""
    local = world.vision.cluster
    assert reason_against(template, [local, cluster]) == ""


def test_a_cluster_says_what_it_has_in_all(world: World) -> None:
    gpus = ["nvidia.com/gpu"] * 32
    capacity = {"admission": "theirs", "cpus": 256.0, "memory": 1, "gpus": gpus}
    assert room_in_words(Standing(Cluster(capacity=capacity))) == "256 cores · 32 GPUs"
    assert (
        room_in_words(Standing(Cluster(capacity={**capacity, "gpus": []}))) == "256 cores · no GPU"
    )
    assert room_in_words(Standing(Cluster(capacity={}))) == ""
