"""Data sources over the API, in the shapes that Run:ai's clients send."""

import json
from typing import Any

import pytest
from django.test import Client

from assets import claims
from assets.credentials import copies
from assets.models import Asset, Credential
from gangline.clusters import objects
from gangline.clusters.models import Cluster, ClusterObject, ObjectState
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.forms.fields import FieldView
from gangline.lib.problems import Problem
from gangline.organization.models import Project
from gangline.policies.services import save
from gangline.resources.registry import get
from gangline.resources.services import make
from tests.drivers.kubernetes.scripted import ScriptedClient, page, status
from tests.support.forms import Page
from tests.support.world import World


@pytest.fixture
def send(world: World) -> Any:
    def send(method: str, path: str, body: Any = None) -> Any:
        return Client().generic(
            method,
            f"/api/v1/asset/datasource{path}",
            data=b"" if body is None else json.dumps(body).encode(),
            content_type="application/json",
            headers=world.headers("administrator"),
        )

    return send


def login(world: World, kind: str = "password", **given: str) -> Credential:
    given = given or {"user": "me", "password": "s3cr3t"}
    made: Credential = make(
        "credential", scope=world.department.scope, name=f"my-{kind}", kind=kind, given=given
    )
    return made


def body(world: World, **spec: Any) -> dict[str, Any]:
    meta = {"name": "code", "scope": "project", "projectId": str(world.vision.pk)}
    return {"meta": meta, "spec": spec}


def test_a_credential_is_named_by_its_id(world: World, send: Any) -> None:
    one = login(world)
    code = {"repository": "https://git.example/a", "path": "/a"}
    made = send("POST", "/git", body(world, **code, credentialId=str(one.pk)))
    assert made.status_code == 202, made.content
    assert made.json()["spec"]["secretRef"] == {
        "name": one.object_name,
        "authenticationMethod": "password",
    }
    keys = login(world, "accessKey", accessKeyId="AKIA", secretAccessKey="x" * 20)
    sets = body(world, bucket="sets", path="/sets", accessKeyAssetId=str(keys.pk))
    assert send("POST", "/s3", sets).json()["spec"]["accessKeySecret"] == keys.object_name
    files = body(world, mountPath="/keys", credentialAssetId=str(one.pk))
    assert send("POST", "/secrets", files).json()["spec"]["secret"] == one.object_name


def test_its_page_offers_the_credentials_of_the_place_as_the_dialog_does(world: World) -> None:
    given = {"user": "me", "password": "s3cr3t"}
    one = make("credential", scope=world.vision.scope, name="own", kind="password", given=given)
    resource = get("git")

    def control(project: Project) -> FieldView:
        form = resource.form_class(
            None, resource=resource, actor=world.actor("administrator"),
            initial={"scope": project.scope_id},
        )  # fmt: skip
        fields: list[FieldView] = [field for part in form.views() for field in part.fields]
        assert next(field.applies for field in fields if field.path == "scope")
        return next(field for field in fields if field.path.endswith("secretRef.name"))

    here, elsewhere = control(world.vision), control(world.nlp)
    assert one.object_name in [option.value for option in here.options]
    assert one.object_name not in [option.value for option in elsewhere.options]


def test_a_credential_of_elsewhere_is_refused_by_its_field(world: World, send: Any) -> None:
    elsewhere = make(
        "credential", scope=world.nlp.scope, name="theirs", kind="password",
        given={"user": "me", "password": "s3cr3t"},
    )  # fmt: skip
    for wanted in (str(elsewhere.pk), "x", 7):
        code = {"repository": "https://git.example/a", "path": "/a", "credentialId": wanted}
        answer = send("POST", "/git", body(world, **code))
        assert answer.status_code == 400
        assert answer.json()["problems"][0]["path"] == "spec.credentialId"
    assert not Asset.objects.exists()


