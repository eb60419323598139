"""The fields of clusters in a real browser: rows of several cells, wide and on a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gangline.clusters import storage
from gangline.clusters.models import StorageClass
from gangline.drivers.classes import note
from gangline.drivers.local.driver import LocalDriver
from gangline.resources.registry import get
from gangline.resources.services import update
from gangline.settings.catalogue import TOLERATIONS, TOPOLOGY
from tests.e2e.test_form import reach, start, unfold
from tests.support.screens import violations
from tests.support.settings import turn
from tests.support.training_form import everything_is_saved
from tests.support.world import World

Opener = Callable[..., Page]
LIST = "worker.tolerations"
VARIABLES = "worker.environmentVariables"
LABELS = ["Name", "Key", "Operator", "Value", "Effect", "Seconds"]
VOLUMES = "worker.storage.pvc"


@pytest.fixture(autouse=True)
def everywhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster that has every field, with every one of them switched on."""
    turn(TOLERATIONS, True)
    turn(TOPOLOGY, True)
    monkeypatch.setattr(LocalDriver, "unsupported", {})


@pytest.mark.parametrize("width", [390, pytest.param(1440, marks=pytest.mark.thorough)])
def test_a_toleration_is_added_and_kept(open_page: Opener, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 900})
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("placed")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    page.get_by_role("button", name="Add toleration").click()
    row = page.get_by_test_id(f"f-{LIST}").locator(".rows-item")
    expect(row).to_have_count(1)
    expect(row.locator("label")).to_have_text(LABELS)
    for label in row.locator("label").all():
        expect(label).to_be_visible()
    row.get_by_label("Key, toleration 1").fill("nvidia.com/gpu")
    row.get_by_label("Operator, toleration 1").select_option("Exists")
    row.get_by_label("Effect, toleration 1").select_option("NoSchedule")
    row.get_by_label("Name, toleration 1").fill("gpus")
    page.locator("[name='worker.imagePullPolicy']").select_option("Always")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    assert violations(page) == []
    everything_is_saved(page)
    page.reload()
    expect(row.get_by_label("Operator, toleration 1")).to_have_value("Exists")
    expect(page.locator("[name='worker.imagePullPolicy']")).to_have_value("Always")


@pytest.mark.parametrize("width", [390, pytest.param(1440, marks=pytest.mark.thorough)])
def test_a_source_is_chosen_and_nothing_typed_is_lost(open_page: Opener, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 900})
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("sources")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    page.get_by_role("button", name="Add environment variable").click()
    row = page.get_by_test_id(f"f-{VARIABLES}").locator(".rows-item")
    row.get_by_label("Name, environment variable 1").fill("WANDB_API_KEY")
    row.get_by_label("Value, environment variable 1").fill("typed first")
    expect(row.get_by_label("ConfigMap, environment variable 1", exact=True)).to_be_hidden()
    row.get_by_label("Source, environment variable 1").select_option("ConfigMap")
    expect(row.get_by_label("Value, environment variable 1", exact=True)).to_be_hidden()
    row.get_by_label("ConfigMap, environment variable 1", exact=True).fill("wandb")
    row.get_by_label("Key in the ConfigMap, environment variable 1").fill("api-key")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    assert violations(page) == []
    everything_is_saved(page)
    page.reload()
    expect(row.get_by_label("Key in the ConfigMap, environment variable 1")).to_have_value(
        "api-key"
    )
    row.get_by_label("Source, environment variable 1").select_option("Value")
    expect(row.get_by_label("Value, environment variable 1")).to_have_value("typed first")


