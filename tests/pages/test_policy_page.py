"""The editor of a policy: what is wrong stands where one looks before one types."""

import re
from html import unescape

import pytest

from gangline.audit.models import AuditEntry
from gangline.policies.document import rules_of
from gangline.policies.models import Policy
from gangline.policies.selectors import effective_for
from gangline.policies.services import save
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Role
from gangline.spec.workload import SPEC
from tests.support.world import World

pytestmark = pytest.mark.django_db
TEXT = "rules:\n  worker:\n    numWorkers: {min: 1, max: four}\n    noSuchField: {min: 1}\n"


def test_lines_with_problems_stand_numbered_above_the_text(world: World) -> None:
    client = world.client("administrator")
    address = f"/policies/{world.vision.scope_id}"
    answer = client.post(address, {"text": TEXT, "version": "0", "check": "1"})
    assert answer.status_code == 422
    page = " ".join(answer.content.decode().split())
    lines = re.findall(
        r'<li class="bad"[^>]* value="(\d+)"[^>]*><code>(.*?)</code>(.*?)</li>', page
    )
    told = {int(no): (unescape(line).strip(), unescape(said)) for no, line, said in lines}
    assert told.keys() == {3, 4}
    assert told[3][0] == "numWorkers: {min: 1, max: four}"
    assert "Must be a whole number, not four." in told[3][1]
    assert page.index('id="policy-lines"') < page.index("<textarea")
    assert 'aria-describedby="policy-lines"' in page


@pytest.mark.parametrize(
    ("person", "verbs"),
    [("administrator", {"Write policy", "Edit"}), ("viewer-vision", {"View"})],
)
def test_the_list_leads_to_writing_and_a_project_to_its_policy_and_workloads(
    world: World, person: str, verbs: set[str]
) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text="rules: {}\n")
    client = world.client(person)
    assert {row.verb for row in client.get("/policies").context["rows"]} == verbs
    page = client.get(f"/projects/{world.vision.pk}").content.decode()
    assert f'href="/policies/{world.vision.scope_id}"' in page
    assert 'href="/workloads?project=vision"' in page


@pytest.mark.parametrize("version", ["9" * 5000, "²", "-1", ""])
def test_a_version_that_is_none_changes_nothing(world: World, version: str) -> None:
    client = world.client("administrator")
    address = f"/policies/{world.vision.scope_id}"
    fits = "\n".join([*TEXT.splitlines()[:2], "    numWorkers: {min: 1, max: 4}"])
    assert client.post(address, {"text": fits, "version": "0"}).status_code == 302
    assert client.post(address, {"text": fits + "0", "version": version}).status_code == 422
    assert client.post(f"{address}/delete", {"version": version}).status_code == 302
    assert Policy.objects.get(scope=world.vision.scope_id).text == fits


def test_who_may_not_write_policies_is_refused_and_that_is_audited(world: World) -> None:
    save(actor=world.actor("administrator"), scope=world.vision.scope, text="rules: {}\n")
    client = world.client("project_administrator-vision")
    AuditEntry.objects.all().delete()
    address = f"/policies/{world.vision.scope_id}"
    assert client.get(f"{address}/delete").status_code == 403
    assert client.post(f"{address}/delete", {"version": "1"}).status_code == 403
    assert client.post(address, {"text": "rules: {}", "version": "1"}).status_code == 403
    rows = AuditEntry.objects.values_list("action", "result", "object_name", "scope")
    assert list(rows) == [
        ("access.denied", "denied", path, world.vision.scope_id)
        for path in (f"{address}/delete", f"{address}/delete", address)
    ]


def test_ac_p02_each_problem_leads_to_its_line(world: World) -> None:
    client = world.client("administrator")
    body = {"text": TEXT, "version": "0", "check": "1"}
    page = client.post(f"/policies/{world.vision.scope_id}", body).content.decode()
    for line in (3, 4):
        assert f'href="#policy-line-{line}"' in page
        assert f'id="policy-line-{line}"' in page


