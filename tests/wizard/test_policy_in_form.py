"""What a policy says is seen at the field, and cannot be got round (AC-F06, R28, R29)."""

import pytest

from gangline.audit.models import AuditEntry
from gangline.clusters import storage
from gangline.clusters.models import Cluster
from gangline.organization.models import Department, Project
from gangline.policies.services import save
from gangline.resources.services import make
from tests.support.forms import Filler
from tests.support.world import FACTS, World
from workloads.models import Workload

POLICY = """
defaults:
  worker:
    compute: {cpuMemoryRequest: 512M}
rules:
  worker:
    numWorkers: {min: 1, max: 4}
    backoffLimit: {max: 3}
    terminationGracePeriodSeconds: {canEdit: false}
    workingDir: {options: [/home, {value: /srv, displayed: The server folder}]}
"""


@pytest.fixture
def governed(filler: Filler, world: World) -> Filler:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    filler.fill()
    return filler


def test_a_default_shows_its_scope_and_its_bytes(governed: Filler) -> None:
    page = governed.get("workers").page
    field = page.one(data_testid="f-worker.compute.cpuMemoryRequest")
    assert page.value("worker.compute.cpuMemoryRequest") == "512"
    assert "Default of project vision" in field.text
    assert "= 512 000 000 bytes" in field.text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_range_shows_its_scope_and_stays_editable(governed: Filler) -> None:
    page = governed.get("workers").page
    assert "1 to 4 pods, set by project vision" in page.one(data_testid="f-worker.numWorkers").text
    assert page.has(data_testid="lock-worker.numWorkers")
    answer = governed.post("workers", {"worker.numWorkers": "5"})
    assert answer.status == 422
    shown = answer.page.one(data_testid="f-worker.numWorkers").text
    assert "Number of workers must be between 1 and 4 (set by project vision)" in shown
    assert "You entered 5." in shown


def test_a_fixed_field_can_be_read_but_not_posted(governed: Filler) -> None:
    page = governed.get("workers").page
    control = page.one(id="f-worker-terminationGracePeriodSeconds")
    assert "readonly" in control.attributes
    assert "name" not in control.attributes
    assert control.attributes["value"] == "30 seconds"
    hint = page.one(id="f-worker-terminationGracePeriodSeconds-h")
    assert "Fixed by project vision" in hint.text
    assert hint.attributes["id"] in control.attributes["aria-describedby"]


def test_a_forged_value_of_a_fixed_field_is_ignored_and_written_down(governed: Filler) -> None:
    """AC-F06."""
    forged = {"worker.terminationGracePeriodSeconds": "7"}
    assert governed.post("workers", forged).status == 303
    entry = AuditEntry.objects.get(object_type="draft", result="denied")
    assert entry.detail == {"fields": ["worker.terminationGracePeriodSeconds"]}
    governed.post("review", go="create")
    effective = Workload.objects.get().attempts.get().effective
    assert effective["worker.terminationGracePeriodSeconds"] == {
        "value": 30,
        "source": {"kind": "fixed", "name": "project vision"},
    }


def test_options_become_a_choice_and_what_was_typed_before_stays(
    filler: Filler, world: World
) -> None:
    filler.fill()
    filler.post("workers", {"worker.workingDir": "/elsewhere"}, go="apply")
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = filler.get("workers").page
    control = page.one(id="f-worker-workingDir")
    assert [o.text for o in control.inside] == [
        "Not set",
        "/home",
        "The server folder",
        "/elsewhere (not allowed)",
    ]
    assert page.value("worker.workingDir") == "/elsewhere"
    assert filler.post("workers").status == 422