def test_without_scripts_every_source_can_be_filled_in(open_page: Opener) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("plain")
    page.get_by_role("button", name="Continue to workers").click()
    page.get_by_role("button", name="Add environment variable").click()
    row = page.get_by_test_id(f"f-{VARIABLES}").locator(".rows-item")
    row.get_by_label("Name, environment variable 1").fill("ALGO")
    row.get_by_label("Source, environment variable 1").select_option("ConfigMap")
    row.get_by_label("ConfigMap, environment variable 1", exact=True).fill("nccl")
    row.get_by_label("Key in the ConfigMap, environment variable 1").fill("algo")
    page.get_by_role("button", name="Add environment variable").click()
    expect(row.first.get_by_label("Key in the ConfigMap, environment variable 1")).to_have_value(
        "algo"
    )


@pytest.mark.parametrize("width", [390, pytest.param(1440, marks=pytest.mark.thorough)])
def test_acf11_a_topology_and_a_part_of_a_gpu_are_kept(
    open_page: Opener, world: World, width: int
) -> None:
    """What a choice rules out steps aside with what it holds, and comes back with it."""
    cluster = world.vision.cluster
    offered = {"suggestions": {"podAffinity.key": ["topology.kubernetes.io/zone"]}}
    cluster.facts = {**cluster.facts, "detail": {**cluster.facts.get("detail", {}), **offered}}
    cluster.save(update_fields=["facts"])
    page = open_page(viewport={"width": width, "height": 900})
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("together")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    key = page.get_by_role("combobox", name="Topology", exact=True)
    expect(page.locator(f"#{key.get_attribute('list')} option")).to_have_count(1)
    key.fill("topology.kubernetes.io/zone")
    page.locator("[name='worker.podAffinity.type']").select_option("Required")
    page.locator("[name='worker.compute.gpuDevicesRequest']").fill("1")
    portion = page.get_by_test_id("f-worker.compute.gpuPortionRequest")
    memory = page.get_by_test_id("f-worker.compute.gpuMemoryRequest")
    sharing = page.locator("[name='worker.compute.gpuRequestType']")
    expect(portion).to_be_hidden()
    sharing.select_option("portion")
    portion.get_by_role("textbox").fill("50")
    sharing.select_option("memory")
    expect(portion).to_be_hidden()
    memory.get_by_role("textbox").fill("900")
    everything_is_saved(page)
    page.reload()
    expect(portion).to_be_hidden()
    expect(memory).to_be_visible()
    sharing.select_option("portion")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    assert violations(page) == []
    everything_is_saved(page)
    page.reload()
    expect(key).to_have_value("topology.kubernetes.io/zone")
    expect(page.locator("[name='worker.podAffinity.type']")).to_have_value("Required")
    expect(portion.get_by_role("textbox")).to_have_value("50")
    expect(memory).to_be_hidden()


@pytest.mark.thorough  # `tests/forms/test_volume_rows.py` tells the rest
@pytest.mark.parametrize("width", [390, 1440])
def test_a_volume_is_described_kept_and_reviewed(open_page: Opener, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 900})
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("stored")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    page.get_by_role("button", name="Add volume").press("Enter")
    row = page.get_by_test_id(f"f-{VOLUMES}").locator(".rows-item")
    expect(row).to_have_count(1)
    expect(row.get_by_label("Name, volume 1", exact=True)).to_be_focused()
    page.keyboard.type("checkpoints")
    page.keyboard.press("Tab")
    page.keyboard.type("data")
    size = row.get_by_label("Size, volume 1", exact=True)
    size.fill("500")
    row.get_by_label("Unit of Size, volume 1").select_option("Gi")
    once = row.get_by_label("Access modes: Read-write by one node, volume 1")
    many = row.get_by_label("Access modes: Read-write by many nodes, volume 1")
    expect(once).to_be_checked()
    once.press("Space")
    many.press("Space")
    row.get_by_label("Ephemeral, volume 1").check()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.evaluate("scrollTo(0, 0)")  # the bar lies over what is below
    assert violations(page) == []
    everything_is_saved(page)
    page.reload()
    expect(size).to_have_value("500")
    expect(row.get_by_label("Unit of Size, volume 1")).to_have_value("Gi")
    expect(once).not_to_be_checked()
    expect(many).to_be_checked()
    # What is wrong stands at the row, and its control is marked.
    with page.expect_navigation():  # what is typed into the page that goes would go with it
        page.get_by_role("button", name="Continue to").click()
    path = row.get_by_label("Container path, volume 1")
    expect(path).to_have_attribute("aria-invalid", "true")
    expect(size).not_to_have_attribute("aria-invalid", "true")
    expect(row).to_contain_text("must be an absolute path")
    path.fill("/checkpoints")
    page.get_by_role("button", name="Review").first.click()
    page.wait_for_url("**/review*")
    line = page.get_by_role("row", name="Volume checkpoints")
    expect(line).to_contain_text(
        "/checkpoints · 500 GiB · Read-write by many nodes · File system · Ephemeral"
    )