def test_one_list_has_every_type_and_the_state_of_what_needs_one(world: World, send: Any) -> None:
    send("POST", "/nfs", body(world, server="nfs", path="/x", mountPath="/x"))
    send("POST", "/pvc", body(world, path="/w", claimInfo={"size": "1G"}))
    found = send("GET", "?statusInfo=true").json()["entries"]
    told = {next(iter(one["spec"])): one["status"]["status"] for one in found}
    assert told == {"nfs": "No status", "pvc": "Creating"}
    problem = Problem("failed", "", {"raw": "Full."}).as_stored()
    ClusterObject.objects.update(state=ObjectState.FAILED, problem=problem)
    (pvc,) = send("GET", "/pvc?statusInfo=true").json()["entries"]
    assert pvc["status"]["status"] == "Issues found"
    assert pvc["status"]["issues"][0]["message"] == "Full."
    assert pvc["status"]["issues"][0]["scopeId"] == str(world.vision.pk)


def test_a_source_with_a_credential_is_as_its_copies_are(world: World, send: Any) -> None:
    one = login(world)
    code = {"repository": "https://git.example/a", "path": "/a"}
    send("POST", "/git", body(world, **code, credentialId=str(one.pk)))

    def status() -> str:
        return str(send("GET", "/git?statusInfo=true").json()["entries"][0]["status"]["status"])

    assert status() == "No status"
    wanted = {"kind": "Secret", "metadata": {"name": one.object_name, "namespace": "a"}}
    objects.want(world.cluster, (copies.KEY, str(one.pk)), {"apiVersion": "v1", **wanted})
    assert status() == "Creating"
    ClusterObject.objects.update(state=ObjectState.OK)
    assert status() == "No issues found"


def test_a_secret_of_others_is_looked_for_and_one_of_a_credential_is_not(
    world: World, send: Any
) -> None:
    one = login(world)
    send("POST", "/secrets", body(world, secret=one.object_name, mountPath="/own"))
    assert not ClusterObject.objects.exists()
    theirs = {**body(world, secret="certificates", mountPath="/theirs")}
    theirs["meta"]["name"] = "theirs"
    send("POST", "/secrets", theirs)
    looked_for = ClusterObject.objects.get()
    assert (looked_for.kind, looked_for.name) == ("Secret", "certificates")
    assert set(looked_for.wanted) == {"apiVersion", "kind", "metadata"}
    gone = Problem("failed", "", {"raw": "Gone."}).as_stored()
    ClusterObject.objects.update(state=ObjectState.FAILED, problem=gone)
    found = send("GET", "/secrets?statusInfo=true").json()["entries"]
    told = {entry["meta"]["name"]: entry["status"]["status"] for entry in found}
    assert told == {"code": "No status", "theirs": "Issues found"}


def test_compliance_names_what_the_policy_imposes_on_a_role(world: World, send: Any) -> None:
    made = send("POST", "/nfs", body(world, server="nfs", path="/x", mountPath="/x")).json()
    text = f"imposedAssets: {{worker: [{made['meta']['id']}]}}\n"
    save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)

    def imposed(role: str) -> bool:
        query = f"complyToProject={world.vision.pk}&complyToReplicaType={role}"
        (entry,) = send("GET", f"/nfs?{query}").json()["entries"]
        assert entry["compliance"]["compliance"], entry
        return bool(entry["compliance"]["imposed"])

    assert (imposed("Worker"), imposed("Master")) == (True, False)


def test_what_was_made_is_renamed_and_not_changed(world: World, send: Any) -> None:
    spec = {"server": "nfs", "path": "/x", "mountPath": "/x"}
    made = send("POST", "/nfs", body(world, **spec)).json()
    at = f"/nfs/{made['meta']['id']}"
    changed = {"spec": {"server": "other", "path": "/x", "mountPath": "/x"}}
    answer = send("PUT", at, changed)
    assert answer.status_code == 400
    again = {
        "meta": {"name": "renamed"},
        "spec": {"server": "nfs", "path": "/x", "mountPath": "/x"},
    }
    assert send("PUT", at, again).json()["meta"]["name"] == "renamed"
    client = world.client("administrator")
    page = Page(client.get(f"/data-sources{at}/edit").content.decode())
    fixed = [e for e in page.elements if e.tag == "input" and "readonly" in e.attributes]
    assert [e.attributes["value"] for e in fixed] == ["nfs", "/x", "/x", "Yes"]
    assert not [e for e in fixed if "name" in e.attributes]