def test_the_explanation_is_a_page_that_works_without_scripts(governed: Filler) -> None:
    went = governed.post("workers", go="explain:worker.numWorkers")
    assert went.location == f"{governed.url('workers')}?explain=worker.numWorkers"
    page = governed.get("workers", explain="worker.numWorkers").page
    assert page.has(data_dialog_content="")
    html = page.html
    assert "Why is Number of workers limited?" in html
    assert "Project vision allows at most 4 pods." in html
    assert "Ask: head" in html
    rows = [e.text for e in page.elements if e.tag == "tr"]
    assert rows[1].startswith("Project vision")


def test_whoever_may_change_the_policy_gets_the_way_there(world: World) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    page = Filler(world, "administrator").get("setup", explain="worker.numWorkers").page
    links = [e.attributes["href"] for e in page.elements if e.tag == "a"]
    assert f"/policies/{world.vision.scope_id}" in links or (
        f"/policies/{world.nlp.scope_id}" in links
    )


@pytest.mark.parametrize("path", ["worker.nothing", "nothing", "workload.name", ""])
def test_there_is_no_explanation_of_what_is_no_field(governed: Filler, path: str) -> None:
    expected = 404 if path else 200
    assert governed.get("workers", explain=path).status == expected


def test_a_framework_that_the_policy_forbids_is_shown_but_blocked(
    filler: Filler, world: World
) -> None:
    save(
        actor=world.actor("administrator"),
        scope=world.vision.scope,
        text="rules:\n  worker:\n    distributedFramework: {options: [XGBoost]}\n",
    )
    filler.post("setup", {"workload.projectId": str(world.vision.pk)}, go="apply")
    page = filler.get("setup").page
    assert page.one(value="MPI").attributes["aria-disabled"] == "true"
    assert "Not allowed by policy." in page.html
    forged = filler.post("setup", {"workload.name": "digits", "worker.distributedFramework": "MPI"})
    assert forged.status == 422
    assert "set by project vision" in forged.page.one(data_testid="problem-summary").text


def test_a_copied_value_of_a_fixed_field_is_left_out_with_a_notice(
    filler: Filler, world: World
) -> None:
    filler.fill()
    filler.post("workers", {"worker.terminationGracePeriodSeconds": "60"})
    filler.post("review", go="create")
    workload = Workload.objects.get()
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=POLICY)
    went = filler.client.post("/workloads/drafts", {"from": str(workload.pk)})
    page = filler.client.get(went.headers["Location"]).content.decode()
    assert "Removed by policy: Grace period" in page


def test_e5_what_follows_another_field_is_told_with_a_save_until_it_is_typed(
    filler: Filler, world: World
) -> None:
    text = """
defaults: {worker: {compute: {cpuCoreLimit: 16, cpuMemoryLimit: 4G}}}
rules:
  worker:
    compute:
      cpuCoreRequest: {defaultFrom: {field: compute.cpuCoreLimit, factor: 0.5}, min: 1}
      cpuMemoryRequest: {defaultFrom: {field: compute.cpuMemoryLimit}}
  master:
    compute:
      cpuCoreRequest: {defaultFrom: {field: compute.cpuCoreLimit, factor: 0.25}}
"""
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    filler.fill()
    cores, memory = "worker.compute.cpuCoreRequest", "worker.compute.cpuMemoryRequest"
    assert filler.get("workers").page.value(cores) == "8"
    posts = [{"worker.compute.cpuCoreLimit": "8"}, {"worker.compute.cpuMemoryLimit": "2"}]
    for changes, shown in zip(posts, ("4000", "2000"), strict=True):
        answer = filler.post("workers", changes, go="autosave").response.json()
        values = answer["values"]
        assert values[cores]["text"] == "4"
        assert (values[memory]["text"], values[memory]["unit"]) == (shown, "M")
    assert filler.get("workers").page.value(cores) == "4"
    typed = filler.post("workers", {cores: "6"}, go="autosave").response.json()
    assert set(typed["values"]) == {memory}
    filler.post("workers", {"worker.compute.cpuCoreLimit": "12"}, go="autosave")
    assert filler.get("workers").page.value(cores) == "6"
    own = {"master.different": "on", "master.compute.cpuCoreLimit": "2"}
    answer = filler.post("master", own, go="autosave").response.json()
    assert answer["values"]["master.compute.cpuCoreRequest"]["placeholder"] == "0.5"


