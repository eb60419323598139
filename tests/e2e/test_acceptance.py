"""What the design promises of the form, of assets and of policies, each by the id of its check.

Checks that a walk of another module shows stand there; ``AC-…`` in a test's name finds them.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gangline.audit.models import AuditEntry
from gangline.drivers.local.driver import LocalDriver
from gangline.people.services import give
from gangline.policies.models import Policy
from gangline.policies.services import save
from gangline.resources.services import make
from tests.e2e.test_form import ARGS, WORKERS, fill_workers, press, start
from tests.support.api import ApiClient
from tests.support.forms import Filler
from tests.support.installation import BIN
from tests.support.training_form import CREATED, everything_is_saved
from tests.support.world import IMAGE, World
from workloads.models import Draft, Workload

Opener = Callable[..., Page]
COMPUTE = '[name="worker.compute.'
GRACE = "worker.terminationGracePeriodSeconds"
PROJECT = '[name="workload.projectId"]'
AWKWARD = ("$(id) `id` \\ 'q' \"dq\"", "línea 日本 🔑", "a\nb\n", "</script><b>", " ")


def problems(page: Page) -> list[str]:
    return page.get_by_test_id("problem-summary").get_by_role("link").all_inner_texts()


def test_acf06_acf08_acf14_another_project_and_what_a_policy_fixes(
    open_page: Opener, world: World
) -> None:
    admin = world.actor("administrator")
    save(
        actor=admin,
        scope=world.vision.scope,
        text=f"rules: {{worker: {{{GRACE[7:]}: {{canEdit: false}}}}}}",
    )
    save(actor=admin, scope=world.nlp.scope, text="rules: {worker: {numWorkers: {max: 2}}}")
    give(
        actor=None,
        user=world.people["researcher-vision"],
        role="researcher",
        scope=world.nlp.scope,
    )
    page = open_page()
    page.goto("/workloads/new")
    page.locator(PROJECT).select_option(str(world.vision.pk))
    everything_is_saved(page)
    page.locator('[name="workload.name"]').fill("digits")
    press(page, "Continue to workers", "workers")
    fill_workers(page)
    page.locator(WORKERS).fill("4")
    fixed = page.locator(f"#f-{GRACE.replace('.', '-')}")
    expect(fixed).not_to_be_editable()
    fixed.evaluate(f"e => {{ e.name = '{GRACE}'; e.value = '7'; }}")
    press(page, "Continue to master", "master")
    denied = AuditEntry.objects.filter(object_type="draft", result="denied")
    assert denied[0].detail == {"fields": [GRACE]}

    def choose(project: str) -> None:
        page.get_by_role("button", name="Set-up").first.click()
        page.wait_for_url("**/setup*")
        page.locator(PROJECT).select_option(project)
        everything_is_saved(page)
        page.get_by_role("button", name="Review").first.click()
        page.wait_for_url("**/review*")

    choose(str(world.nlp.pk))
    page.get_by_role("button", name="Create workload").click()
    (said,) = problems(page)
    assert "Number of workers" in said
    page.get_by_test_id("problem-summary").get_by_role("link").click()
    page.wait_for_url("**/workers*")
    expect(page.locator(WORKERS)).to_have_value("4")
    choose(str(world.vision.pk))
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    effective = Workload.objects.get().attempts.get().effective
    assert effective[GRACE] == {"value": 30, "source": {"kind": "fixed", "name": "project vision"}}
    assert effective["worker.numWorkers"]["value"] == 4
    theirs = {path.removeprefix("worker."): one["value"] for path, one in effective.items()}
    same = [path for path in effective if path.startswith("master.")]
    assert same
    assert all(effective[path]["value"] == theirs[path.removeprefix("master.")] for path in same)


LIMITS = {"backoffLimit": ("0", "101"), GRACE[7:]: ("301",), "numWorkers": ("0",)}


@pytest.mark.thorough  # `tests/wizard` walks them without a browser
def test_acf11_acf12_what_a_choice_hides_and_what_is_out_of_bounds(
    open_page: Opener, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalDriver, "unsupported", {})
    page = open_page()
    page.goto("/workloads/new")
    page.locator('[name="workload.name"]').fill("Digits")
    page.get_by_role("button", name="Continue to workers").click()
    expect(page.get_by_role("link", name="Name")).to_be_visible()
    page.locator('[name="workload.name"]').fill("digits")
    press(page, "Continue to workers", "workers")
    fill_workers(page)
    page.locator(f'{COMPUTE}gpuDevicesRequest"]').fill("1")
    sharing = page.locator(f'{COMPUTE}gpuRequestType"]')
    portion = page.get_by_test_id("f-worker.compute.gpuPortionRequest").locator("input").first
    sharing.select_option("portion")
    portion.fill("25")
    sharing.select_option("memory")
    expect(portion).not_to_be_visible()
    page.locator(f'{COMPUTE}gpuMemoryRequest"]').fill("500")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    ports = page.get_by_test_id("f-worker.ports")
    page.get_by_role("button", name="Add port").click()
    ports.get_by_label("Port of the program, port 1").fill("6006")
    ports.get_by_label("Custom node port, port 1").check()
    node_port = ports.get_by_label("Node port, port 1", exact=True)
    node_port.fill("29999")
    for path, texts in LIMITS.items():
        for text in texts:
            page.locator(f'[name="worker.{path}"]').fill(text)
    page.get_by_role("button", name="Continue to master").click()
    expect(page.get_by_test_id("problem-summary")).to_be_visible()
    assert len(problems(page)) == 4
    api = ApiClient(world, "researcher-vision")
    for path, texts in LIMITS.items():
        said = page.locator(f"#f-worker-{path}-e")
        body = world.spec_body()
        body["spec"] |= {path: int(texts[-1])}
        answer = api.post("workloads/distributed", body)
        expect(said).to_contain_text(answer.json()["problems"][0]["message"])
    expect(ports).to_contain_text("30000")
    expect(ports).to_contain_text("32767")
    for path in LIMITS:
        page.locator(f'[name="worker.{path}"]').fill("2")
    node_port.fill("30001")
    press(page, "Continue to master", "master")
    page.get_by_role("button", name="Workers").first.click()
    page.wait_for_url("**/workers*")
    said = Draft.objects.get().inputs
    assert "500" in str(said)
    sharing.select_option("portion")
    expect(portion).to_be_visible()
    expect(portion).to_have_value("25")
    sharing.select_option("memory")
    page.get_by_role("button", name="Review").first.click()
    page.wait_for_url("**/review*")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    given = Workload.objects.get().given
    assert given["worker.compute.gpuMemoryRequest"]["value"]
    assert "worker.compute.gpuPortionRequest" not in given


def test_acf14_acf17_acf18_acf20_there_and_back_by_yaml_curl_and_copy(
    open_page: Opener, world: World, live_server: object, tmp_path: Path
) -> None:
    page = open_page()
    start(page)
    fill_workers(page)
    page.locator(ARGS).fill("say 'it is'")
    everything_is_saved(page)
    page.get_by_role("button", name="YAML", exact=True).click()
    page.wait_for_url("**/yaml")
    text = page.get_by_test_id("yaml")
    written = "# who: me\n" + text.input_value().replace(
        "  command: python train.py",
        "  # runs alone\n  command: 'python train.py' # quoted\n  flavour: mild",
    )
    variables = [{"name": f"V_{n}", "value": one} for n, one in enumerate(AWKWARD)]
    written += f"  environmentVariables: {json.dumps(variables, ensure_ascii=False)}\n"
    text.fill(written)
    everything_is_saved(page)
    page.get_by_role("button", name="Form", exact=True).click()
    page.wait_for_url("**/workers")
    page.locator(WORKERS).fill("3")
    everything_is_saved(page)
    page.get_by_role("button", name="YAML", exact=True).click()
    page.wait_for_url("**/yaml")
    lines = text.input_value().splitlines()
    kept = [line for line in lines if "numWorkers" not in line]
    assert kept == [line for line in written.splitlines() if "numWorkers" not in line]
    assert "  numWorkers: 3" in lines
    text.fill(text.input_value().replace("  flavour: mild\n", ""))
    everything_is_saved(page)
    page.get_by_role("button", name="Form", exact=True).click()
    page.wait_for_url("**/workers")
    press(page, "Continue to master", "master")
    page.get_by_role("switch").check()
    page.locator('[name="master.compute.cpuCoreRequest"]').fill("0.25")
    press(page, "Continue to review", "review")

    curl = page.get_by_test_id("as-curl").locator("pre").text_content() or ""
    by_hand = curl.replace('"digits"', '"by-curl"')
    assert by_hand != curl
    environment = {**os.environ, "TOKEN": world.token("researcher-vision")}
    done = subprocess.run(
        ["bash", "-c", by_hand],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    made, by_curl = (
        {
            p: one["value"]
            for p, one in Workload.objects.get(name=n).attempts.get().effective.items()
        }
        for n in ("digits", "by-curl")
    )
    assert made == by_curl, done.stdout
    assert made["worker.environmentVariables"] == variables
    differing = [
        p for p, v in made.items() if p.startswith("master.") and v != made[f"worker.{p[7:]}"]
    ]
    assert differing == ["master.compute.cpuCoreRequest"]

    Workload.objects.filter(name="digits").update(phase="Failed", status="Failed")
    ruled = "defaults: {worker: {compute: {cpuMemoryRequest: 300M}}}"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=ruled)
    page.reload()
    page.get_by_role("button", name="Copy & edit").first.click()
    page.wait_for_url("**/review*")
    differs = page.locator("[data-differs]")
    expect(differs.first).to_contain_text("Memory request")
    page.get_by_role("button", name="Create workload").click()
    page.wait_for_url(CREATED)
    assert Workload.objects.filter(name="digits-2").exists()


def test_aca02_aca03_aca04_an_asset_is_changed_is_held_and_is_nobody_elses(
    open_page: Opener, world: World
) -> None:
    values = {"image": IMAGE, "command": "python train.py"}
    environment = make("environment", scope=world.vision.scope, name="digits-env", values=values)
    links = {"worker.environment": str(environment.pk)}
    make(
        "template", scope=world.vision.scope, name="linking", framework="XGBoost",
        configuration="workersAndMaster", links=links,
    )  # fmt: skip
    filler = Filler(world)
    filler.post("setup", {"workload.name": "run", "worker.distributedFramework": "XGBoost"})
    filler.post("workers", {"worker.environment~asset": str(environment.pk)})
    filler.post("review", go="create")
    workload = Workload.objects.get()
    page = open_page("administrator")
    page.goto(f"/environments/{environment.pk}/edit")
    page.locator('[name="worker.command"]').fill("python other.py")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_test_id("toast")).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("is in use")
    expect(dialog.get_by_role("link", name="linking")).to_be_visible()
    expect(dialog.get_by_role("button", name="Delete")).to_have_count(0)
    page.goto(f"/workloads/{workload.pk}/spec")
    expect(page.get_by_test_id("made-of")).to_contain_text("Environment digits-env v1 (now v2)")
    assert workload.attempts.get().value("worker.command") == "python train.py"
    other = open_page("researcher-nlp")
    answer = other.goto(f"/environments/{environment.pk}")
    assert answer
    assert answer.status == 404
    other.goto("/environments")
    expect(other.get_by_role("heading", level=1)).to_be_visible()
    expect(other.get_by_text("digits-env")).to_have_count(0)
    by_api = ApiClient(world, "researcher-nlp").get(f"asset/environment/{environment.pk}")
    assert by_api.status_code == 404


RULES = """\
# Of the lab.
defaults:
  worker:
    workingDir: /srv # where the code is
    labels:
      instances:
        - {name: team, value: nlp}
    numWorkers: 2