def test_acf12_limits_are_told_at_their_fields(open_page: Opener) -> None:
    page = open_page()
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("limits")
    page.get_by_role("button", name="Continue to workers").click()
    page.wait_for_url("**/workers*")
    unfold(page, "ports")
    page.get_by_role("button", name="Add port").click()
    page.get_by_label("Tool, port 1").select_option("tensorboard")
    page.get_by_label("Custom node port, port 1").check()
    page.get_by_label("Node port, port 1", exact=True).fill("29999")
    page.locator('[name="worker.backoffLimit"]').fill("101")
    unfold(page, "terminationGracePeriodSeconds")
    page.locator('[name="worker.terminationGracePeriodSeconds"]').fill("301")
    page.get_by_role("button", name="Continue to").click()
    summary = page.get_by_test_id("problem-summary")
    expect(summary).to_be_focused()
    for words in ("30000", "32767", "0 and 100", "5 min"):
        expect(summary).to_contain_text(words)
    expect(page.get_by_label("Node port, port 1", exact=True)).to_have_value("29999")


@pytest.mark.thorough
def test_a_storage_class_is_chosen_by_keyboard(
    open_page: Opener, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the class asks, allows and limits is there at once, and the focus stays."""
    classes: list[dict[str, Any]] = [
        {"name": "fast", "provisioner": "csi.example", "default": True},
        {"name": "slow", "provisioner": "csi.example"},
    ]
    storage.store(world.cluster, classes)
    asked = [{"key": "tier", "display": "Tier", "required": True}]
    row = StorageClass.objects.get(name="slow")
    values = {"max_size": "100Gi", "read_write_once": False, "parameters": asked}
    update(get("storage_class"), actor=None, obj=row, values=values)
    world.cluster.refresh_from_db()
    rules = {"storageClasses": classes, "storageRules": world.cluster.storage}
    monkeypatch.setattr(LocalDriver, "field_notes", lambda *_, **__: {"storage.pvc": note(rules)})
    page = open_page()
    start(page, "stored")
    reach(page, page.get_by_role("button", name="Add volume"), most=300)
    page.keyboard.press("Enter")
    volume = page.get_by_test_id(f"f-{VOLUMES}").locator(".rows-item")
    expect(volume.get_by_label("Name, volume 1", exact=True)).to_be_focused()
    page.keyboard.type("checkpoints")
    chosen = volume.get_by_label("Storage class, volume 1")
    reach(page, chosen)
    page.keyboard.press("s")
    expect(chosen).to_have_value("slow")
    tier = volume.get_by_label("Tier, volume 1")
    expect(tier).to_be_visible()
    expect(chosen).to_be_focused()
    expect(volume).to_contain_text("At most 100 GiB.")
    expect(volume.get_by_label("Access modes: Read-write by one node, volume 1")).to_have_count(0)
    reach(page, tier)
    page.keyboard.type("cold")
    everything_is_saved(page)
    page.reload()
    expect(tier).to_have_value("cold")
    expect(chosen).to_have_value("slow")
    expect(volume.get_by_label("Name, volume 1", exact=True)).to_have_value("checkpoints")
    assert violations(page) == []
