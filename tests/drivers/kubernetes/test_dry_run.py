"""What a real API server, its checks and the operators' webhooks say to a training nobody makes.

Everything is asked as the user of the shipped roles.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, DryRunResult, NotYet, ObservedState, Refused
from gangline.drivers.kubernetes import deadlines, labels
from gangline.drivers.kubernetes.access import ClusterCredentials, Options
from gangline.drivers.kubernetes.client import Answer, Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.namespaces import BINDINGS, Namespaces
from gangline.drivers.kubernetes.resources import NAMESPACES, PODS, Resource
from gangline.spec.problems import Problem, Role
from gangline.spec.workload import ReplicaSpec
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import must
from tests.drivers.kubernetes.harness import JOBS, Ground, changed, ground, stranger
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes

LIMIT_RANGES = Resource("", "v1", "limitranges", "LimitRange")
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
Found = tuple[str, str]


@pytest.fixture
def place(bed: Bed, tmp_path: Path) -> Iterator[Ground]:
    """A project's namespace in which a training has been made before."""
    with (
        ground(bed, tmp_path) as made,
        bed.namespace(**{labels.INSTALL: made.install}) as name,
    ):
        made.namespace = name
        assert Namespaces(made.client).prepare(name, made.install) is None
        yield made


def asked(place: Ground, *, master: dict[str, Any] | None = None, **worker: Any) -> AttemptRef:
    """An attempt with these values beside an image and a command."""
    base = place.ref()
    assert base.submission is not None
    common = base.submission.worker
    own = ReplicaSpec(image=common.image, command=common.command)
    named = {path.replace("__", "."): value for path, value in worker.items()}
    submission = replace(
        base.submission,
        worker=changed(common, named),
        master=None if master is None else changed(own, master),
        configuration="workersOnly" if master is None else "workersAndMaster",
    )
    return replace(base, submission=submission, rendered=place.driver.render(submission))


def dry_run_of(place: Ground, **values: Any) -> DryRunResult:
    return place.driver.dry_run(asked(place, **values))


def fields(told: DryRunResult) -> list[Found]:
    return [(str(p.role), p.path) for p in told.problems]


def said(told: DryRunResult, path: str) -> Problem:
    return next(p for p in told.problems if p.path == path)


def test_what_the_cluster_would_take_is_told_with_what_was_asked(place: Ground) -> None:
    told = dry_run_of(place, master={})
    assert told.problems == ()
    assert told.doubts == ()
    assert told.asked == ("the PyTorchJob", "the pod of the master", "a pod of the workers")


@pytest.mark.thorough
def test_nothing_is_made(place: Ground) -> None:
    ref = asked(place)
    place.driver.dry_run(ref)
    assert place.driver.observe(ref).state is ObservedState.ABSENT
    assert place.bed.client.list(PODS, place.namespace).body["items"] == []
    assert place.bed.client.list(JOBS, place.namespace).body["items"] == []