def test_ac_p07_who_may_only_read_is_told_why_nothing_can_be_typed(world: World) -> None:
    page = page_of(world, f"/policies/{world.vision.scope_id}", "project_administrator-vision")
    assert "Changing it needs the permission to edit policies of project vision." in page
    assert re.search(r"<textarea[^>]* readonly", page)
    assert ">Save</button>" not in page
    tenant = f"/policies/{world.installation.scope_id}"
    client = world.client("project_administrator-vision")
    assert client.get(tenant).status_code == 404


def test_what_deserves_a_look_is_told_and_can_be_saved(world: World) -> None:
    client = world.client("administrator")
    address = f"/policies/{world.vision.scope_id}"
    text = "rules:\n  worker:\n    command: {required: true}\n"
    page = client.post(address, {"text": text, "version": "0", "check": "1"}).content.decode()
    assert "Line 3: rules.worker.command" in page
    assert client.post(address, {"text": text, "version": "0"}).status_code == 302


def test_a_text_that_fits_has_no_such_lines(world: World) -> None:
    client = world.client("administrator")
    address = f"/policies/{world.vision.scope_id}"
    fits = [*TEXT.splitlines()[:2], "    numWorkers: {min: 1, max: 4}"]
    page = client.post(address, {"text": "\n".join(fits), "version": "0", "check": "1"})
    assert page.status_code == 200
    assert "policy-lines" not in page.content.decode()


def page_of(world: World, address: str, person: str = "administrator") -> str:
    client = world.client(person)
    return " ".join(client.get(address).content.decode().split())


def test_the_editor_names_every_field_with_the_rules_it_takes(world: World) -> None:
    """What the list says can be saved, and a field that the spec gains is in it."""
    page = page_of(world, f"/policies/{world.vision.scope_id}").replace("<wbr>", "")
    for path, spec in catalogue(SPEC.worker).items():
        row = re.search(rf"<code>{re.escape(path)}</code>(.*?)</tr>", page)
        assert row, path
        assert ", ".join(rules_of(spec)) in row[1]
    assert re.search(r"<code>numWorkers</code>.*?, worker only</span>", page)
    assert not re.search(r"<code>image</code>[^/]*, worker only", page)


def test_the_department_between_has_a_page_and_its_policy_holds_below(world: World) -> None:
    listed = page_of(world, "/policies")
    address = f"/policies/{world.department.scope_id}"
    assert f'href="{address}">Department research</a>' in listed
    client = world.client("administrator")
    text = "rules:\n  worker:\n    compute:\n      cpuMemoryRequest: {max: 2G}\n"
    assert client.post(address, {"text": text, "version": "0"}).status_code == 302
    below = page_of(world, f"/policies/{world.vision.scope_id}", "project_administrator-vision")
    assert "at most 2 GB" in below
    assert "department research" in below
    rule = effective_for(world.vision).rule(Role.WORKER, "compute.cpuMemoryRequest")
    assert rule.maximum
    assert (rule.maximum.value, rule.maximum.source) == ("2G", "department research")


def test_a_scope_above_that_one_may_not_see_is_no_link(world: World) -> None:
    listed = page_of(world, "/policies", "researcher-vision")
    assert "Department research" in listed
    assert f"/policies/{world.department.scope_id}" not in listed


def test_the_page_promises_only_ways_in_that_there_are(world: World) -> None:
    assert "whether it comes from the form or the API." in page_of(world, "/policies")


def test_what_a_policy_allows_that_was_closed_is_among_the_rules_that_hold(world: World) -> None:
    text = (
        "rules:\n  worker:\n    storage: {hostPath: {instances: {canAdd: true}}}\n"
        "    security: {hostIpc: {canEdit: true}}\n"
    )
    save(actor=world.actor("administrator"), scope=world.cluster.scope, text=text)
    page = page_of(world, f"/policies/{world.vision.scope_id}")
    held = re.findall(
        r"<tr>\s*<td>([^<]+)</td>\s*<td>allowed</td>\s*<td>([^<]+)</td>\s*</tr>", page
    )
    assert sorted(set(held)) == [
        ("Host paths", "cluster this-machine"),
        ("IPC of the node", "cluster this-machine"),
    ]
