"""What a cluster refuses before anything is stored, and what it asks for in the form."""

from dataclasses import replace
from typing import Any

import pytest

from gangline.drivers.facts import Facts, FrameworkOffer
from gangline.drivers.kubernetes import manifests, priorities, tool_services
from gangline.drivers.kubernetes.check import check
from gangline.drivers.kubernetes.field_hints import field_notes
from gangline.spec.problems import Problem, Role
from gangline.spec.reserved import metadata_key_problem, reserved_domain, variable_name_problem
from gangline.spec.values import flatten, validate
from gangline.spec.workload import WorkerSpec
from tests.drivers.kubernetes.goldens import DIFFERENCES, ENTRANCE, NONE, SAME, submission

LARGEST = {"gpus": 8, "cpus": 64.0, "memory": 512 * 2**30}
NODES = Facts("v1.36.3", detail={"nodes": {"largest": LARGEST}})


def problems(
    framework: str = "PyTorch", mode: str = SAME, facts: Facts = NODES, **changes: Any
) -> list[Problem]:
    return check(submission(framework, mode, **changes), facts)


@pytest.mark.parametrize("framework", ["PyTorch", "TF", "XGBoost", "MPI"])
@pytest.mark.parametrize("mode", [SAME, DIFFERENCES])
def test_what_fits_is_not_refused(framework: str, mode: str) -> None:
    assert problems(framework, mode) == []


def test_nothing_is_refused_for_what_nobody_has_counted() -> None:
    assert problems("JAX", NONE, Facts(""), compute__gpuDevicesRequest=64) == []


@pytest.mark.parametrize(
    ("image", "rule"), [(None, "required"), ("", "required"), ("local://examples", "container")]
)
def test_an_image_must_be_one_that_nodes_can_pull(image: str | None, rule: str) -> None:
    found = problems(image=image)
    assert [(p.field_id, p.rule) for p in found] == [
        ("worker.image", rule),
        ("master.image", rule),
    ]
    assert "registry.local/ddp:1.4" in found[0].accepted


def test_an_image_may_bring_its_own_command() -> None:
    assert problems(command=None, args=None) == []


@pytest.mark.parametrize(
    ("launcher", "jobset", "rules"),
    [
        ("mpirun", False, []),
        ("horovodrun", False, []),
        ("gloo", True, []),
        ("gloo", False, ["launcher:unfit"]),
        ("srun", True, ["launcher:unfit"]),
    ],
)
def test_a_launcher_must_be_had_by_the_cluster(
    launcher: str, jobset: bool, rules: list[str]
) -> None:
    facts = replace(NODES, frameworks=(FrameworkOffer("MXNet", jobset),))
    said: dict[str, Any] = {"command": "python train.py", "slotsPerWorker": 1}
    found = problems("MPI", SAME, facts, launcher=launcher, **said)
    assert [p.code for p in found] == rules
    notes = field_notes(framework="MPI", role=Role.WORKER, has_own_master=False, facts=facts)
    chosen = next(c for c in notes["launcher"].choices[""] if c.value == launcher)
    assert bool(chosen.reason) == bool(rules)


def test_an_image_brings_no_program_for_a_launcher() -> None:
    (problem,) = problems("MPI", SAME, command=None, args=None, launcher="mpirun")
    assert (problem.field_id, problem.rule) == ("worker.command", "required")


def test_a_launcher_must_launch() -> None:
    (problem,) = problems("MPI", SAME, command="python train.py")
    assert (problem.field_id, problem.rule) == ("master.command", "launcher")


@pytest.mark.parametrize(
    "command", [None, "  ", "/opt/bin/mpirun x", "bash start.sh", "/opt/start"]
)
def test_every_way_to_launch_is_taken(command: str | None) -> None:
    """An image may start the ranks by itself, or by a program of any name."""
    assert problems("MPI", SAME, command=command) == []


def test_no_pod_may_be_larger_than_every_node() -> None:
    found = problems(
        compute__gpuDevicesRequest=9, compute__cpuCoreRequest=64.5, compute__cpuMemoryRequest="1T"
    )
    workers = {p.path: p.message for p in found if p.role is Role.WORKER}
    assert workers == {
        "compute.gpuDevicesRequest": "must be at most 8: no node of the cluster has more GPUs",
        "compute.cpuCoreRequest": "must be at most 64: no node of the cluster has more cores for "
        "pods",
        "compute.cpuMemoryRequest": "must be at most 549.8 GB: no node of the cluster has more "
        "memory for pods",
    }
    assert len(found) == 6  # a master that follows the workers alike
    exact: dict[str, Any] = {"compute__gpuDevicesRequest": 8, "compute__cpuCoreRequest": 64}
    assert problems(**exact, compute__cpuMemoryRequest="512Gi") == []


