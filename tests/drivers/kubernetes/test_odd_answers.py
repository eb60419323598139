"""What calls make of answers that a real cluster hardly ever gives."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    ObservedState,
    OwnedObject,
    Refused,
    Result,
    Submission,
    Unknown,
)
from gangline.drivers.kubernetes import effects, errors, jobs
from gangline.drivers.kubernetes.access import Options
from gangline.drivers.kubernetes.client import Answer
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.spec.workload import WorkerSpec
from tests.drivers.kubernetes import raw as made
from tests.drivers.kubernetes.scripted import ScriptedClient, page, status

CLAIMS = "/persistentvolumeclaims"


def attempt(driver: KubernetesDriver, no: int = 1) -> AttemptRef:
    submission = Submission(
        name="gang",
        project="vision",
        framework="PyTorch",
        configuration="workersOnly",
        num_workers=1,
        worker=WorkerSpec(image="registry.example/training:1", command="train"),
        master=None,
    )
    rendered = driver.render(submission)
    return AttemptRef("i", "w", no, "gang", "vision", submission=submission, rendered=rendered)


def test_a_name_that_is_taken_and_by_nobody_is_tried_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as for a while after a deletion, or behind a proxy that keeps answers."""
    monkeypatch.setattr(effects, "PATIENCE", 2.0)

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        return status(409, "AlreadyExists") if method == "POST" else status(404, "NotFound")

    client = ScriptedClient(say)
    driver = KubernetesDriver(client, Options())
    assert driver.create(attempt(driver)) == Busy(2.0, "The name is in use.")
    assert 2 <= client.count("POST") <= 5


def creating(answer: Answer) -> tuple[Result, ScriptedClient]:
    """What comes of a create to which the cluster says this."""

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        return answer if method == "POST" else status(404, "NotFound")

    client = ScriptedClient(say)
    driver = KubernetesDriver(client, Options())
    return driver.create(attempt(driver)), client


@pytest.mark.parametrize(
    "answer",
    [
        Answer(302, "<html>login</html>"),
        Answer(404, "default backend - 404"),
        Answer(404, "<html>Not Found</html>"),
        Answer(408, "<html>Request Timeout</html>"),
        Answer(403, {"error": "policy"}),
    ],
)
def test_a_stray_answer_of_a_proxy_ends_no_start(answer: Answer) -> None:
    """Whoever it comes from does not know whether the cluster would have taken it."""
    told, client = creating(answer)
    assert isinstance(told, Unknown)
    assert told.reason.startswith(f"A proxy in front of the cluster answered {answer.status}")
    assert client.count("POST") == 1


def test_a_kind_that_the_cluster_does_not_serve_is_an_operator_that_is_missing() -> None:
    told, _ = creating(Answer(404, "404 page not found\n"))
    assert told == Refused(errors.NO_OPERATOR)


def test_a_scheduler_whose_kind_is_missing_at_the_commit_is_named() -> None:
    job = made.job(suspend=True, intent="")
    job["metadata"]["annotations"][jobs.SCHEDULER] = "volcano"

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if method == "POST" and path.endswith("/podgroups"):
            return Answer(404, "404 page not found\n")
        return Answer(200, job) if "/pytorchjobs/" in path else page()

    driver = KubernetesDriver(ScriptedClient(say), Options(scheduler="volcano"))
    made_for = attempt(driver)
    ref = replace(made.REF, submission=made_for.submission, rendered=made_for.rendered)
    told = driver.commit(ref)
    words = (
        "The cluster does not know objects of kind PodGroup (scheduling.volcano.sh/v1beta1), which"
        " Volcano needs: install it there, or choose another scheduler for this cluster."
    )
    assert told == Refused(words)
    (problem,) = driver.dry_run(ref).problems
    assert words[:-1] in problem.message


