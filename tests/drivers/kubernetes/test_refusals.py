"""From the place that a cluster refuses back to the field of the form."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, Submission
from gangline.drivers.kubernetes import manifests, mapping
from gangline.drivers.kubernetes.client import Answer
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.refusals import problems, refusals
from gangline.drivers.mapping import To
from gangline.spec.problems import Problem, Role
from gangline.spec.typed import typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec

WORKER: dict[str, Any] = {
    "image": "registry.example/training:1",
    "imagePullPolicy": "Always",
    "command": "python train.py",
    "args": "--epochs 3",
    "workingDir": "/work",
    "environmentVariables": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "compute.gpuDevicesRequest": 2,
    "compute.cpuCoreRequest": 2.0,
    "compute.cpuCoreLimit": 4.0,
    "compute.cpuMemoryRequest": "1Gi",
    "compute.cpuMemoryLimit": "2Gi",
    "compute.largeShmRequest": True,
    "compute.extendedResources": [{"resource": "example.com/ib", "quantity": "1"}],
    "nodeType": "dgx",
    "tolerations": [{"name": "gpus", "key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "labels": [{"name": "team", "value": "a"}],
    "annotations": [{"name": "note", "value": "b"}],
    "priorityClass": "high",
    "terminationGracePeriodSeconds": 60,
}
LEAD = {"labels": [{"name": "lead", "value": "x"}]}
WORKERS = ("job", "spec", "pytorchReplicaSpecs", "Worker", "template")
REQUESTS = "spec.containers[0].resources.requests"


def attempt(
    changes: Mapping[str, Any] = MappingProxyType({}),
    of_master: Mapping[str, Any] = MappingProxyType(LEAD),
    *,
    framework: str = "PyTorch",
    with_master: bool = True,
) -> AttemptRef:
    submission = Submission(
        name="gang",
        project="vision",
        framework=framework,
        configuration="workersAndMaster" if with_master else "workersOnly",
        num_workers=3,
        worker=typed(WorkerSpec, {**WORKER, **changes}),
        master=typed(ReplicaSpec, {**WORKER, **of_master}) if with_master else None,
    )
    rendered = manifests.render(submission, "plain")
    return AttemptRef("i", "w", 1, "gang", submission=submission, rendered=rendered)


def at(ref: AttemptRef, role: str, path: str, words: str = "no") -> Problem:
    """The problem of a refusal at ``path`` of a pod of ``role``."""
    assert ref.submission is not None
    within = ("job", "spec", KINDS[ref.submission.framework].replicas, role, "template")
    return one(ref, within, refusal(words, [{"field": path, "message": words}] if path else None))


def one(ref: AttemptRef, within: tuple[str, ...], answer: Answer) -> Problem:
    (problem,) = problems(ref, within, answer)
    return problem


def test_every_field_that_becomes_part_of_a_pod_has_a_place() -> None:
    """But for what a scheduler reads in annotations."""
    placed = {path for paths in mapping._FIELDS.values() for path in paths}
    by_resource = {"compute.gpuDevicesRequest", "compute.extendedResources"}
    shares = {p for p in mapping.MAPPED if mapping.ROLE.get(p, To("")).target.startswith("share")}
    assert placed | by_resource | shares | mapping.SHAPE | mapping.JOB.keys() == mapping.MAPPED


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("spec.containers[0].image", "image"),
        ("spec.containers[0].imagePullPolicy", "imagePullPolicy"),
        ("spec.containers[0].resources.limits[cpu]", "compute.cpuCoreLimit"),
        ("spec.containers[0].resources.requests[memory]", "compute.cpuMemoryRequest"),
        ("spec.containers[0].resources.limits[nvidia.com/gpu]", "compute.gpuDevicesRequest"),
        ("spec.containers[0].resources.requests[nvidia.com/gpu]", "compute.gpuDevicesRequest"),
        (
            "spec.containers[0].resources.limits[example.com/ib]",
            "compute.extendedResources.0.resource",
        ),
        ("spec.volumes[0].emptyDir.medium", "compute.largeShmRequest"),
        ("spec.affinity.nodeAffinity", "nodeType"),
        ("spec.tolerations[0].operator", "tolerations.0.operator"),
        ("metadata.labels[team]", "labels.0.name"),
        ("spec.priorityClassName", "priorityClass"),
        ("spec.terminationGracePeriodSeconds", "terminationGracePeriodSeconds"),
    ],
)
def test_a_place_in_a_pod_is_the_workers_field(path: str, field: str) -> None:
    found = at(attempt(), "Worker", path)
    assert (found.role, found.path) == (Role.WORKER, field)


def test_a_variable_is_found_among_those_of_gangline_itself() -> None:
    ref = attempt()
    template = ref.rendered["job"]["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    names = [variable["name"] for variable in template["spec"]["containers"][0]["env"]]
    index = names.index("B")
    assert index > 1
    found = at(ref, "Worker", f"spec.containers[0].env[{index}].value")
    assert (found.path, found.key) == ("environmentVariables.1.value", "B")


def test_a_mount_is_found_at_its_volume() -> None:
    ref = attempt({"storage.pvc": [THERE, DATA]})
    found = at(ref, "Worker", "spec.containers[0].volumeMounts[2].mountPath")
    assert (found.path, found.key) == ("storage.pvc.1.name", "data")


def test_a_place_in_the_master_is_the_masters_unless_it_exists_once() -> None:
    assert at(attempt(), "Master", "spec.containers[0].image").role is Role.MASTER
    assert at(attempt(), "Master", "metadata.labels[lead]").path == "labels.0.name"
    assert at(attempt(), "Master", "spec.priorityClassName").role is Role.WORKER


@pytest.mark.parametrize("path", ["compute.cpuMemoryLimit", "priorityClass"])
def test_a_field_without_a_value_is_found_by_where_it_would_be(path: str) -> None:
    native = {
        "compute.cpuMemoryLimit": "spec.containers[0].resources.limits[memory]",
        "priorityClass": "spec.priorityClassName",
    }[path]
    without: dict[str, Any] = {path: None, "compute.largeShmRequest": None}
    found = at(attempt(without), "Worker", native)
    assert (found.role, found.path) == (Role.WORKER, path)


@pytest.mark.parametrize("path", ["spec.hostPID", "spec.containers", "", "x[", "spec..a", "]"])
def test_what_belongs_to_no_field_is_about_the_whole(path: str) -> None:
    found = at(attempt(), "Worker", path)
    assert (found.role, found.path, found.label) == (Role.WORKLOAD, "", "The cluster")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("metadata.name", "name"),
        ("spec.pytorchReplicaSpecs[Worker].replicas", "numWorkers"),
        ("spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].image", "image"),
        ("spec.runPolicy.schedulingPolicy", ""),
    ],
)
def test_places_in_the_job_itself(path: str, field: str) -> None:
    answer = refusal("no", [{"field": path, "message": "no"}])
    assert one(attempt(), ("job",), answer).path == field


def test_an_item_that_only_the_words_quote_is_found() -> None:
    ref = attempt({"labels": [{"name": "ok", "value": "1"}, {"name": "beta", "value": "2"}]})
    words = 'Invalid value: "beta": name part must consist of alphanumeric characters'
    assert at(ref, "Worker", "metadata.labels", words).path == "labels.1.name"


@pytest.mark.parametrize("framework", sorted(KINDS))
def test_every_framework_has_its_places(framework: str) -> None:
    ref = attempt(framework=framework, with_master=False)
    worker = KINDS[framework].roles["worker"]
    assert at(ref, worker, "spec.containers[0].image").path == "image"


def test_a_place_in_a_jobset_is_one_of_its_role() -> None:
    ref = attempt(framework="MXNet")
    inner = "spec.replicatedJobs[1].template.spec"

    def found(path: str) -> Problem:
        return one(ref, ("job",), refusal("no", [{"field": path, "message": "no"}]))

    image = found(f"{inner}.template.spec.containers[0].image")
    assert (image.role, image.path) == (Role.MASTER, "image")
    assert found(f"{inner}.parallelism").path == "numServers"


@pytest.mark.parametrize(
    ("words", "field", "accepted"),
    [
        (
            'Invalid value: "1Gi": must be less than or equal to memory limit of 512Mi',
            "compute.cpuMemoryRequest",
            "at most 512Mi",
        ),
        (
            'Invalid value: "2": must be less than or equal to cpu limit of 500m',
            "compute.cpuCoreRequest",
            "at most 500m",
        ),
    ],
)
def test_a_request_above_its_limit_is_found_by_the_resource_that_the_words_name(
    words: str, field: str, accepted: str
) -> None:
    """A limit range sets the limit; the API server names both requests at once."""
    limits = {"compute.cpuMemoryLimit": None, "compute.cpuCoreLimit": None}
    message = f'Pod "g" is invalid: {REQUESTS}: {words}'
    for causes in ([{"field": REQUESTS, "message": words}], None):
        found = one(attempt(limits), WORKERS, refusal(message, causes, 422))
        assert (found.path, found.value, found.accepted) == (field, WORKER[field], accepted)


def test_a_request_that_nobody_wrote_is_found_at_the_limit() -> None:
    words = "minimum memory usage per Container is 4Gi, but request is 2Gi"
    ref = attempt({"compute.cpuMemoryRequest": None})
    found = one(ref, WORKERS, refusal(f'pods "g" is forbidden: {words}'))
    assert (found.path, found.value) == ("compute.cpuMemoryLimit", "2Gi")


THERE = {"name": "sets", "path": "/sets", "existingPvc": True, "claimName": "imagenet"}
DATA = {"name": "data", "path": "/data", "claimInfo": {"size": "5G"}}
MORE = {"name": "more", "path": "/more", "claimInfo": {"size": "9G", "storageClass": "fast"}}
QUOTA = "exceeded quota: team, requested: {0}, used: {0}, limited: {0}"


@pytest.mark.parametrize(
    ("words", "attribute", "value", "label"),
    [
        (QUOTA.format("persistentvolumeclaims=1"), "name", None, "Volume more"),
        (
            QUOTA.format("requests.storage=9G"),
            "claimInfo.size",
            "9G",
            "Size of volume more",
        ),
        (
            QUOTA.format("fast.storageclass.storage.k8s.io/requests.storage=9G"),
            "claimInfo.size",
            "9G",
            "Size of volume more",
        ),
        (
            "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 9G",
            "claimInfo.size",
            "9G",
            "Size of volume more",
        ),
        (
            'spec.storageClassName: Invalid value: "fast": no',
            "claimInfo.storageClass",
            "fast",
            "Storage class of volume more",
        ),
        ("nobody gets storage here", "name", None, "Volume more"),
    ],
)
@pytest.mark.parametrize("with_master", [True, False])
def test_what_is_said_of_a_claim_is_at_its_volume(
    words: str, attribute: str, value: Any, label: str, with_master: bool
) -> None:
    """Also where the roles share it, and where a claim that is there stands before it."""
    values = {"storage.pvc": [THERE, DATA, MORE]}
    ref = attempt(values, values, with_master=with_master)
    claim = ref.rendered["dependents"][1]["metadata"]["name"]
    answer = refusal(f'persistentvolumeclaims "{claim}" is forbidden: {words}')
    told = one(ref, ("dependents", "1"), answer)
    assert (told.role, told.path) == (Role.WORKER, f"storage.pvc.2.{attribute}")
    assert (told.key, told.value, told.label) == ("more", value, label)


def test_a_claim_of_the_master_alone_is_at_the_masters_volume() -> None:
    ref = attempt(of_master={"storage.pvc": [DATA]})
    told = one(ref, ("dependents", "0"), refusal(QUOTA.format("count/x=1")))
    assert (told.role, told.path) == (Role.MASTER, "storage.pvc.0.name")


def refusal(message: str, causes: Any = None, status: int = 403) -> Answer:
    details = {"causes": causes} if causes else None
    return Answer(status, {"message": message, "reason": "Forbidden", "details": details})


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (
            'pods "g" is forbidden: [minimum memory usage per Container is 100Mi, but request is '
            "64Mi, cpu max limit to request ratio per Container is 2, but provided ratio is 3.0, "
            "maximum cpu usage per Pod is 1.  No limit is specified, "
            "maximum memory usage per Container is 1Gi, but limit is 2Gi, "
            "cpu max limit to request ratio per Pod is 2, but no request is specified or request "
            "is 0]",
            [
                ("spec.containers[0].resources.requests[memory]", "at least 100Mi"),
                ("spec.containers[0].resources.limits[cpu]", "a smaller limit"),
                ("spec.containers[0].resources.limits[cpu]", "at most 1"),
                ("spec.containers[0].resources.limits[memory]", "at most 1Gi"),
                ("spec.containers[0].resources.requests[cpu]", "a request"),
            ],
        ),
        (
            'pods "g" is forbidden: failed quota: q: must specify limits.memory for: a; '
            "requests.cpu for: a",
            [
                ("spec.containers[0].resources.limits[memory]", "a value"),
                ("spec.containers[0].resources.requests[cpu]", "a value"),
            ],
        ),
        (
            'admission webhook "policy.example" denied the request: resource Pod/g was blocked: '
            "image must have a digest: rule failed at path /spec/containers/0/image/",
            [("spec.containers.0.image", "")],
        ),
        (
            'PyTorchJob in version "v1" cannot be handled as a PyTorchJob: strict decoding error: '
            'unknown field "spec.foo", duplicate field "spec.bar"',
            [
                ("spec.foo", "a field that the cluster knows"),
                ("spec.bar", "a field that the cluster knows"),
            ],
        ),
        ("something else entirely", [("", "")]),
        ("", [("", "")]),
    ],
)
def test_refusals_of_every_kind_are_told_apart(message: str, found: list[tuple[str, str]]) -> None:
    told = refusals(refusal(message))
    assert [(each.place, each.accepted) for each in told] == found
    assert all(each.words for each in told)


def test_words_hold_no_inner_address_no_stack_and_no_control_character() -> None:
    text = (
        "denied: see https://wiki.example.org/rules, asked "
        "https://checker.kube-system.svc:443/v?a=1 and http://10.0.0.7:8080/x \x1b[31m "
        "goroutine 12 [running]: main.go:12"
    )
    (told,) = refusals(refusal(text))
    assert told.words == (
        "denied: see https://wiki.example.org/rules, asked an address inside the cluster "
        "and an address inside the cluster"
    )
    colours = "\x1b[1;31mno\x1b[0m \x9b31mhost\x9b0m \x1b]0;title\x07network\x1b[2J"
    (told,) = refusals(refusal(colours, [{"field": "spec.\x1b[31ma", "message": colours}]))
    assert (told.words, told.place) == ("no host network", "spec.a")
    (long,) = refusals(refusal("x" * 5000))
    assert len(long.words) <= 400


def test_a_flood_of_refusals_is_cut() -> None:
    causes = [{"field": f"spec.a{i}", "message": "no"} for i in range(1000)]
    assert len(refusals(refusal("no", causes))) == 20


def test_a_label_of_the_job_is_the_workers_label() -> None:
    """Jobs bear what their workers bear: a wrong one is told once."""
    words = 'Invalid value: "team": no'
    (found,) = problems(
        attempt(), ("job",), refusal(words, [{"field": "metadata.labels", "message": words}])
    )
    assert (found.role, found.path) == (Role.WORKER, "labels.0.name")
