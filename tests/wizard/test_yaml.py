"""The draft as YAML beside the form: both ways, with comments, unknown keys and broken texts."""

from typing import Any

import pytest

from gangline.lib import yaml_text
from gangline.policies.services import save as save_policy
from tests.api.conftest import researcher
from tests.support.api import ApiClient
from tests.support.forms import Answer, Filler
from tests.support.world import IMAGE, World
from workloads.models import Draft, Workload

__all__ = ["researcher"]


def shown(filler: Filler) -> str:
    page = filler.get("workers/yaml").page
    return page.one(data_testid="yaml").raw.removeprefix("\n")


def write(filler: Filler, text: str, go: str = "") -> Answer:
    return filler.post("workers/yaml", {"yaml": text}, go=go)


def given(world: World, **spec: Any) -> str:
    return yaml_text.write(world.spec_body(**spec))


def test_the_text_is_what_the_api_takes(filler: Filler, researcher: ApiClient) -> None:
    filler.fill()
    answer = researcher.raw("workloads/distributed", shown(filler), "application/yaml")
    assert answer.status_code == 202, answer.content
    by_text = Workload.objects.get()
    Workload.objects.update(name="other")
    filler.post("review", go="create")
    by_form = Workload.objects.get(name="digits")
    assert by_text.attempts.get().effective == by_form.attempts.get().effective


def test_what_is_written_is_in_the_form_and_is_created(filler: Filler, world: World) -> None:
    filler.fill()
    assert write(filler, given(world, numWorkers=3, backoffLimit=2)).status == 303
    page = filler.get("workers").page
    assert page.value("worker.numWorkers") == "3"
    assert page.value("worker.compute.cpuMemoryRequest") == "256"
    filler.post("review", go="create")
    said = Workload.objects.get().given
    assert said["worker.backoffLimit"]["value"] == 2


def test_af17_an_edit_in_the_form_keeps_comments_order_quotes_and_unknown_keys(
    filler: Filler, world: World
) -> None:
    """AC-F17."""
    filler.fill()
    text = "# who: me\n" + given(world).replace(
        "numWorkers: 2", "# as many as fit\n  numWorkers: 2 # two"
    ).replace(f"image: {IMAGE}", f"image: '{IMAGE}'").replace(
        "  compute:", "  flavour: 'mild' # not ours\n  compute:"
    )
    write(filler, text)
    assert shown(filler) == text
    filler.post("workers", {"worker.numWorkers": "4"})
    assert shown(filler) == text.replace("numWorkers: 2 #", "numWorkers: 4 #")


def test_an_unknown_key_keeps_it_from_being_created_until_it_is_gone(
    filler: Filler, world: World, researcher: ApiClient
) -> None:
    filler.fill()
    text = given(world, flavour="mild")
    write(filler, text)
    assert "flavour" in filler.get("workers").page.html
    refused = filler.post("review", go="create")
    assert refused.status == 422
    by_api = researcher.raw("workloads/distributed", text, "application/yaml").json()
    assert by_api["problems"][0]["path"] == "flavour"
    assert "flavour is not a known field" in refused.page.html
    assert not Workload.objects.exists()
    write(filler, text.replace("  flavour: mild\n", ""))
    assert filler.post("review", go="create").status == 303


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"numWorkers": "many"}, "numWorkers"),
        ({"numWorkers": [1]}, "numWorkers"),
        ({"environmentVariables": [{"name": "A", "value": 5}]}, "environmentVariables.0.value"),
        ({"environmentVariables": ["A"]}, "environmentVariables.0"),
        ({"distributedFramework": "Horovod"}, "distributedFramework"),
        ({"terminationGracePeriodSeconds": "long"}, "terminationGracePeriodSeconds"),
        ({"compute": 5}, "compute"),
    ],
)
def test_what_the_api_refuses_the_form_refuses(
    filler: Filler, world: World, researcher: ApiClient, spec: dict[str, Any], path: str
) -> None:
    filler.fill()
    text = given(world, **spec)
    by_api = researcher.raw("workloads/distributed", text, "application/yaml").json()["problems"]
    assert path in [p["path"] for p in by_api]
    write(filler, text)
    assert filler.post("review", go="create").status == 422
    assert not Workload.objects.exists()
    assert shown(filler) == text


def test_a_project_that_cannot_be_chosen_is_not_replaced_by_another(
    filler: Filler, world: World
) -> None:
    filler.fill()
    write(filler, yaml_text.write({**world.body(), "projectId": str(world.nlp.pk)}))
    assert filler.post("review", go="create").status == 422
    assert not Workload.objects.exists()


