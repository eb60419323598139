"""What a submission becomes on a cluster: golden files, and the promises behind them."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef
from gangline.drivers.kubernetes import jobs, labels, manifests, mapping
from gangline.drivers.kubernetes.effects import DEPENDENTS
from gangline.drivers.kubernetes.kinds import KINDS, MEETING, kind_of
from gangline.drivers.local.shim import tree
from gangline.spec.typed import value_at
from gangline.spec.workload import WAITING
from tests.drivers.kubernetes import goldens
from tests.drivers.kubernetes.goldens import DIFFERENCES, NONE, SAME, Case, ref_of, submission
from tests.support.waiting import wait_for

CASES = list(goldens.cases())


def test_every_field_that_is_mapped_has_a_sample_in_the_golden_manifests() -> None:
    """So that a new one is seen where it stands, and judged by a real API server."""
    specs = [spec for case in CASES for _, spec in case.submission().halves]
    wanted = mapping.MAPPED - mapping.SHAPE
    missing = [path for path in wanted if all(value_at(spec, path) is None for spec in specs)]
    assert not missing, f"Give them a value in goldens.py, then run {goldens.COMMAND}."


def roles(framework: str, mode: str, scheduler: str = "plain", **changes: Any) -> dict[str, Any]:
    """Replica specs of a job by role."""
    job = manifests.job(ref_of(submission(framework, mode, **changes), scheduler))
    found: dict[str, Any] = job["spec"][KINDS[framework].replicas]
    return found


def container(replica: dict[str, Any]) -> dict[str, Any]:
    (found,) = replica["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def variables(replica: dict[str, Any]) -> dict[str, str]:
    """Values by name; of what the cluster fills in, the path."""
    return {
        item["name"]: item["value"]
        if "value" in item
        else item["valueFrom"]["fieldRef"]["fieldPath"]
        for item in container(replica)["env"]
        if "value" in item or "fieldRef" in item["valueFrom"]
    }


def test_each_role_is_told_its_own_number_of_gpus() -> None:
    """A launcher computes nothing, and a master may ask for fewer than its workers."""
    name = "RUNAI_NUM_OF_GPUS"
    launched = {role: variables(spec)[name] for role, spec in roles("MPI", SAME).items()}
    assert launched == {"Launcher": "0", "Worker": "2"}
    alike = {variables(spec)[name] for spec in roles("PyTorch", SAME).values()}
    assert alike == {"2"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Case) -> None:
    assert case.text() == case.path.read_text(), f"Write them anew with: {goldens.COMMAND}"


def test_no_golden_file_is_stale() -> None:
    assert {p.stem for p in goldens.FOLDER.iterdir()} == {case.name for case in CASES}


@pytest.mark.parametrize("case", list(goldens.combinations()), ids=lambda case: case.name)
def test_every_job_is_ours_suspended_and_tried_once(case: Case) -> None:
    job, *others = case.objects()
    kind = kind_of(case.framework, case.launcher)
    assert (job["apiVersion"], job["kind"]) == (kind.resource.api_version, kind.resource.kind)
    assert kind.is_suspended(job)
    assert "ttlSecondsAfterFinished" not in job["spec"]
    counts = {role: count for role, count, _ in kind.parts(job)}
    parts = case.submission().parts
    assert counts == {kind.roles[part.role.name]: part.pods for part in parts}
    for role, _, template in kind.parts(job):
        marks = template["metadata"]["labels"]
        assert marks[labels.WORKLOAD] == job["metadata"]["labels"][labels.WORKLOAD]
        assert marks[labels.ROLE] == kind.role(role)
        assert container({"template": template})["name"] == kind.container
    if job["kind"] == "JobSet":
        assert job["spec"]["failurePolicy"] == {"maxRestarts": 0}
    else:
        policy = job["spec"]["runPolicy"]
        assert (policy["backoffLimit"], policy["cleanPodPolicy"]) == (0, "None")
        assert "ttlSecondsAfterFinished" not in policy
        for replica in job["spec"][kind.replicas].values():
            assert replica["restartPolicy"] == ("OnFailure" if case.volumes else "Never")
            assert "restartPolicy" not in replica["template"]["spec"]
    for other in others:
        assert (other["apiVersion"], other["kind"]) in DEPENDENTS, "what an adapter makes it reads"
        (owner,) = other["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == (job["kind"], goldens.OWNER)
        assert other["metadata"]["labels"][labels.ATTEMPT] == "2"


def test_what_is_frozen_is_json_and_is_not_changed_by_a_try() -> None:
    frozen = manifests.render(submission(mode=SAME), "volcano")
    before = json.dumps(frozen)
    assert json.loads(before) == frozen
    assert set(frozen) == {
        "form", "framework", "scheduler", "queue", "job", "tools", "dependents",
    }  # fmt: skip
    for attempt in (1, 2):
        ref = AttemptRef("install", "w-1", attempt, "ddp", "ns", rendered=json.loads(before))
        job = manifests.job(ref)
        assert job["metadata"]["labels"][labels.ATTEMPT] == str(attempt)
        assert job["metadata"]["namespace"] == "ns"
        assert [d["metadata"]["namespace"] for d in manifests.dependents(ref, "u-1")] == ["ns"]
        assert json.dumps(frozen) == before


def test_the_fingerprint_follows_what_was_asked_for_and_not_the_try() -> None:
    def fingerprint(ref: AttemptRef) -> str:
        return str(manifests.job(ref)["metadata"]["annotations"][manifests.SPEC_HASH])

    first, second = (ref_of(submission(), attempt=attempt) for attempt in (1, 2))
    assert fingerprint(first) == fingerprint(second)
    assert fingerprint(first) != fingerprint(ref_of(submission(args="--epochs 11")))


def test_our_labels_win() -> None:
    forged = [{"name": labels.WORKLOAD, "value": "w-2"}, {"name": labels.ROLE, "value": "queen"}]
    job = manifests.job(ref_of(submission(labels=forged)))
    marks = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"]["labels"]
    assert (marks[labels.ROLE], marks[labels.WORKLOAD][:8]) == ("worker", "f3b2a1c0")
    assert job["metadata"]["labels"][labels.WORKLOAD][:8] == "f3b2a1c0"


def test_a_field_goes_where_kubernetes_has_it() -> None:
    found = container(roles("PyTorch", SAME)["Master"])
    assert found["command"] == ["python", "train it.py"]
    assert found["args"] == ["--epochs", "10", "--note", "$(GANGLINE_REPLICA)"]
    assert (found["image"], found["workingDir"]) == ("registry.local/ddp:1.4", "/workspace")
    assert found["resources"] == {
        "requests": {"cpu": "1500m", "memory": "512M"},
        "limits": {"cpu": "4", "memory": "2Gi", "nvidia.com/gpu": "2", "rdma/hca": "1"},
    }


def test_without_command_the_image_runs_its_own() -> None:
    found = container(roles("PyTorch", NONE, command=None, args=None)["Worker"])
    assert found.keys().isdisjoint({"command", "args"})


@pytest.mark.needs_bwrap
def test_a_session_that_waits_ends_when_it_is_asked_to() -> None:
    """As the first process of a container, which plain `sleep infinity` does not."""
    words = container(roles("PyTorch", NONE, command=WAITING, args=None)["Worker"])["command"]
    first = ["bwrap", "--unshare-pid", "--as-pid-1", "--bind", "/", "/", "--dev", "/dev"]
    with subprocess.Popen([*first, *words]) as outside:
        inside = wait_for(lambda: tree.descendants(outside.pid))[0]
        try:
            wait_for(lambda: len(tree.descendants(outside.pid)) == 2)
            tree.send(inside, signal.SIGTERM)
            outside.wait(5)
        finally:
            tree.send(inside, signal.SIGKILL)


def test_a_master_of_its_own_differs_where_it_says_so() -> None:
    found = roles("XGBoost", DIFFERENCES)
    assert container(found["Master"])["image"] == "registry.local/leader:2"
    assert container(found["Worker"])["image"] == "registry.local/ddp:1.4"
    assert container(found["Master"])["command"] == container(found["Worker"])["command"]
    assert "nvidia.com/gpu" not in container(found["Master"])["resources"]["limits"]


def test_gpus_bear_the_name_that_the_cluster_gives_them() -> None:
    rendered = manifests.render(submission(), "plain", gpu="amd.com/gpu")
    worker = rendered["job"]["spec"]["pytorchReplicaSpecs"]["Worker"]
    assert container(worker)["resources"]["limits"]["amd.com/gpu"] == "2"


def test_ours_come_first_and_a_person_may_refer_to_them() -> None:
    names = [item["name"] for item in container(roles("PyTorch", SAME)["Worker"])["env"]]
    assert names[-5:] == [item["name"] for item in goldens.WORKER["environmentVariables"]]
    assert len(names) == len(set(names))


def test_a_variable_of_ours_gives_way_where_people_may_set_it() -> None:
    said = [{"name": "OMP_NUM_THREADS", "value": "7"}]
    found = container(roles("PyTorch", SAME, environmentVariables=said)["Worker"])["env"]
    assert [i["value"] for i in found if i["name"] == "OMP_NUM_THREADS"] == ["7"]
    assert variables(roles("PyTorch", SAME)["Worker"])["OMP_NUM_THREADS"] == "1"


def test_each_process_learns_who_it_is() -> None:
    found = roles("PyTorch", SAME)
    worker, master = variables(found["Worker"]), variables(found["Master"])
    assert worker["GANGLINE_REPLICA"] == "worker-$(GANGLINE_INDEX)"
    assert worker["GANGLINE_INDEX"] == "metadata.labels['training.kubeflow.org/replica-index']"
    assert (master["GANGLINE_REPLICA"], master["GANGLINE_ROLE"]) == ("master-0", "master")
    assert worker["NODE_NAME"] == "spec.nodeName"
    assert worker["GANGLINE_NUM_WORKERS"] == master["GANGLINE_NUM_WORKERS"] == "3"
    assert worker["GANGLINE_WORKLOAD"] == "ddp"


def test_torch_workers_find_each_other_without_a_master() -> None:
    found = variables(roles("PyTorch", NONE)["Worker"])
    index = "metadata.labels['training.kubeflow.org/replica-index']"
    assert (found["MASTER_ADDR"], found["MASTER_PORT"]) == ("ddp-worker-0", "23456")
    assert (found["PET_MASTER_ADDR"], found["WORLD_SIZE"]) == ("ddp-worker-0", "3")
    assert found["RANK"] == found["PET_NODE_RANK"] == index
    assert "RANK" not in variables(roles("PyTorch", SAME)["Worker"])  # the operator's own


@pytest.mark.parametrize(("gpus", "processes"), [(2, "auto"), (0, "1"), (None, "1")])
def test_torchrun_starts_a_process_for_each_gpu(gpus: int | None, processes: str) -> None:
    submitted = submission(compute__gpuDevicesRequest=gpus)
    assert manifests.render(submitted, "plain")["job"]["spec"]["nprocPerNode"] == processes


def test_all_workers_of_tensorflow_count_where_none_leads() -> None:
    for mode, policy in ((NONE, "AllWorkers"), (SAME, None)):
        job = manifests.render(submission("TF", mode), "plain")["job"]
        assert job["spec"].get("successPolicy") == policy


class TestMpi:
    """One command, the launcher's; workers wait for it with an SSH server and do the work."""

    @pytest.mark.parametrize("mode", [SAME, DIFFERENCES])
    def test_only_the_launcher_has_the_command(self, mode: str) -> None:
        found = roles("MPI", mode)
        assert container(found["Launcher"])["command"][0] == "mpirun"
        assert container(found["Worker"]).keys().isdisjoint({"command", "args"})

    def test_only_workers_have_gpus(self) -> None:
        found = roles("MPI", SAME)
        assert container(found["Worker"])["resources"]["limits"]["nvidia.com/gpu"] == "2"
        assert "nvidia.com/gpu" not in container(found["Launcher"])["resources"]["limits"]

    def test_a_worker_may_start_sshd_in_its_own_way(self) -> None:
        said = {"command": "/usr/sbin/sshd", "args": "-De -f /home/mpi/.sshd_config"}
        launcher = {"command": "mpirun python train.py", "args": None}
        found = roles("MPI", DIFFERENCES, **said, master=launcher)
        assert container(found["Worker"])["command"] == ["/usr/sbin/sshd"]
        assert container(found["Worker"])["args"] == ["-De", "-f", "/home/mpi/.sshd_config"]
        assert container(found["Launcher"])["command"] == ["mpirun", "python", "train.py"]

    def test_launcher_and_workers_are_placed_together(self) -> None:
        job, group = Case("MPI", SAME, "volcano").objects()
        assert job["spec"]["slotsPerWorker"] == 2
        assert group["spec"]["minMember"] == 4
        assert job["spec"]["runPolicy"]["schedulingPolicy"]["minAvailable"] == 4

    def test_the_launcher_waits_in_its_own_image_without_gpus(self) -> None:
        found = roles("MPI", DIFFERENCES)
        (first,) = found["Launcher"]["template"]["spec"]["initContainers"]
        assert first["image"] == container(found["Launcher"])["image"]
        assert first["command"][-2:] == ["ddp", "3"]
        assert first["resources"] == container(found["Launcher"])["resources"]
        assert "args" not in first
        assert "initContainers" not in found["Worker"]["template"]["spec"]

    def test_it_waits_until_every_worker_answers(self, tmp_path: Path) -> None:
        """The real script; an `ssh` that finds each worker at the third look and is not let in."""
        looks = tmp_path / "looks"
        ssh = tmp_path / "ssh"
        ssh.write_text(
            "#!/bin/sh\n"
            f'for host; do case $host in *-worker-*) echo "$host" >> {looks} ;; esac; done\n'
            f"case $(grep -c . {looks}) in\n"
            '  1) echo "ssh: Could not resolve hostname ddp: Name or service not known" >&2 ;;\n'
            '  2) echo "ssh: connect to host ddp port 22: Connection refused" >&2 ;;\n'
            '  *) echo "Permission denied (publickey)." >&2 ;;\n'
            "esac\n"
            "exit 255\n"
        )
        ssh.chmod(0o755)
        command = manifests.waits_for_workers({}, "ddp", 2)["command"]
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(command, env=path, timeout=20, check=True, capture_output=True)
        assert done.stderr == b""
        assert looks.read_text().split() == [*["ddp-worker-0.ddp"] * 3, "ddp-worker-1.ddp"]

    def test_an_image_without_ssh_does_not_wait_for_ever(self, tmp_path: Path) -> None:
        shell = shutil.which("sh")
        assert shell is not None
        command = [shell, *manifests.waits_for_workers({}, "ddp", 2)["command"][1:]]
        subprocess.run(command, env={"PATH": str(tmp_path)}, timeout=10, check=True)

    def test_the_number_of_ranks_is_known_to_the_command(self) -> None:
        found = variables(roles("MPI", SAME)["Launcher"])
        assert found["GANGLINE_NUM_WORKERS"] == found["RUNAI_MPI_NUM_WORKERS"] == "3"


