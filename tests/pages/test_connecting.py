"""Connecting a cluster by the page: what is accepted, what is refused, and what is never shown."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from gangline.audit.models import AuditEntry
from gangline.clusters import checks, connections, credentials
from gangline.clusters.models import Cluster, ConnectionCheck, Credential
from gangline.drivers.kubernetes import intake
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.intake import SHOW_CONFIG, SHOW_CONFIG_NARROW, as_pem
from gangline.people.services import give
from gangline.resources.services import make
from gangline.scopes.models import Scope
from tests.support.api_server import Script, answering
from tests.support.certificates import data, kubeconfig, pair
from tests.support.world import World

SECRET = "s3cr3t-CANARY-t0ken"
CONNECT = "/clusters/new"
pytestmark = pytest.mark.usefixtures("loopback_admitted", "checks_at_once")
Post = Callable[..., Any]


@pytest.fixture
def post(world: World) -> Post:
    """Posts as an administrator, or as somebody else."""

    def send(address: str = CONNECT, person: str = "administrator", **fields: Any) -> Any:
        client = world.client(person)
        return client.post(address, fields)

    return send


def typed(config: Any = None, **fields: Any) -> dict[str, Any]:
    text = json.dumps(kubeconfig(user={"token": SECRET}) if config is None else config)
    return {"name": "lab", "way": "kubeconfig", "kubeconfig": text, **fields}


def by_token(**fields: Any) -> dict[str, Any]:
    return {
        "name": "lab", "way": "token", "server": "https://127.0.0.1:9", "token": SECRET, **fields
    }  # fmt: skip


def nothing_stored() -> bool:
    return not (
        Cluster.objects.filter(kind="kubernetes").exists()
        or Credential.objects.exists()
        or ConnectionCheck.objects.exists()
        or Scope.objects.filter(name="lab").exists()
    )


def seen(world: World, address: str, person: str = "administrator") -> str:
    client = world.client(person)
    return client.get(address).content.decode()


def test_a_cluster_is_connected_looked_at_and_shown(world: World, post: Post) -> None:
    script = Script(groups={"kubeflow.org": {"v1": ["pytorchjobs"]}})
    with answering(script) as access:
        authority = access.certificate_authority
        answer = post(**by_token(server=access.server, authority=authority))
        lab = Cluster.objects.get(name="lab")
        assert answer.status_code == 302
        assert answer["Location"] == f"/clusters/{lab.pk}"
    page = " ".join(
        " ".join(seen(world, f"/clusters/{lab.pk}{tab}").split())
        for tab in ("", "/checks", "/frameworks")
    )
    assert 'data-step="Version" data-state="ok"' in page
    assert "Kubernetes 1.36.4" in page
    assert "MPIJob is not there: mpi-operator is not installed." in page
    assert "a token" in page
    assert Credential.objects.get(cluster=lab).fingerprint in page
    assert "by administrator" in page
    assert SECRET not in page
    assert SECRET not in seen(world, "/settings/environment")
    listed = Client().get("/api/v1/clusters", headers=world.headers("administrator"))
    assert "lab" in listed.content.decode()
    for hidden in (SECRET, "BEGIN CERTIFICATE", "sealed"):
        assert hidden not in listed.content.decode()
    assert [(one.action, one.result) for one in AuditEntry.objects.filter(object_name="lab")] == [
        ("cluster.create", "ok"),
        ("cluster.check", "ok"),
    ]
    assert SECRET not in repr(list(AuditEntry.objects.values()))
    assert connections.driver_for(lab).kind == "kubernetes"


def test_a_cluster_that_does_not_answer_is_stored_with_the_reason(world: World, post: Post) -> None:
    post(**by_token())
    lab = Cluster.objects.get(name="lab")
    assert lab.health == "Unreachable"
    assert lab.health_reason == "127.0.0.1 port 9 refuses connections: nothing listens there."
    last = AuditEntry.objects.filter(object_name="lab").latest("pk")
    assert (last.action, last.result, last.reason) == ("cluster.check", "failed", lab.health_reason)


OLD = pair("old", begins=-9, ends=-3)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (typed(kubeconfig(user={"token": None, "exec": {"command": "aws"}})),
         "users[0].user.exec runs a program (aws) to log in."),
        (typed(kubeconfig(user={"token": None, "tokenFile": "/etc/passwd"})),
         "users[0].user.tokenFile names a file"),
        (typed(kubeconfig({"server": "https://169.254.169.254"})),
         "API server: 169.254.169.254 is where clouds give out"),
        (typed(kubeconfig({"server": "https://[::1]:6443"})), "this machine itself (loopback)"),
        (typed(kubeconfig({"certificate-authority-data": data(OLD.certificate)})),
         "certificate-authority-data expired on"),
        (typed(kubeconfig({"server": "https://absent.invalid"})),
         "The name absent.invalid cannot be resolved."),
        ({"name": "lab", "way": "kubeconfig", "kubeconfig": "x" * 70_000},
         "the limit is 64."),
        ({"name": "lab", "way": "kubeconfig", "kubeconfig": "a: ["}, "this is not valid YAML"),
        ({"name": "lab", "way": "kubeconfig"}, "Paste a kubeconfig, or choose its file."),
        ({"name": "lab", "way": "telepathy"}, "Choose one of the options."),
        ({"name": "lab", "way": "in-cluster"}, "Choose one of the options."),
        (by_token(server="http://10.0.0.1"), "API server must start with https://"),
        (by_token(server="https://u:CANARY@10.0.0.1"), "must not contain a user name or password"),
        (by_token(authority="CANARY"), "Certificate authority is not in PEM format"),
        (by_token(token=""), "Token is missing."),
        (by_token(token="a b"), "Token must be one line"),
        (by_token(namespace_prefix="Not a prefix"), "Use 1 to 20 lowercase letters"),
        (by_token(scheduler="magic"), "Choose one of: volcano"),
        (by_token(name=""), "This field is required."),
        (by_token(name="this-machine"), "A cluster with this name already exists."),
    ],
)  # fmt: skip
def test_what_is_refused_is_said_and_nothing_is_stored(
    post: Post, fields: dict[str, Any], sentence: str
) -> None:
    answer = post(**fields)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert sentence in page.replace("&#x27;", "'")
    assert "Nothing was saved." in page
    assert SECRET not in page
    assert nothing_stored()


def test_what_was_typed_is_kept_but_for_secrets(post: Post) -> None:
    page = post(
        **by_token(server="https://10.0.0.1:6443", namespace_prefix="lab-x", token=f"{SECRET} x")
    ).content.decode()
    for text in ('value="lab"', 'value="https://10.0.0.1:6443"', 'value="lab-x"'):
        assert text in page
    assert SECRET not in page


def test_the_hint_of_the_prefix_is_true_of_any_prefix(post: Post) -> None:
    page = post(**by_token(name="", namespace_prefix="gg")).content.decode()
    assert 'value="gg"' in page
    assert "With gangline, project vision uses the namespace gangline-vision." in page


GOOD = pair("good")
CONFIG = json.dumps(kubeconfig(user={"token": SECRET}))


@pytest.mark.parametrize(
    "field",
    [
        "name",
        "description",
        "server",
        "authority",
        "context",
        "namespace_prefix",
        "scheduler",
        "way",
    ],
)
@pytest.mark.parametrize(
    "pasted",
    [
        CONFIG,
        CONFIG * 4,
        GOOD.key,
        GOOD.certificate + GOOD.key,
        f"{GOOD.certificate}\ntoken: {SECRET}",
        f"https://adm:{SECRET}@10.0.0.1:6443",
        f"https://10.0.0.1:6443/?token={SECRET}",
        f"https://10.0.0.1:6443#{SECRET}",
    ],
)
def test_a_secret_in_a_field_for_something_else_is_not_sent_back(
    post: Post, field: str, pasted: str
) -> None:
    answer = post(**{**by_token(token=""), field: pasted})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert SECRET not in page
    for line in GOOD.key.splitlines()[1:-1]:
        assert line not in page


def test_certificates_are_sent_back_and_what_lies_between_them_is_not(post: Post) -> None:
    bundle = f"lab\n{GOOD.certificate}other\n{OLD.certificate}"
    page = post(**by_token(authority=bundle, token="")).content.decode()
    assert GOOD.certificate.splitlines()[1] in page
    assert OLD.certificate.splitlines()[1] in page
    assert page.count("BEGIN CERTIFICATE") == 2
    assert "other" not in page.split("BEGIN CERTIFICATE", 1)[1].split("BEGIN CERTIFICATE")[0]


@pytest.mark.parametrize(
    "address", ["http://10.0.0.1", "https://10.0.0.1:99999", "https://rancher.example.org/k8s/c-x"]
)
def test_an_address_with_a_slip_is_sent_back(post: Post, address: str) -> None:
    page = post(**by_token(server=address, token="")).content.decode()
    assert f'value="{address}"' in page


def test_everything_wrong_is_said_at_once(post: Post) -> None:
    page = post(**by_token(name="", server="", token="", namespace_prefix="-")).content.decode()
    assert "There are 4 problems" in page


def test_a_file_may_be_sent_in_place_of_a_text(world: World, post: Post) -> None:
    text = json.dumps(kubeconfig({"server": "https://127.0.0.1:9"}, {"token": SECRET}))
    file = SimpleUploadedFile("config", text.encode())
    assert post(name="lab", way="kubeconfig", file=file).status_code == 302
    assert credentials.access_of(Cluster.objects.get(name="lab")).token == SECRET
    file = SimpleUploadedFile("config", b"x" * 200_000)
    page = post(name="two", way="kubeconfig", file=file).content.decode()
    assert "the limit is 64" in page
    assert "The file has 196 KiB" in page
    assert not Cluster.objects.filter(name="two").exists()


def test_what_is_too_large_for_any_form_is_a_page_that_says_what_to_do(world: World) -> None:
    client = Client(headers={"Accept": "text/html,*/*;q=0.8"})
    client.force_login(world.people["administrator"])
    huge = SimpleUploadedFile("config", b"x" * (5 << 20))
    answer = client.post(CONNECT, {"name": "two", "way": "kubeconfig", "file": huge})
    page = answer.content.decode()
    assert answer.status_code == 413
    assert "It is 5.0 MiB; the limit for a form is 1 MiB. Nothing was changed." in page
    assert "kubectl config view --raw --flatten --minify" in page
    assert 'href="">Go back to the form' in page
    plain = Client().post(CONNECT, {"kubeconfig": "x" * (2 << 20)})
    assert (plain.status_code, plain["Content-Type"]) == (413, "text/plain; charset=utf-8")
    assert nothing_stored()


def test_of_several_contexts_one_is_chosen_and_named(world: World, post: Post) -> None:
    config = kubeconfig({"server": "https://127.0.0.1:9"})
    config["contexts"].append({"name": "play", "context": {"cluster": "lab", "user": "me"}})
    del config["current-context"]
    page = post(**typed(config)).content.decode()
    assert "The file has work, play." in page
    assert post(**typed(config), context="play").status_code == 302


def test_without_a_key_file_nothing_is_stored(
    post: Post, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = settings.GANGLINE.model_copy(update={"keys_file": tmp_path / "absent"})
    monkeypatch.setattr(settings, "GANGLINE", named)
    page = post(**by_token()).content.decode()
    assert "gangline-manage keys add" in page
    assert nothing_stored()


@pytest.mark.parametrize("person", ["head", "project_administrator-vision", "researcher-vision"])
def test_only_those_who_manage_clusters_may_connect(world: World, post: Post, person: str) -> None:
    assert post(person=person, **by_token()).status_code == 403
    assert nothing_stored()
    assert CONNECT not in seen(world, "/clusters", person)


def test_others_see_the_cluster_and_not_how_gangline_signs_in(world: World, post: Post) -> None:
    post(**by_token())
    lab = Cluster.objects.get(name="lab")
    department = make("department", cluster=lab, name="research")
    project = make("project", department=department, name="far")
    person = world.people["stranger"]
    give(actor=None, user=person, role="researcher", scope=project.scope)
    page = seen(world, f"/clusters/{lab.pk}", "stranger")
    assert "Capacity" in page
    for hidden in (">Credential<", "127.0.0.1:9", "Check again", "Remove", "Connection check"):
        assert hidden not in page
    for address in ("credential", "delete", "check"):
        answer = post(f"/clusters/{lab.pk}/{address}", person="stranger", **by_token())
        assert answer.status_code == 403


def test_a_check_that_was_overtaken_writes_nothing(world: World, post: Post) -> None:
    post(**by_token())
    lab = Cluster.objects.get(name="lab")
    row = ConnectionCheck.objects.get(cluster=lab)
    ConnectionCheck.objects.filter(pk=row.pk).update(steps=[], ended_at=None)
    checks.look(lab, lab.pk, lambda health: None)
    row.refresh_from_db()
    assert (row.steps, row.ended_at) == ([], None)


def test_the_role_is_there_to_be_taken(world: World) -> None:
    client = world.client("administrator")
    answer = client.get("/clusters/role.yaml")
    assert b"kind: ClusterRole" in answer.content
    assert "attachment" in answer["Content-Disposition"]


def test_in_a_pod_its_own_account_may_be_used(
    world: World, post: Post, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token is read from its file at every request: the kubelet replaces it."""
    assert 'value="in-cluster"' not in seen(world, CONNECT)
    (tmp_path / "token").write_text("first\n")
    with answering(Script()) as access:
        (tmp_path / "ca.crt").write_text(access.certificate_authority)
        monkeypatch.setattr(intake, "MOUNTED", tmp_path)
        monkeypatch.setattr(intake, "API_SERVER", access.server)
        assert 'value="in-cluster"' in seen(world, CONNECT)
        assert post(name="lab", way="in-cluster").status_code == 302
    lab = Cluster.objects.get(name="lab")
    assert lab.health == "Connected"
    assert Credential.objects.get(cluster=lab).identity == "in-cluster"
    driver = connections.driver_for(lab)
    assert isinstance(driver, KubernetesDriver)
    client = driver.client
    assert client._token() == "first"
    (tmp_path / "token").write_text("second\n")
    assert client._token() == "second"
    assert "the service account of Gangline’s own pod" in seen(world, f"/clusters/{lab.pk}")


def test_an_authority_may_come_as_a_kubeconfig_has_it() -> None:
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    packed = base64.b64encode(pem.encode()).decode()
    assert as_pem(packed) == as_pem(f" {packed[:40]}\n{packed[40:]} ") == pem
    for text in (pem, "", "nonsense", base64.b64encode(b"something else").decode()):
        assert as_pem(text) == text


def test_page_and_guide_give_one_command_for_the_authority(world: World) -> None:
    page = seen(world, CONNECT)
    assert page.count(SHOW_CONFIG) == 2, "at the kubeconfig and at the authority"
    assert page.count(SHOW_CONFIG_NARROW) == 1, "to run"
    assert page.count("kubectl config view") == 3
    guide = Path("docs/how-to/connect-a-kubernetes-cluster.md").read_text(encoding="utf-8")
    assert guide.count(SHOW_CONFIG) == guide.count("kubectl config view") == 1
    assert "base64 -d" not in guide
