"""Another credential for a connected cluster: stored only after a whole check found it good."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from gangline.audit.models import AuditEntry
from gangline.clusters import checks, credentials
from gangline.clusters.models import Cluster, Credential
from gangline.drivers.checks import State
from gangline.drivers.kubernetes import permissions, probe
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.drivers.kubernetes.kind import Kubernetes
from gangline.drivers.kubernetes.steps import StepName
from gangline.resources.services import make
from tests.support.api_server import Script, answering
from tests.support.connected import GROUPS, SECRET, Post, browser, by_token, seen
from tests.support.world import World

pytestmark = pytest.mark.usefixtures("loopback_admitted", "checks_at_once")


def test_a_credential_is_stored_only_after_the_check_found_it_good(
    world: World, post: Post, lab: Cluster, server: ClusterCredentials
) -> None:
    before = Credential.objects.get(cluster=lab)
    address = f"/clusters/{lab.pk}/credential"
    assert post(address, **by_token(server, "another")).status_code == 302
    assert credentials.access_of(Cluster.objects.get(pk=lab.pk)).token == "another"
    assert Credential.objects.get().fingerprint != before.fingerprint
    page = seen(world, f"/clusters/{lab.pk}/checks")
    assert 'data-step="Credential" data-state="ok"' in page
    assert "another" not in page.replace("another cluster", "").replace("choose another", "")
    entry = AuditEntry.objects.get(action="cluster.edit")
    assert entry.detail["signs_in_with"]["to"].startswith("token ")


@pytest.mark.parametrize(
    "fault", ["dead", "rights", "elsewhere", "overtaken", "late", "broken", "nameless"]
)
def test_the_old_credential_holds_where_the_new_one_fails(
    world: World, post: Post, lab: Cluster, server: ClusterCredentials, script: Script, fault: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    department = make("department", cluster=lab, name="far")
    make("project", department=department, name="away")
    before = Credential.objects.get(cluster=lab)
    fields = by_token(server, "another")
    if fault == "dead":
        fields["server"] = "https://127.0.0.1:9"
    elif fault == "rights":
        script.allowed = False
    elif fault == "elsewhere":
        script.uid = "two"
    elif fault == "nameless":
        script.uid = ""
    elif fault == "late":
        _time_is_over_before(monkeypatch, "Permissions")
    elif fault == "broken":
        monkeypatch.setattr(permissions, "judge", _breaks)
    else:
        real = probe.probe

        def change_meanwhile(*arguments: Any, **named: Any) -> Any:
            Cluster.objects.filter(pk=lab.pk).update(version=99)
            return real(*arguments, **named)

        monkeypatch.setattr(probe, "probe", change_meanwhile)
    assert post(f"/clusters/{lab.pk}/credential", **fields).status_code == 302
    assert Credential.objects.get().sealed == before.sealed
    now = Cluster.objects.get(pk=lab.pk)
    assert (now.health, now.config) == ("Connected", lab.config)
    says = {
        "dead": "refuses connections",
        "rights": "Not saved: Gangline would lack permissions that it needs.",
        "elsewhere": "It belongs to a different cluster. Connect that one separately.",
        "overtaken": "changed the cluster during the check.",
        "late": "Not saved: The check did not finish.",
        "broken": "Not saved: The check did not finish.",
        "nameless": "Gangline cannot tell whether this is the same cluster",
    }[fault]
    page = seen(world, f"/clusters/{lab.pk}/checks")
    assert says in page
    assert "The previous credential is still in use." in page
    last = AuditEntry.objects.filter(action="cluster.credential").latest("pk")
    assert last.result == "failed"
    assert "another" not in repr(last.detail)


@pytest.mark.parametrize("fault", ["late", "broken"])
def test_half_a_look_stores_no_credential_even_where_rights_may_be_missing(
    world: World,
    post: Post,
    lab: Cluster,
    server: ClusterCredentials,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    """Without the facts nobody knows which cluster it leads to."""
    if fault == "late":
        _time_is_over_before(monkeypatch, "Operators")
    else:
        monkeypatch.setattr(permissions, "judge", _breaks)
    post(f"/clusters/{lab.pk}/credential", anyway="1", **by_token(server, "another"))
    now = Cluster.objects.get(pk=lab.pk)
    assert credentials.access_of(now).token == SECRET
    assert now.facts == lab.facts


def test_a_credential_may_be_stored_although_rights_are_missing(
    world: World, post: Post, lab: Cluster, server: ClusterCredentials, script: Script
) -> None:
    script.allowed = False
    post(f"/clusters/{lab.pk}/credential", anyway="1", **by_token(server, "another"))
    assert credentials.access_of(Cluster.objects.get(pk=lab.pk)).token == "another"


TWIN = "This cluster is already connected as lab. Replace its credential"


def test_a_credential_that_leads_to_another_connected_cluster_is_refused(
    world: World, post: Post, lab: Cluster, server: ClusterCredentials
) -> None:
    with answering(Script(groups=GROUPS, uid="two")) as elsewhere:
        post("/clusters/new", name="second", **by_token(elsewhere))
    second = Cluster.objects.get(name="second")
    before = Credential.objects.get(cluster=second)
    answer = post(f"/clusters/{second.pk}/credential", **by_token(server, "another"))
    assert answer.status_code == 422
    assert 'href="#f-server"' in answer.content.decode()
    assert TWIN in answer.content.decode()
    assert Credential.objects.get(cluster=second).sealed == before.sealed
    assert not Cluster.objects.get(pk=second.pk).connection_check.is_trial


def test_the_whole_check_refuses_a_twin_that_was_not_known_at_once(
    world: World, post: Post, lab: Cluster, server: ClusterCredentials, script: Script,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    with answering(Script(groups=GROUPS, uid="two")) as elsewhere:
        post("/clusters/new", name="second", **by_token(elsewhere))
    second = Cluster.objects.get(name="second")
    before = Credential.objects.get(cluster=second)
    monkeypatch.setattr(Kubernetes, "uid", lambda kind, access, site: "")
    post(f"/clusters/{second.pk}/credential", **by_token(server, "another"))
    assert TWIN in seen(world, f"/clusters/{second.pk}/checks")
    assert Credential.objects.get(cluster=second).sealed == before.sealed


def _breaks(*arguments: object) -> None:
    raise ZeroDivisionError


def _time_is_over_before(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The budget of a check runs out after what comes before the steps that may be skipped."""
    real = probe._Look._guarded

    def guarded(self: probe._Look, name: StepName, act: Callable[[], None]) -> None:
        if name == step:
            self.until = time.monotonic() - 1
        real(self, name, act)

    monkeypatch.setattr(probe._Look, "_guarded", guarded)


def test_what_to_do_about_a_failed_check_stands_on_the_first_page(
    world: World, post: Post, lab: Cluster, script: Script
) -> None:
    address = f"/clusters/{lab.pk}"
    assert browser(world, "administrator").get(address).context["advice"] is None
    script.allowed = False
    post(f"{address}/check")
    progress = checks.progress(Cluster.objects.get(pk=lab.pk))
    assert progress is not None
    failed = next(step for step in progress.steps if step.state == State.FAILED)
    page = browser(world, "administrator").get(address)
    assert page.context["advice"] == (failed.sentence, failed.fix)