@pytest.mark.parametrize("code", [429, 503])
def test_f12_a_cluster_that_is_busy_with_claims_is_busy(code: int) -> None:
    """Not in doubt: nothing is wrong, and everything of ours has to wait."""

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if path.endswith(CLAIMS):
            return status(code, "TooManyRequests", retry_after=9.0)
        if path.count("/") == 3:  # what the cluster knows
            return Answer(200, {"resources": []})
        return page() if method == "GET" and path.endswith("s") else status(404, "NotFound")

    driver = KubernetesDriver(ScriptedClient(say), Options())
    assert driver.delete(attempt(driver)) == Busy(9.0, is_for_all=True)


SEEN = AttemptRef(
    "install-a", "w-1", 1, "gang", "gangline-vision", rendered={"framework": "PyTorch"},
    ext_uid="job-1",
)  # fmt: skip


@pytest.mark.parametrize("act", ["suspend", "commit", "resume", "delete"])
def test_an_object_that_cannot_be_read_is_doubt(act: str) -> None:
    """Whatever it is: nothing of it is deleted."""

    def say(method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if path.count("/") == 3:
            return Answer(200, {"resources": [{"name": "pytorchjobs"}]})
        job = {"metadata": {"finalizers": 5}}
        return page(job) if path.endswith("/pytorchjobs") else Answer(200, job)

    client = ScriptedClient(say)
    driver = KubernetesDriver(client, Options())
    assert driver.observe(SEEN).state is ObservedState.UNKNOWN
    for found in (
        getattr(driver, act)(SEEN),
        driver.owned_objects("install-a"),
        driver.delete_object(OwnedObject(SEEN, "PyTorchJob")),
    ):
        assert isinstance(found, Unknown)
        assert "could not be read" in found.reason
    assert client.count("DELETE") == client.count("PATCH") == 0


NOWHERE = Answer(404, "404 page not found\n")
HERE = replace(made.REF, ext_uid="job-1")


class Without:
    """A cluster from which the operator of our jobs is removed."""

    def __init__(self, *lost: str) -> None:
        self.lost, self.is_there = lost, False
        """What a proxy finds no way to."""
        self.client = ScriptedClient(self.say)
        self.driver = KubernetesDriver(self.client, Options())

    def say(self, method: str, path: str, query: Mapping[str, Any]) -> Answer:
        if path in self.lost or (path.startswith("/apis/kubeflow.org/") and not self.is_there):
            return NOWHERE
        if path == "/apis":
            return Answer(200, {"kind": "APIGroupList", "groups": [{"name": "apps"}]})
        is_root = path in ("/apis/kubeflow.org/v1", "/apis/kubeflow.org/v2beta1")
        return Answer(200, {"resources": [{"name": "pytorchjobs"}]}) if is_root else page()


@pytest.mark.parametrize("ref", [HERE, replace(HERE, name="", rendered=None)])
def test_what_an_operator_took_along_is_gone(ref: AttemptRef) -> None:
    """With the kind, the cluster has removed every object of it."""
    driver = Without().driver
    assert driver.observe(ref).state is ObservedState.ABSENT
    assert driver.suspend(ref) == Done()
    assert driver.delete(ref) == Done()


@pytest.mark.parametrize("ref", [HERE, replace(HERE, name="", rendered=None)])
def test_nothing_is_gone_because_a_proxy_does_not_know_the_way(ref: AttemptRef) -> None:
    cluster = Without("/apis")
    seen = cluster.driver.observe(ref)
    assert (seen.state, seen.is_cut_off) == (ObservedState.UNKNOWN, False)
    assert "404" in seen.reason
    assert isinstance(cluster.driver.delete(ref), Unknown)


def test_an_operator_that_is_removed_while_its_kind_is_remembered() -> None:
    """The look after the first asks anew what the cluster knows."""
    cluster, ref = Without(), replace(HERE, name="", rendered=None)
    cluster.is_there = True
    assert cluster.driver.objects.served()
    cluster.is_there = False
    assert cluster.driver.observe(ref).state is ObservedState.UNKNOWN
    assert cluster.driver.observe(ref).state is ObservedState.ABSENT