rules:
  worker:
    numWorkers: {min: 1, max: 4, message: "Ask for more: 'ask' & <wait>"} # few
    compute:
      cpuCoreRequest: {step: 0.5}
      gpuDevicesRequest: {blocked: true}
    command: {required: true}
    image: {options: [local://examples]}
    workingDir: {canEdit: false}
    labels:
      instances: {locked: [team], canAdd: false}
"""


def test_acp01_acp07_a_policy_is_kept_as_written_and_read_only_below(
    open_page: Opener, world: World
) -> None:
    """The form view of AC-P01 is not there; what it would have to keep is."""
    page = open_page("administrator")
    page.goto(f"/policies/{world.vision.scope_id}")
    text = page.get_by_test_id("policy-text")
    text.fill(RULES)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_test_id("toast")).to_be_visible()
    expect(text).to_have_value(RULES)
    table = page.get_by_role("region", name="Effective rules")
    for words in (
        "at least 1", "at most 4", "in steps of 0.5", "blocked", "required", "one of local://examples",
        "fixed to /srv", "team is locked", "nothing can be added", "default 2",
    ):  # fmt: skip
        expect(table).to_contain_text(words)
    below = open_page("project_administrator-vision")
    below.goto(f"/policies/{world.vision.scope_id}")
    expect(below.get_by_test_id("policy-text")).to_have_value(RULES)
    expect(below.get_by_test_id("policy-text")).not_to_be_editable()
    expect(below.get_by_role("main")).to_contain_text("needs the permission to edit policies")
    expect(below.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    answer = below.goto(f"/policies/{world.installation.scope_id}")
    assert answer
    assert answer.status == 404
    assert Policy.objects.get().text == RULES


def test_acp04_form_api_and_command_line_decide_alike(
    open_page: Opener, world: World, live_server: object, tmp_path: Path
) -> None:
    rules = "rules: {worker: {numWorkers: {max: 4, message: Ask the lab.}}}"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=rules)
    page = open_page()
    start(page)
    fill_workers(page)
    page.locator(WORKERS).fill("5")
    page.get_by_role("button", name="Review").first.click()
    page.wait_for_url("**/review*")
    page.get_by_role("button", name="Create workload").click()
    (said,) = problems(page)
    answer = ApiClient(world, "researcher-vision").post(
        "workloads/distributed", world.spec_body(distributedFramework="PyTorch", numWorkers=5)
    )
    assert answer.status_code == 400
    (told,) = answer.json()["problems"]
    assert told["message"] in said
    environment = {
        "PATH": os.environ["PATH"],
        "GANGLINE_CONFIG_DIR": str(tmp_path),
        "GANGLINE_URL": live_server.url,  # type: ignore[attr-defined]
        "GANGLINE_TOKEN": world.token("researcher-vision"),
    }
    line = [
        "training",
        "pytorch",
        "submit",
        "digits",
        "-p",
        "vision",
        "-i",
        IMAGE,
        "--workers",
        "5",
    ]
    done = subprocess.run(
        [str(BIN / "gangline"), *line, "--command", "--", "python", "train.py"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert told["message"] in done.stderr, json.dumps(told)
    assert not Workload.objects.exists()