@pytest.mark.parametrize("scheduler", ["plain", "volcano", "native", "kai", "kueue"])
def test_a_scheduler_is_named_in_every_role_or_in_none(scheduler: str) -> None:
    found = roles("PyTorch", DIFFERENCES, scheduler)
    named = {r["template"]["spec"].get("schedulerName") for r in found.values()}
    assert len(named) == 1


def test_the_command_that_the_message_names_writes_these_files() -> None:
    assert goldens.COMMAND.split()[-1] == goldens.__name__
    assert Path(goldens.__file__).parent == goldens.FOLDER.parent


def test_a_toleration_as_kubernetes_writes_it() -> None:
    pod = roles("PyTorch", SAME)["Master"]["template"]["spec"]
    assert pod["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists"},
        {
            "key": "dedicated",
            "operator": "Equal",
            "value": "training",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        },
    ]


class TestPlacement:
    """Fields that only a cluster has."""

    def test_shared_memory_grows_up_to_the_limit(self) -> None:
        worker = roles("PyTorch", SAME)["Worker"]
        (mount,) = container(worker)["volumeMounts"]
        (volume,) = worker["template"]["spec"]["volumes"]
        assert (mount["mountPath"], mount["name"]) == ("/dev/shm", volume["name"])
        assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "2Gi"}

    def test_without_a_limit_the_node_is_the_limit(self) -> None:
        (replica,) = roles("JAX", NONE, compute__cpuMemoryLimit=None).values()
        (volume,) = replica["template"]["spec"]["volumes"]
        assert volume["emptyDir"] == {"medium": "Memory"}

    @pytest.mark.parametrize("said", [False, None])
    def test_nobody_who_did_not_ask_gets_it(self, said: bool | None) -> None:
        (replica,) = roles("JAX", NONE, compute__largeShmRequest=said).values()
        assert "volumes" not in replica["template"]["spec"]
        assert "volumeMounts" not in container(replica)

    def test_a_node_type_is_required_of_the_node(self) -> None:
        found = roles("PyTorch", DIFFERENCES, nodeAffinityRequired=[], nodePools=[])
        for role, wanted in (("Worker", "p5.48xlarge"), ("Master", "c7i.xlarge")):
            affinity = found[role]["template"]["spec"]["affinity"]["nodeAffinity"]
            (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"][
                "nodeSelectorTerms"
            ]
            assert term["matchExpressions"] == [
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [wanted]}
            ]

    def test_every_role_has_the_priority_of_the_workload(self) -> None:
        found = roles("MPI", DIFFERENCES)
        assert {r["template"]["spec"]["priorityClassName"] for r in found.values()} == {"high"}

    def test_extended_resources_are_each_roles_own(self) -> None:
        found = roles("PyTorch", DIFFERENCES)
        assert container(found["Worker"])["resources"]["limits"]["rdma/hca"] == "1"
        assert "rdma/hca" not in container(found["Master"])["resources"]["limits"]