def test_a_cluster_without_gpus_says_so() -> None:
    facts = Facts("v1.36.3", detail={"nodes": {"largest": {"gpus": 0}}})
    (problem,) = problems(mode=NONE, facts=facts)
    assert problem.message == "must be 0: no node of the cluster has GPUs that pods can ask for"


def test_a_tool_without_a_usual_port_must_say_where_it_listens() -> None:
    """On a machine of Gangline it is told: there the port is Gangline's."""
    tool = submission("PyTorch", exposedUrls=[{"name": "mine"}])
    found = tool_services.check(tool, Facts("v1.36.3"), ENTRANCE)
    assert {(p.path, p.rule) for p in found} == {("exposedUrls.0.container", "required")}


@pytest.mark.parametrize(
    ("framework", "launcher", "refused"),
    [("PyTorch", None, False), ("MPI", None, True), ("MPI", "gloo", True), ("MXNet", None, True)],
)
def test_pods_of_a_job_that_ends_are_not_always_started_again(
    framework: str, launcher: str | None, *, refused: bool
) -> None:
    mode = SAME if framework == "MXNet" else DIFFERENCES
    found = problems(framework, mode, launcher=launcher, restartPolicy="Always")
    told = [(p.field_id, p.rule) for p in found if p.path == "restartPolicy"]
    assert ("worker.restartPolicy", "cluster") in told if refused else not told
    fine = problems(framework, mode, launcher=launcher, restartPolicy="OnFailure")
    assert not [p for p in fine if p.path == "restartPolicy"]


def classes(*listed: tuple[str, str, bool]) -> Facts:
    """A cluster with these ingress classes: name, controller, whether it is the default one."""
    names = ("name", "controller", "default")
    found = [dict(zip(names, one, strict=True)) for one in listed]
    return Facts("v1.36.3", detail={"ingressClasses": found})


NGINX = ("nginx", "k8s.io/ingress-nginx", False)


@pytest.mark.parametrize(
    ("entrance", "facts", "code"),
    [
        ({"domain": ""}, classes(NGINX), "cluster:tool_domain"),
        ({}, classes(), "cluster:tool_ingress"),
        ({"ingress_class": ""}, classes(NGINX), "cluster:tool_ingress"),
        ({"ingress_class": "other"}, classes(NGINX), "cluster:tool_ingress"),
        ({}, classes(("nginx", "traefik.io/ingress-controller", True)), "cluster:tool_guard"),
        ({"origin": "https://tools.lab.example"}, classes(NGINX), "cluster:tool_cookies"),
        ({"origin": "https://a.tools.lab.example"}, classes(NGINX), "cluster:tool_cookies"),
        ({"origin": "https://LAB.example:8443"}, classes(NGINX), "cluster:tool_cookies"),
        ({"origin": "https://gangline.lab.example"}, classes(NGINX), ""),
        ({"origin": "https://10.0.0.7:8000"}, classes(NGINX), ""),
    ],
)
def test_tools_that_nobody_can_open_or_that_cannot_be_guarded_are_refused(
    entrance: dict[str, Any], facts: Facts, code: str
) -> None:
    tool = submission("PyTorch", exposedUrls=[{"name": "tensorboard", "container": 6006}])
    found = list(tool_services.check(tool, facts, replace(ENTRANCE, **entrance)))
    assert [(p.field_id, p.code) for p in found] == [("worker.exposedUrls", code)] * bool(code)
    assert all(p.accepted and "{" not in p.sentence for p in found)


@pytest.mark.parametrize(
    ("host", "is_right"),
    [
        ("board.tools.lab.example", True),
        ("tools.lab.example", False),
        ("a.b.tools.lab.example", False),
        ("board.other.example", False),
        ("gangline.example", False),
        ("board.tools.lab.example.evil.net", False),
        ("xn--tols-lab-4d0d.example", False),
        ("board-0a1b2c3d.tools.lab.example", False),
    ],
)
def test_a_tool_chooses_a_host_of_its_own_in_the_domain_of_tools(
    host: str, *, is_right: bool
) -> None:
    """Not Gangline’s, nor one that Gangline makes for another tool."""
    one = {"name": "tensorboard", "container": 6006, "customUrl": True, "url": f"https://{host}/"}
    found = tool_services.check(submission("PyTorch", exposedUrls=[one]), classes(NGINX), ENTRANCE)
    told = [("worker.exposedUrls.0.url", "cluster:tool_host")]
    assert [(p.field_id, p.code) for p in found] == ([] if is_right else told)