@pytest.fixture
def elsewhere(world: World) -> None:
    """The cluster has nodes and storage classes, and takes any image."""
    facts = {**FACTS, "runtimes": []}
    Cluster.objects.update(kind="kubernetes", host_id="", config={}, facts=facts)
    names = ("fast", "slow")
    storage.store(Cluster.objects.get(), [{"name": n, "provisioner": "csi.example"} for n in names])


def test_e3_a_card_with_another_image_is_blocked_with_the_reason(
    filler: Filler, world: World, elsewhere: None
) -> None:
    text = """
rules:
  worker:
    image: {required: true, options: [{value: "reg/ddp:1.4", displayed: "DDP 1.4"}]}
    imagePullPolicy: {canEdit: false}
"""
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    for name, image in (("approved", "reg/ddp:1.4"), ("homemade", "reg/mine:1")):
        make("environment", scope=world.vision.scope, name=name, values={"image": image})
    filler.post("setup", {"workload.name": "digits"})
    page = filler.get("workers").page
    cards = [e for e in page.elements if e.attributes.get("class") == "card"]
    approved, homemade = (
        next(card for card in cards if card.text.startswith(name))
        for name in ("approved", "homemade")
    )
    assert "data-blocked" not in approved.attributes
    assert "data-blocked" in homemade.attributes
    assert "reg/ddp:1.4 (set by project vision)" in homemade.text
    (why,) = page.all(aria_label="Why is homemade not available?")
    assert why.attributes["value"] == "explain:worker.image"


def test_e4_volumes_by_one_pattern_and_no_other_storage(
    filler: Filler, world: World, elsewhere: None
) -> None:
    text = """
rules:
  worker:
    storage:
      hostPath: {instances: {canAdd: false}}
      nfs: {instances: {canAdd: false}}
      s3: {instances: {canAdd: false}}
      pvc:
        attributes:
          path: {options: [{value: /data}, {value: /ckpt}]}
          claimInfo: {storageClass: {options: [{value: fast}]}}
"""
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    filler.post("setup", {"workload.name": "digits"})
    filler.post("workers", go="add:worker.storage.pvc")
    page = filler.get("workers").page

    def offered(attribute: str) -> list[str]:
        selects = [e for e in page.elements if e.tag == "select"]
        (control,) = [e for e in selects if e.attributes["name"].endswith(attribute)]
        return [e.text for e in control.inside]

    assert offered(".claimInfo.storageClass") == ["Cluster’s default", "fast"]
    assert offered(".path") == ["Choose…", "/data", "/ckpt"]
    types = filler.get("workers", new="worker.data").page
    closed = [e.text for e in types.elements if "data-blocked" in e.attributes]
    # Host paths need a policy of the installation or the cluster anyway.
    assert closed == [
        "NFS Not allowed by project vision.",
        "S3 Not allowed by project vision.",
        "Host path Needs a policy that allows it.",
    ]


def test_v10_a_node_type_is_required_and_only_those_of_all_scopes_are_offered(
    filler: Filler, elsewhere: None
) -> None:
    Department.objects.update(node_types=["a100", "h100"])
    Project.objects.update(node_types=["h100", "v100"])
    filler.post("setup", {"workload.name": "digits"})
    page = filler.get("workers").page
    field = page.one(data_testid="f-worker.nodeType")
    assert "(required)" in field.text
    control = page.one(id="f-worker-nodeType")
    values = [e.attributes["value"] for e in control.inside if "disabled" not in e.attributes]
    assert [value for value in values if value] == ["h100"]
    answer = filler.post("workers")
    assert answer.status == 422
    assert "f-worker-nodeType" in answer.page.links