def test_ranks_over_gloo_meet_at_the_launcher() -> None:
    submitted = submission("MPI", SAME, command="python train.py", launcher="gloo")
    job = manifests.job(ref_of(submitted))
    pods = {role: t["spec"]["containers"][0] for role, _, t in MEETING.parts(job)}
    assert list(pods) == ["launcher", "worker"]
    hosts = [f"ddp-worker-0-{index}" for index in range(3)]
    assert pods["launcher"]["command"][3:] == ["serve", ",".join(f"{h}:1" for h in hosts), "9091"]
    assert pods["worker"]["command"][3:7] == ["join", "ddp-launcher-0-0.ddp", "9091", "python"]
    said = {one["name"]: one.get("value") for one in pods["worker"]["env"]}
    assert said["HOROVOD_RANK"] == said["HOROVOD_CROSS_RANK"] == "$(GANGLINE_INDEX)"
    assert said["HOROVOD_SIZE"] == said["HOROVOD_CROSS_SIZE"] == "3"
    assert (said["HOROVOD_LOCAL_RANK"], said["HOROVOD_LOCAL_SIZE"]) == ("0", "1")
    assert said["HOROVOD_HOSTNAME"] == "ddp-worker-0-$(GANGLINE_INDEX)"
    assert said["HOROVOD_GLOO_RENDEZVOUS_ADDR"] == "ddp-launcher-0-0.ddp"
    read = jobs.read(job | {"metadata": job["metadata"] | {"uid": "1"}}, KINDS["MXNet"])
    assert read.places() == [("master", 0, 0), *(("worker", i, i) for i in range(3))]