def test_a_launcher_asks_for_no_gpu() -> None:
    found = problems("MPI", SAME, compute__gpuDevicesRequest=9)
    assert [p.field_id for p in found] == ["worker.compute.gpuDevicesRequest"]


@pytest.mark.parametrize(
    ("framework", "name"),
    [
        ("XGBoost", "WORKER_ADDRS"),
        ("MPI", "K_MPI_JOB_ROLE"),
        ("MPI", "OMPI_MCA_plm_rsh_args"),
    ],
)
def test_a_variable_that_the_operator_sets_is_refused(framework: str, name: str) -> None:
    said = [{"name": name, "value": "1"}]
    found = problems(framework, SAME, environmentVariables=said)
    assert {(p.rule, p.key, p.path) for p in found} == {("reserved", name, "environmentVariables")}
    assert "operator sets it" in found[0].message
    assert problems("PyTorch", SAME, environmentVariables=said) == []


@pytest.mark.parametrize("name", ["RANK", "PET_NNODES", "POD_NAME", "NODE_NAME", "TF_CONFIG"])
def test_what_every_framework_reserves_is_refused_by_the_spec(name: str) -> None:
    assert "is reserved" in (variable_name_problem(name) or "")


@pytest.mark.parametrize(
    "key",
    ["gpu-fraction", "gpu-memory", "priorityClassName", "kai.scheduler/queue", "gangline.dev/x",
     "kueue.x-k8s.io/queue-name", "scheduling.k8s.io/group-name", "training.kubeflow.org/x"],
)  # fmt: skip
def test_no_label_or_annotation_reaches_a_scheduler_past_the_policies(key: str) -> None:
    assert reserved_domain(key) or "reserved" in (metadata_key_problem(key) or "")


def test_a_name_is_refused_at_the_name() -> None:
    (problem,) = [p for p in _named("ddp-worker-0") if p.role is Role.WORKLOAD]
    assert (problem.path, problem.label) == ("name", "Name")


def _named(name: str) -> list[Problem]:
    return check(replace(submission("MPI", SAME), name=name), NODES)


def test_what_the_spec_itself_refuses_is_not_said_twice() -> None:
    assert problems("JAX", SAME, image=None) == []
    assert problems("MPI", SAME, command="mpirun 'x") == []


class TestNotes:
    """What the form says at a field before anything is typed."""

    def test_an_image_is_asked_of_the_workers(self) -> None:
        for role, asked in ((Role.WORKER, True), (Role.MASTER, False)):
            note = field_notes(framework="PyTorch", role=role, has_own_master=True)["image"]
            assert note.is_required == asked
            assert "container image" in note.help

    @pytest.mark.parametrize(
        ("role", "has_own_master", "asked"),
        [(Role.WORKER, False, True), (Role.WORKER, True, False), (Role.MASTER, True, True)],
    )
    def test_mpirun_is_proposed_to_who_launches(
        self, role: Role, has_own_master: bool, asked: bool
    ) -> None:
        note = field_notes(framework="MPI", role=role, has_own_master=has_own_master)["command"]
        assert not note.is_required
        assert ("mpirun" in note.placeholder) == asked
        assert ("SSH" in note.help) != asked

    def test_no_command_is_asked_where_the_image_may_have_one(self) -> None:
        note = field_notes(framework="TF", role=Role.WORKER, has_own_master=False)["command"]
        assert not note.is_required
        assert "the image’s own" in note.help

    @pytest.mark.parametrize(("framework", "told"), [("MPI", True), ("PyTorch", False)])
    def test_what_mpirun_passes_on_is_told(self, framework: str, told: bool) -> None:
        notes = field_notes(framework=framework, role=Role.WORKER, has_own_master=False)
        assert ("environmentVariables" in notes) == told


CLASSES = priorities.classes(
    [
        {"metadata": {"name": "urgent"}, "value": 5000, "preemptionPolicy": "Never"},
        {"metadata": {"name": "system-node-critical"}, "value": 2000001000},
        {"metadata": {"name": "high"}, "value": 1000, "globalDefault": True},
    ]
)
WITH_CLASSES = Facts("", detail={"priorities": CLASSES})


def test_a_priority_class_is_the_cluster_s_or_the_product_s() -> None:
    (problem,) = problems(facts=WITH_CLASSES, priorityClass="nope")
    assert (problem.path, problem.value) == ("priorityClass", "nope")
    names = "urgent, high, very-high, medium-high, medium, medium-low, low, very-low"
    assert problem.accepted == names
    for name in names.split(", "):
        assert problems(facts=WITH_CLASSES, priorityClass=name) == []
    assert problems(priorityClass="nope") == []  # nobody has looked which there are


