"""One Kubernetes cluster is connected once, whatever its address and whoever signs in."""

import json

import pytest

from gangline.audit.models import AuditEntry
from gangline.clusters.models import Cluster, ConnectionCheck, Credential
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.scopes.models import Scope
from tests.support.api_server import Script
from tests.support.certificates import data, kubeconfig
from tests.support.connected import Post, by_token

pytestmark = pytest.mark.usefixtures("loopback_admitted", "checks_at_once")
TWIN = "This cluster is already connected as lab. Replace its credential on its page instead."


@pytest.mark.parametrize(("way", "field"), [("token", "server"), ("kubeconfig", "kubeconfig")])
def test_the_same_cluster_under_another_name_is_refused_at_its_field(
    post: Post, lab: Cluster, server: ClusterCredentials, way: str, field: str
) -> None:
    fields = by_token(server, "another")
    if way == "kubeconfig":
        authority = data(server.certificate_authority)
        config = kubeconfig(
            {"server": server.server, "certificate-authority-data": authority},
            user={"token": "another"},
        )
        fields = {"way": way, "kubeconfig": json.dumps(config)}
    answer = post("/clusters/new", name="second", **fields)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert page.count(TWIN) == 2, "in the summary, and at the field"
    assert f'href="#f-{field}"' in page
    assert "Nothing was saved." in page
    assert not Scope.objects.filter(name="second").exists()
    assert Cluster.objects.filter(kind="kubernetes").get().pk == lab.pk
    assert (Credential.objects.count(), ConnectionCheck.objects.count()) == (1, 1)
    assert not AuditEntry.objects.filter(object_name="second").exists()


def test_it_is_known_before_the_first_check_has_ended(
    post: Post,
    lab: Cluster,
    server: ClusterCredentials,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script.uid = "two"
    with monkeypatch.context() as patch:
        patch.setattr("gangline.clusters.checks.check", lambda **known: None)
        assert post("/clusters/new", name="new", **by_token(server)).status_code == 302
    assert post("/clusters/new", name="again", **by_token(server)).status_code == 422


def test_one_whose_uid_cannot_be_read_is_let_through(
    post: Post, lab: Cluster, server: ClusterCredentials, script: Script
) -> None:
    script.uid = ""
    assert post("/clusters/new", name="second", **by_token(server)).status_code == 302
    assert Cluster.objects.filter(kind="kubernetes").count() == 2
