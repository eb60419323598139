"""Row 107 in the form: what belongs to another project looks like what is not there."""

from typing import Any
from uuid import uuid4

import pytest

from gangline.resources.services import make
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Workload

CREDENTIAL = {"keyValuePairs": [{"key": "token", "value": "x"}]}
REPOSITORY = {"repository": "https://git.example/a", "path": "/a"}


@pytest.mark.parametrize("kind", ["environment", "compute", "data"])
def test_assets_of_another_project_are_none(filler: Filler, world: World, kind: str) -> None:
    place: dict[str, Any] = {"scope": world.nlp.scope, "name": "theirs"}
    theirs = {
        "environment": lambda: make("environment", values={"image": IMAGE, "args": "A"}, **place),
        "compute": lambda: make("compute", values={"compute.cpuCoreRequest": 7}, **place),
        "data": lambda: make("git", values={"storage.git": [REPOSITORY]}, **place),
    }[kind]()
    filler.fill()
    seen = []
    for key in (theirs.pk, uuid4()):
        answer = filler.post("workers", {f"worker.{kind}~asset": str(key)})
        page = filler.get("workers").page
        assert "theirs" not in page.html
        assert filler.get("workers", show=str(key)).status == 404
        seen.append((answer.status, page.value(f"worker.{kind}~asset")))
    assert seen[0] == seen[1]
    filler.post("review", go="create")
    given = Workload.objects.get().given
    assert "worker.args" not in given
    assert "worker.storage.git" not in given
    assert given.get("worker.compute.cpuCoreRequest", {}).get("value") != 7


def test_templates_of_another_project_are_none(filler: Filler, world: World) -> None:
    theirs = make(
        "template",
        scope=world.nlp.scope,
        name="theirs",
        framework="XGBoost",
        configuration="workersAndMaster",
        values={"worker.args": "A"},
    )
    filler.fill()
    for key in (theirs.pk, uuid4()):
        filler.post("setup", {"workload.templateId": str(key)})
        assert "theirs" not in filler.get("setup").page.html
        assert filler.get("workers").page.value("worker.args") == ""