def test_the_choices_of_priority_say_what_each_is_worth() -> None:
    noted = field_notes(
        framework="PyTorch", role=Role.WORKER, has_own_master=False, facts=WITH_CLASSES
    )
    words = {one.value: one.word for one in noted["priorityClass"].choices[""]}
    assert words["urgent"] == "urgent – 5000, preempts none"
    assert words["high"] == "high – 1000"
    assert words["low"] == "low – 40, Gangline’s own"
    assert not any(name.startswith("system-") for name in words)


@pytest.mark.parametrize(
    ("name", "said", "sent", "label"),
    [
        ("urgent", None, "urgent", None),
        ("high", None, "high", None),
        ("very-high", None, None, "non-preemptible"),
        ("low", None, None, "preemptible"),
        ("low", "non-preemptible", None, "non-preemptible"),
        (None, None, None, None),
    ],
)
def test_a_class_that_the_cluster_lacks_is_not_sent_and_counts_for_preemptibility(
    name: str | None, said: str | None, sent: str | None, label: str | None
) -> None:
    """Pods that name a class which is not there are never made."""
    wanted = submission("PyTorch", priorityClass=name, preemptibility=said)
    known = {one["name"] for one in CLASSES}
    job = manifests.render(priorities.sent(wanted, known), "kai")["job"]
    pods = [one["template"]["spec"] for one in job["spec"]["pytorchReplicaSpecs"].values()]
    assert {pod.get("priorityClassName") for pod in pods} == {sent}
    assert job["metadata"]["labels"].get("kai.scheduler/preemptibility") == label
    told = [(a.role, a.path) for a in priorities.advise(wanted, WITH_CLASSES)]
    assert told == [(Role.WORKER, "priorityClass")] * bool(name and not sent)


PRINTED: dict[str, Any] = {
    "distributedFramework": "PyTorch", "numWorkers": 3, "cleanPodPolicy": "None",
    "image": "registry.local/ddp:1.4", "imagePullPolicy": "IfNotPresent",
    "command": "torchrun", "args": "train.py --epochs=10",
    "environmentVariables": [
        {"name": "NCCL_DEBUG", "value": "INFO"},
        {"name": "HF_TOKEN", "secret": {"name": "hf", "key": "token"}},
    ],
    "compute": {
        "gpuDevicesRequest": 8, "cpuCoreRequest": 16, "cpuMemoryRequest": "128G",
        "largeShmRequest": True,
    },
    "nodePools": ["h100", "default"], "nodeType": "dgx-h100",
    "tolerations": [{"name": "t1", "key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "podAffinity": {"type": "Preferred", "key": "topology.kubernetes.io/zone"},
    "storage": {"pvc": [{
        "path": "/ckpt", "existingPvc": False, "ephemeral": False,
        "claimInfo": {"size": "500G", "storageClass": "fast",
                      "accessModes": {"readWriteMany": True}, "volumeMode": "Filesystem"},
    }]},
    "terminationGracePeriodSeconds": 120, "backoffLimit": 6,
    "autoDeletionTimeAfterCompletionSeconds": 86400,
    "annotations": [{"name": "team", "value": "nlp"}],
    "labels": [{"name": "stage", "value": "dev"}],
}  # fmt: skip
"""The body that the documentation of the form prints."""
IN_OTHER_WORDS: dict[str, Any] = {
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Equals", "value": "a", "effect": "Any"}],
    "nodeAffinityRequired": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "rack", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]}]},
}  # fmt: skip


def test_the_printed_body_and_the_contracts_shapes_are_taken() -> None:
    values, unknown = flatten(WorkerSpec, PRINTED | IN_OTHER_WORDS, Role.WORKER)
    assert unknown == []
    assert validate(WorkerSpec, Role.WORKER, values) == []
    assert [item["name"] for item in values["storage.pvc"]] == ["ckpt"]
    assert values["tolerations"][0]["name"] == "nvidia.com-gpu"
    rack = {"name": "rack", "key": "rack", "operator": "In", "values": "a, b"}
    assert values["nodeAffinityRequired"][0] == rack
    printed = {path: value for path, value in values.items() if path != "distributedFramework"}
    assert problems(**{path.replace(".", "__"): value for path, value in printed.items()}) == []
    pools: dict[str, Any] = {"nodePools": [{"name": "a100"}]}
    assert [(p.path, p.value) for p in problems(mode=NONE, **pools)] == [
        ("nodePools.0.name", "a100")
    ]