def test_no_claim_is_shared_by_projects_also_where_its_class_would_allow_it(
    world: World, send: Any
) -> None:
    spec = {"path": "/x", "claimInfo": {"size": "1G"}}
    refused = send("POST", "/pvc", body(world, **spec, dataSharing=True))
    assert refused.status_code == 400
    (problem,) = refused.json()["problems"]
    assert (problem["path"], problem["rule"]) == ("spec.dataSharing", "options")
    assert "NFS" in problem["message"]
    assert send("POST", "/pvc", body(world, **spec, dataSharing=False)).status_code == 202


def test_a_claim_that_is_there_is_offered_by_its_cluster(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the project's namespace that Gangline has not made; another name may be typed."""
    ours = {"name": "made", "labels": {"gangline.dev/install": "x"}}
    listed = page({"metadata": {"name": "scratch"}}, {"metadata": {"name": "imagenet"}},
                  {"metadata": ours})  # fmt: skip
    client = ScriptedClient(lambda method, path, query: listed)
    driver = KubernetesDriver(client, Options())
    monkeypatch.setattr(claims, "driver_for", lambda cluster: driver)
    Cluster.objects.update(health="Connected")
    browser, address = world.client("administrator"), "/data-sources/pvc/new"

    def offered(existing: str) -> list[str]:
        form = {
            "scope": str(world.vision.scope_id),
            "worker.storage.pvc~rows": "item",
            "worker.storage.pvc~item.existingPvc": existing,
            "_go": "apply",
        }
        shown = Page(browser.post(address, form).content.decode())
        lists = [one for one in shown.elements if one.tag == "datalist"]
        return [e.attributes["value"] for one in lists for e in one.inside]

    assert offered("true") == ["imagenet", "scratch"]
    assert client.asked[-1][1].endswith(
        f"/namespaces/{world.vision.claims_namespace}/persistentvolumeclaims"
    )
    assert offered("") == []
    client.say = lambda method, path, query: status(403, "Forbidden")
    assert offered("true") == []
    asked = client.count("GET")
    Cluster.objects.update(health="Unreachable")
    assert offered("true") == []
    assert client.count("GET") == asked


def test_a_claim_tells_what_became_of_it_newest_first(world: World, send: Any) -> None:
    """`/history` has the entries of the pane *History* on its page."""
    spec = {"path": "/x", "claimInfo": {"size": "1G"}}
    made = send("POST", "/pvc", body(world, **spec)).json()["meta"]["id"]
    assert send("PUT", f"/pvc/{made}", {"meta": {"name": "renamed"}}).status_code == 202
    records = send("GET", f"/pvc/{made}/history").json()["records"]
    told = [(r["meta"]["type"], r["spec"]["phaseUpdate"]) for r in records]
    by = {"phaseMessage": "By administrator"}
    assert told == [
        ("PhaseUpdate", {"phase": "Updated", **by}),
        ("PhaseUpdate", {"phase": "Created", **by}),
    ]
    times = [r["meta"]["creationTimestamp"] for r in records]
    assert times == sorted(times, reverse=True)
    second = send("GET", f"/pvc/{made}/history?offset=1&limit=1").json()
    assert second["records"] == records[1:]
    page = Page(world.client("administrator").get(f"/data-sources/pvc/{made}").content.decode())
    shown = [one.text for one in page.elements if one.tag == "li" and "PVC" in one.text]
    assert [words.partition(" ")[0] for words in shown] == ["Edit", "Create"]


def test_what_a_policy_imposes_is_not_deleted(world: World, send: Any) -> None:
    made = send("POST", "/git", body(world, repository="https://git.example/a", path="/a"))
    key = made.json()["meta"]["id"]
    text = json.dumps({"imposedAssets": {"worker": [key.replace("-", "").upper()]}})
    policy = save(actor=world.actor("administrator"), scope=world.vision.scope, text=text)
    refused = send("DELETE", f"/git/{key}")
    assert refused.status_code == 409, refused.content
    used = send("GET", f"/git/{key}?usageInfo=true").json()["usedBy"]
    assert [row["id"] for row in used["policies"]] == [str(policy.pk)]
    policy.delete()
    assert send("DELETE", f"/git/{key}").status_code == 202