def test_a_policy_holds_for_the_text(filler: Filler, world: World) -> None:
    text = "rules: {worker: {numWorkers: {max: 2}}}"
    save_policy(actor=None, scope=world.installation.scope, text=text, version=None)
    filler.fill()
    page = filler.get("workers/yaml")
    assert not page.page.has(data_line="6")
    write(filler, given(world, numWorkers=3))
    marked = filler.get("workers/yaml").page
    line = given(world, numWorkers=3).split("\n").index("  numWorkers: 3") + 1
    assert marked.has(data_line=str(line))
    assert filler.post("review", go="create").status == 422


def test_a_broken_text_is_kept_and_the_form_stays_as_it_was(filler: Filler, world: World) -> None:
    filler.fill()
    write(filler, given(world, numWorkers=3))
    broken = "spec:\n  image: a\n  image: b\n"
    answer = write(filler, broken)
    assert answer.status == 422
    assert answer.page.has(data_line="3")
    assert shown(filler) == broken
    assert filler.get("workers").page.value("worker.numWorkers") == "3"
    assert filler.post("review", go="create").status == 303


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: &a [x, x]\nb: [*a, *a]\n", 1),
        ("name: x\nspec: !!python/object/apply:os.system [id]\n", 2),
        ("spec:\n  <<: {image: a}\n", 2),
        ("name: a\n---\nname: b\n", 2),
        ("spec: {numWorkers: 010}\n", 1),
        ("spec: " + "[" * 2_000 + "\n", 1),
    ],
    ids=["anchor", "tag", "merge", "two", "octal", "deep"],
)
def test_rows_32_to_39_what_is_no_plain_yaml_is_refused_with_its_line(
    filler: Filler, text: str, line: int
) -> None:
    filler.fill()
    answer = write(filler, text)
    assert answer.status == 422
    assert answer.page.has(data_line=str(line))
    assert filler.get("workers").page.value("worker.command") == "python train.py"


def test_a_text_that_is_too_long_is_refused_and_not_stored(filler: Filler) -> None:
    filler.fill()
    before = Draft.objects.get().inputs
    answer = write(filler, "# " + "x" * yaml_text.LONGEST)
    assert answer.status == 422
    assert Draft.objects.get().inputs == before


def test_a_master_of_its_own_is_created_as_by_the_api(
    filler: Filler, world: World, researcher: ApiClient
) -> None:
    filler.fill()
    body = {**world.body(), "masterSpec": {"image": IMAGE, "command": "python lead.py"}}
    body["spec"]["args"] = "--fast"
    researcher.post("workloads/distributed", body)
    by_api = Workload.objects.get()
    Workload.objects.update(name="other")
    write(filler, yaml_text.write(body))
    assert filler.post("review", go="create").status == 303
    by_form = Workload.objects.get(name="digits")
    assert by_form.attempts.get().effective == by_api.attempts.get().effective
    assert by_form.master == "own"


def test_a_master_that_follows_still_follows_after_a_comment(filler: Filler) -> None:
    filler.fill()
    filler.post("master", {"master.different": "on", "master.compute.cpuCoreRequest": "0.25"})
    write(filler, "# only a comment\n" + shown(filler))
    filler.post("workers", {"worker.command": "python other.py"})
    filler.post("review", go="create")
    workload = Workload.objects.get()
    assert workload.master == "differences"
    assert workload.attempts.get().effective["master.command"]["value"] == "python other.py"


def test_another_tab_is_not_overwritten(filler: Filler, world: World) -> None:
    filler.fill()
    other = Filler(world, tab="tab-2")
    other.draft = filler.draft
    page = other.get("workers/yaml").page
    form = other.get("workers").page
    filler.post("workers", {"worker.numWorkers": "2"})
    late = other.post("workers/yaml", {"yaml": given(world)}, page=page)
    assert late.status == 409
    assert other.post("workers/yaml", {"yaml": given(world)}, page=page, go="mine").status == 303
    filler.post("workers", {"worker.numWorkers": "1"})
    assert form.value("worker.numWorkers") == "1"


def test_a_form_page_of_another_tab_is_late_after_the_text(filler: Filler, world: World) -> None:
    filler.fill()
    other = Filler(world, tab="tab-2")
    other.draft = filler.draft
    form = other.get("workers").page
    write(filler, given(world, numWorkers=3))
    assert other.post("workers", page=form).status == 409