def test_the_operators_webhook_is_heard_at_the_field(place: Ground) -> None:
    ref = asked(place)
    _job(ref)["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] = ""
    told = place.driver.dry_run(ref)
    assert set(fields(told)) == {("worker", "image")}
    assert "Required value" in said(told, "image").message


@pytest.mark.thorough
def test_a_field_that_the_operator_does_not_know_is_named(place: Ground) -> None:
    ref = asked(place)
    _job(ref)["runPolicy"]["fromTomorrow"] = 1
    told = place.driver.dry_run(ref)
    (problem,) = told.problems
    assert (problem.role, problem.path) == (Role.WORKLOAD, "")
    assert problem.message == (
        "refuses it: spec.runPolicy.fromTomorrow: unknown field spec.runPolicy.fromTomorrow"
    )
    assert "the PyTorchJob" not in told.asked


@pytest.mark.thorough
def test_a_bad_value_of_a_list_is_at_its_item(place: Ground) -> None:
    """Values that the spec would refuse: what a cluster has against others is told like that."""
    ref = asked(
        place,
        labels=[{"name": "team", "value": "a"}, {"name": "b", "value": "x"}],
        tolerations=[
            {"name": "t1", "key": "ok", "operator": "Exists", "effect": "NoSchedule"},
            {"name": "t2", "key": "gpu", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
        ],
        compute__extendedResources=[{"resource": "rdma/hca", "quantity": "1"}],
    )

    def spoil(worker: Any) -> None:
        worker.labels[1].__dict__["name"] = "a b"
        worker.tolerations[1].__dict__["value"] = "a b"
        worker.compute.extended_resources[0].__dict__["resource"] = "foo"

    told = place.driver.dry_run(_spoilt(place, ref, spoil))
    assert {
        ("worker", "labels.1.name"),
        ("worker", "tolerations.1.operator"),
        ("worker", "compute.extendedResources.0.resource"),
    } == set(fields(told))
    assert said(told, "labels.1.name").key == "a b"


@pytest.mark.thorough
def test_limits_of_the_namespace_are_at_the_requests_and_limits(place: Ground) -> None:
    _limit(place, {"type": "Container", "min": {"memory": "100Mi"}, "max": {"cpu": "2"}})
    told = _until(
        place,
        lambda: dry_run_of(place, compute__cpuMemoryRequest="64Mi", compute__cpuCoreLimit=3.0),
    )
    assert fields(told) == [
        ("worker", "compute.cpuMemoryRequest"),
        ("worker", "compute.cpuCoreLimit"),
    ]
    memory = said(told, "compute.cpuMemoryRequest")
    assert memory.message == (
        "is not accepted by the cluster: "
        "minimum memory usage per Container is 100Mi, but request is 64Mi"
    )
    assert (memory.value, memory.accepted) == ("64Mi", "at least 100Mi")


def test_a_quota_is_at_the_field_that_exceeds_it_and_at_one_that_it_misses(place: Ground) -> None:
    _quota(place, {"requests.nvidia.com/gpu": "4", "limits.memory": "10Gi"})
    told = _until(place, lambda: dry_run_of(place, compute__gpuDevicesRequest=8))
    assert fields(told) == [("worker", "compute.cpuMemoryLimit")]
    assert "must specify limits.memory" in told.problems[0].message
    told = dry_run_of(place, compute__gpuDevicesRequest=8, compute__cpuMemoryLimit="1Gi")
    assert fields(told) == [("worker", "compute.gpuDevicesRequest")]
    assert told.problems[0].message.endswith(
        "exceeded quota team-a: requested requests.nvidia.com/gpu=8, used 0, limited to 4"
    )


@pytest.mark.thorough
def test_pod_security_is_told_of_the_whole_in_its_own_words(place: Ground) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    must(place.bed.client.patch(NAMESPACES, "", place.namespace, label))
    told = _until(place, lambda: dry_run_of(place, master={}))
    (problem,) = told.problems
    assert problem.path == ""
    assert problem.sentence.startswith('The cluster refuses it: violates PodSecurity "restricted')
    assert told.asked == ("the PyTorchJob",)


@pytest.mark.thorough
def test_a_priority_class_that_is_not_there_is_at_its_field(place: Ground) -> None:
    told = dry_run_of(place, master={}, priorityClass="nope")
    assert fields(told) == [("worker", "priorityClass")]
    assert told.problems[0].value == "nope"
    assert "no PriorityClass with name nope was found" in told.problems[0].message


@pytest.mark.thorough
def test_the_masters_own_value_is_at_the_master(place: Ground) -> None:
    _limit(place, {"type": "Container", "max": {"memory": "1Gi"}})
    told = _until(
        place,
        lambda: dry_run_of(
            place, master={"compute.cpuMemoryLimit": "2Gi"}, compute__cpuMemoryLimit="512Mi"
        ),
    )
    assert fields(told) == [("master", "compute.cpuMemoryLimit")]


@pytest.mark.thorough
def test_a_name_that_others_use_is_at_the_name(place: Ground) -> None:
    ref = asked(place)
    theirs = {**ref.rendered["job"], "metadata": {"name": ref.name}}
    must(place.bed.client.create(JOBS, place.namespace, theirs))
    told = place.driver.dry_run(ref)
    assert fields(told) == [("workload", "name")]
    assert "PyTorchJob that Gangline did not make" in told.problems[0].message


# Doubt


@pytest.mark.thorough
def test_a_namespace_that_does_not_exist_yet_is_doubt_and_is_not_made(
    bed: Bed, tmp_path: Path
) -> None:
    with ground(bed, tmp_path) as place:
        told = dry_run_of(place)
        assert (told.problems, told.asked) == ((), ())
        (doubt,) = told.doubts
        assert doubt.startswith(f"The namespace {place.namespace} does not exist yet")
        assert bed.client.get(NAMESPACES, "", place.namespace).status == 404


@pytest.mark.thorough
def test_a_right_that_gangline_gives_itself_later_is_doubt(place: Ground) -> None:
    _without_binding(place)
    told = _until(place, lambda: dry_run_of(place), wanted=lambda told: not told.asked)
    assert told.problems == ()
    assert "gets it with the next workload" in told.doubts[0]


@pytest.mark.thorough
def test_in_a_namespace_of_others_no_right_is_given(place: Ground, bed: Bed) -> None:
    marks = {"metadata": {"labels": {labels.INSTALL: None}}}
    must(bed.client.patch(NAMESPACES, "", place.namespace, marks))
    _without_binding(place)
    told = _until(place, lambda: dry_run_of(place), wanted=lambda told: not told.asked)
    assert "was not created by Gangline" in told.problems[0].message
    done = place.driver.create(asked(place))
    assert isinstance(done, Refused)
    assert "was not created by Gangline" in done.reason
    assert not bed.client.list(BINDINGS, place.namespace).body["items"]


@pytest.mark.thorough
def test_a_right_that_is_missing_for_good_is_an_objection(place: Ground, bed: Bed) -> None:
    driver = KubernetesDriver(Client(stranger(bed)), Options())
    told = driver.dry_run(asked(place))
    assert told.asked == ()
    (problem,) = told.problems
    assert problem.path == ""
    assert "may not create pytorchjobs (kubeflow.org)" in problem.message
    assert any("pods" in doubt for doubt in told.doubts)


@pytest.mark.thorough
def test_an_outage_is_doubt(place: Ground) -> None:
    driver = KubernetesDriver(
        Client(ClusterCredentials("https://127.0.0.1:1", token="x")), Options()
    )
    told = driver.dry_run(asked(place))
    assert (told.problems, told.asked) == ((), ())
    assert told.doubts[0].endswith("the rest was not checked.")


@pytest.mark.thorough
def test_a_check_that_does_not_answer_is_doubt(place: Ground) -> None:
    failing = Answer(
        500,
        {
            "message": "Internal error occurred: failed calling webhook "
            '"validator.pytorchjob.training-operator.kubeflow.org": failed to call webhook: '
            'Post "https://training-operator.kubeflow.svc:443/validate": dial tcp: refused'
        },
    )
    place.client.fault = lambda method, path, really: (
        failing if path.endswith("/pytorchjobs") else really()
    )
    told = dry_run_of(place)
    assert told.problems == ()
    assert told.asked == ("a pod of the workers",)
    assert told.doubts == (
        "The training-operator, whom the cluster asks, does not answer; "
        "the PyTorchJob was not checked.",
    )


@pytest.mark.thorough
def test_no_time_left_is_doubt(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "BUDGET", 0.0)
    told = dry_run_of(place)
    assert (told.problems, told.asked) == ((), ())
    assert told.doubts == ("The cluster answers too slowly; the rest was not checked.",)


# The real create


@pytest.mark.thorough
def test_f14_what_the_cluster_refuses_for_good_is_told_with_its_field(place: Ground) -> None:
    _quota(place, {"count/pytorchjobs.kubeflow.org": "0"})
    ref = asked(place, labels=[{"name": "a", "value": "x"}])
    ref = _spoilt(place, ref, lambda worker: worker.labels[0].__dict__.update(name="a b"))
    told = place.driver.create(ref)
    assert isinstance(told, Refused)
    assert [p.path for p in told.problems] == ["labels.0.name"]
    again = _until_refused(place, asked(place))
    assert again.reason.startswith("Exceeded quota: team-a, requested: count/pytorchjobs")
    assert [(p.path, p.label) for p in again.problems] == [("", "The cluster")]


def _spoilt(place: Ground, ref: AttemptRef, spoil: Callable[[Any], None]) -> AttemptRef:
    """With values of the workers that the spec would refuse."""
    assert ref.submission is not None
    spoil(ref.submission.worker)
    return replace(ref, rendered=place.driver.render(ref.submission))


def _until_refused(place: Ground, ref: AttemptRef) -> Refused:
    def refused() -> Refused | None:
        told = place.driver.create(ref)
        if isinstance(told, NotYet):
            place.driver.delete(ref)
        return told if isinstance(told, Refused) else None

    found = wait_for(refused, what="the quota")
    assert found is not None
    return found


def _until(
    place: Ground,
    dry_run: Callable[[], DryRunResult],
    wanted: Callable[[DryRunResult], object] = lambda told: told.problems,
) -> DryRunResult:
    """A dry run once the API server has heard of what was changed beside it."""
    found = wait_for(lambda: told if wanted(told := dry_run()) else None, what="the change")
    assert found is not None
    return found


def _job(ref: AttemptRef) -> dict[str, Any]:
    spec: dict[str, Any] = ref.rendered["job"]["spec"]
    return spec


def _limit(place: Ground, limit: dict[str, Any]) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "sizes"},
        "spec": {"limits": [limit]},
    }
    must(place.bed.client.create(LIMIT_RANGES, place.namespace, body))


def _quota(place: Ground, hard: dict[str, str]) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team-a"},
        "spec": {"hard": hard},
    }
    must(place.bed.client.create(QUOTAS, place.namespace, body))

    def is_counted() -> bool:
        answer = place.bed.client.get(QUOTAS, place.namespace, "team-a")
        return bool(answer.body.get("status", {}).get("used"))

    def is_counted_at_last() -> bool:
        """Counted, or made anew: a controller that has just started learns of the kinds every 30 s,
        and looks at a quota that it met before only after minutes."""
        try:
            return wait_for(is_counted, seconds=10, what="the quota's first count")
        except AssertionError:
            there = place.bed.client.get(QUOTAS, place.namespace, "team-a").body["metadata"]
            must(place.bed.client.delete(QUOTAS, place.namespace, "team-a", uid=there["uid"]))
            must(place.bed.client.create(QUOTAS, place.namespace, body))
            return False

    wait_for(is_counted_at_last, seconds=120, what="a quota that is counted")


def _without_binding(place: Ground) -> None:
    path = BINDINGS.path(place.namespace, "gangline-project")
    must(place.bed.client.request("DELETE", path))
