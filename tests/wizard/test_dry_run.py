"""Check in Review: the cluster is asked, and what it has against a value stands at its field."""

from pathlib import Path

import pytest

from gangline.clusters.models import Cluster
from gangline.spec.problems import Problem, Role
from tests.drivers.faults import Fault
from tests.drivers.faulty import FaultyCluster
from tests.support.engine import KIND, register_faulty
from tests.support.forms import Answer, Filler
from tests.support.world import World
from workloads.models import Attempt, Draft, Workload

MEMORY = "worker.compute.cpuMemoryRequest"
FIELD = "f-worker-compute-cpuMemoryRequest"
WORDS = "minimum memory usage per Container is 100Mi, but request is 64Mi"


@pytest.fixture
def truth(world: World, tmp_path: Path) -> FaultyCluster:
    """The world's cluster is one that fails as told."""
    register_faulty()
    truth = FaultyCluster(tmp_path / "cluster.db", idempotent=True)
    Cluster.objects.filter(pk=world.cluster.pk).update(
        kind=KIND, host_id="", config={"path": str(truth.path)}
    )
    return truth


def check(filler: Filler) -> Answer:
    """Press Check; the page that it leads to."""
    answer = filler.post("review", go="check")
    assert answer.status == 303
    assert answer.location.endswith("/review?check=cluster#check-cluster")
    return filler.get("review", check="cluster")


def told(answer: Answer) -> str:
    return answer.page.one(data_testid="check-cluster").text


def error_at(answer: Answer) -> str:
    found = answer.page.all(id=f"{FIELD}-e")
    return found[0].text if found else ""


def test_what_the_cluster_would_accept_is_said_with_the_time_and_what_was_asked(
    filler: Filler, truth: FaultyCluster
) -> None:
    filler.ready()
    assert "Not tested yet" in told(filler.get("review"))
    answer = check(filler)
    assert "would accept this workload" in told(answer)
    assert "the whole training" in told(answer)
    assert answer.page.one(id="wizard-form").attributes["data-focus"] == "check-cluster"
    assert [c.op for c in truth.calls("dry_run")] == ["dry_run"]
    assert truth.objects() == 0
    assert not Workload.objects.exists()
    # Nothing is lost on reload, and nobody is asked again for it.
    assert "would accept this workload" in told(filler.get("review"))
    assert len(truth.calls("dry_run")) == 1


def test_an_objection_stands_in_review_and_at_its_field(
    filler: Filler, truth: FaultyCluster
) -> None:
    filler.ready()
    truth.plan("dry_run", Fault.REFUSED, text=f"{MEMORY}: {WORDS}")
    answer = check(filler)
    assert "rejected this workload" in told(answer)
    (link,) = [e for e in answer.page.all(**{"class": "errors-link"}) if WORDS in e.text][:1]
    assert link.attributes["href"] == f"{filler.url('workers')}?check=1#{FIELD}"
    assert "Memory request is not accepted by the cluster" in link.text
    workers = filler.get("workers", check="1")
    assert WORDS in error_at(workers)
    assert FIELD in workers.page.links
    # Also for one who comes there by another way.
    assert WORDS in error_at(filler.get("workers"))


def test_an_objection_holds_nobody_back_and_goes_once_its_field_is_changed(
    filler: Filler, truth: FaultyCluster
) -> None:
    filler.ready()
    truth.plan("dry_run", Fault.REFUSED, text=f"{MEMORY}: {WORDS}")
    check(filler)
    # Another field: the objection still holds, and the answer as a whole is of before.
    assert filler.post("workers", {"worker.command": "python other.py"}).status == 303
    assert WORDS in error_at(filler.get("workers"))
    assert "before your last changes" in told(filler.get("review"))
    filler.post("workers", {MEMORY: "300"})
    assert error_at(filler.get("workers")) == ""
    assert "Changed since" in told(filler.get("review"))
    assert "would accept this workload" in told(check(filler))
    assert filler.post("review", go="create").status == 303


def test_an_objection_without_a_field_is_told_in_review_alone(
    filler: Filler, truth: FaultyCluster
) -> None:
    filler.ready()
    truth.plan("dry_run", Fault.REFUSED, text="violates PodSecurity <restricted>")
    answer = check(filler)
    assert "The cluster refuses it: violates PodSecurity <restricted>" in told(answer)
    assert "&lt;restricted&gt;" in answer.page.html
    assert answer.page.links == []
    assert not filler.get("workers", check="1").page.has(data_testid="problem-summary")


def test_doubt_is_never_shown_as_consent(filler: Filler, truth: FaultyCluster) -> None:
    filler.ready()
    truth.set_unreachable(True)
    answer = check(filler)
    assert "failed" in told(answer)
    assert "Not checked: The cluster does not answer." in told(answer)
    assert "would accept" not in answer.page.html


def test_our_own_checks_come_first(filler: Filler, truth: FaultyCluster) -> None:
    filler.ready()
    filler.post("workers", {"worker.numWorkers": "0"}, go="step:review")
    answer = check(filler)
    assert truth.calls("dry_run") == []
    assert "Not tested yet" in told(answer)
    assert answer.page.has(data_testid="problem-summary")


def test_check_saves_what_was_typed_as_every_button_does(
    filler: Filler, truth: FaultyCluster
) -> None:
    filler.ready()
    assert filler.post("workers", {MEMORY: "777"}, go="check").status == 303
    assert Draft.objects.get(pk=filler.draft).inputs["workers"]["compute.cpuMemoryRequest"]
    assert "would accept this workload" in told(filler.get("review"))


def test_a_copy_of_what_was_refused_begins_with_the_refusal_at_its_field(
    filler: Filler, truth: FaultyCluster
) -> None:
    filler.ready()
    filler.post("review", go="create")
    workload = Workload.objects.get()
    problem = Problem.of(
        Role.WORKER, "compute.cpuMemoryRequest", "cluster:not_accepted", said=WORDS,
        accepted="at least 100Mi", label="Memory request",
    )  # fmt: skip
    refused = Attempt.objects.filter(workload=workload)
    refused.update(refusal=[problem.as_stored()], ended_at=workload.due_at)
    answer = filler.client.post("/workloads/drafts", {"from": str(workload.pk)})
    filler.draft = Draft.objects.exclude(pk=filler.draft).get().pk
    assert answer.status_code == 303
    assert "rejected this workload" in told(filler.get("review"))
    assert WORDS in error_at(filler.get("workers"))
    filler.post("workers", {MEMORY: "300"})
    assert error_at(filler.get("workers")) == ""


def test_the_verdict_is_that_of_the_cluster_and_create_asks_once(
    filler: Filler, truth: FaultyCluster
) -> None:
    """Of what a master has from the workers, the objection is told once."""
    filler.ready()
    filler.post("master", {"master.different~asked": "1", "master.different": "on"}, go="apply")
    text = f"master.command: {WORDS}\nworker.command: {WORDS}"
    truth.plan("dry_run", Fault.REFUSED, text=text)
    answer = check(filler)
    assert told(answer).count(WORDS) == 1
    assert "tone-bad" in answer.page.one(data_testid="bar-verdict").attributes["class"]
    assert "tone-bad" in answer.page.one(data_testid="verdict").attributes["class"]
    assert "Starts immediately" not in answer.page.html
    asked = filler.post("review", go="create")
    assert asked.status == 200
    assert WORDS in asked.page.html
    assert not Workload.objects.exists()
    assert asked.page.one(name="_go").attributes["value"] == "create:anyway"
    assert filler.post("review", go="create:anyway").status == 303
    assert Workload.objects.count() == 1