@pytest.mark.parametrize("launcher", ["mpirun", "horovodrun"])
def test_a_launcher_starts_a_rank_for_every_slot(launcher: str) -> None:
    said: dict[str, Any] = {"command": "python train.py", "launcher": launcher}
    said["slotsPerWorker"] = 4
    words = container(roles("MPI", SAME, **said)["Launcher"])["command"]
    assert words[0] == launcher
    assert words[words.index("-np") + 1] == "12"
    assert "command" not in container(roles("MPI", SAME, **said)["Worker"])


def test_the_gang_of_mxnet_finds_its_scheduler() -> None:
    job = manifests.job(ref_of(submission("MXNet", SAME)))
    told = {role: variables({"template": t}) for role, _, t in KINDS["MXNet"].parts(job)}
    assert list(told) == ["scheduler", "server", "worker"]
    for role, said in told.items():
        assert said["DMLC_ROLE"] == said["GANGLINE_ROLE"] == role
        assert said["DMLC_PS_ROOT_URI"] == "ddp-scheduler-0-0.ddp"
        assert (said["DMLC_NUM_SERVER"], said["DMLC_NUM_WORKER"]) == ("2", "3")
        assert said["DMLC_INTERFACE"] == said["NCCL_SOCKET_IFNAME"] == "ib0"
    assert job["spec"]["successPolicy"]["targetReplicatedJobs"] == ["worker"]
