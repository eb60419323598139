"""Every driver maps or refuses every field of the spec, and acts on what it maps."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest

from gangline.drivers import registry
from gangline.drivers.base import AttemptRef, Submission
from gangline.drivers.kubernetes import manifests, mapping
from gangline.drivers.kubernetes.access import ClusterCredentials, Options
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.kinds import KINDS as JOB_KINDS
from gangline.drivers.kubernetes.schedulers import ADAPTERS, PLAIN
from gangline.drivers.local import plan_builder, rendering, sandbox
from gangline.drivers.local.driver import LocalDriver
from gangline.drivers.logs.segments import Limits
from gangline.drivers.mapping import OURS, To
from gangline.drivers.slurm import mapping as slurm_mapping
from gangline.drivers.slurm import rendering as slurm_rendering
from gangline.drivers.slurm import script
from gangline.drivers.slurm.driver import SlurmDriver
from gangline.drivers.slurm.mapping import SCRIPTED
from gangline.spec.base import Ui
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.slurm import OWN_SCRIPT
from gangline.spec.typed import json_at, typed
from gangline.spec.workload import ReplicaSpec, WorkerSpec
from workloads.selectors import tools as tool_links
from workloads.services import data_volumes, retries, slots, snapshots


class HasTables(Protocol):
    """What is looked at of a driver's class."""

    mapped: frozenset[str]
    unsupported: Mapping[str, str]


DRIVERS: dict[str, type[HasTables]] = {
    "local": LocalDriver,
    "kubernetes": KubernetesDriver,
    "slurm": SlurmDriver,
}
FIELDS = dict(catalogue(WorkerSpec)) | dict(catalogue(ReplicaSpec))
# A driver may refuse one of the alternatives that items of a list have.
ALTERNATIVES = {f"{path}.{name}" for path, field in FIELDS.items() for name in field.alternatives}
NEW = SpecField("spotInstances", Kind.INTEGER, Ui("Spot", section="general"))
WHOLE_WORKLOAD = frozenset(catalogue(WorkerSpec).keys() - catalogue(ReplicaSpec).keys())
OF_LAUNCHER = frozenset({"launcher"})
"""Of one replica, which starts the others."""
SOURCES = Path(plan_builder.__file__).parent
SAMPLES: dict[Kind, tuple[Any, Any]] = {
    Kind.BOOLEAN: (True, False),
    Kind.INTEGER: (1, 2),
    Kind.NUMBER: (1, 2),
    Kind.QUANTITY: ("64M", "128M"),
    Kind.DURATION: (10, 20),
    Kind.STRING: ("/usr/bin", "/usr/lib"),
    Kind.COMMAND: ("one", "two"),
    Kind.ITEMIZED: ([{"name": "A", "value": "1"}], [{"name": "A", "value": "2"}]),
}
HTTP_GET = "probes.readiness.handler.httpGet"
GPU_TYPE, TOPOLOGY = "compute.gpuRequestType", "podAffinity"
BESIDE: dict[str, dict[str, Any]] = {
    GPU_TYPE: {
        "compute.gpuDevicesRequest": 1,
        "compute.gpuPortionRequest": 0.5,
        "compute.gpuMemoryRequest": "1Gi",
    },
    "compute.gpuPortionRequest": {GPU_TYPE: "portion", "compute.gpuDevicesRequest": 1},
    "compute.gpuMemoryRequest": {GPU_TYPE: "memory", "compute.gpuDevicesRequest": 1},
    "compute.gpuPortionLimit": {
        GPU_TYPE: "portion",
        "compute.gpuDevicesRequest": 1,
        "compute.gpuPortionRequest": 0.25,
    },
    "compute.gpuMemoryLimit": {
        GPU_TYPE: "memory",
        "compute.gpuDevicesRequest": 1,
        "compute.gpuMemoryRequest": "1M",
    },
    "tty": {"stdin": True},
    "slurm.values": {"slurm.script": "#!/bin/sh\necho {{ a }}"},
    "slurm.tasksPerNode": {"slurm.script": "#!/bin/sh\ntrue", "compute.cpuCoreRequest": 2},
    "slurm.gpuType": {"compute.gpuDevicesRequest": 1},
    "security.uidGidSource": {"security.runAsUid": 1},
    **{
        f"security.{name}": {"security.uidGidSource": "custom"}
        for name in ("runAsUid", "runAsGid", "supplementalGroups")
    },
    f"{TOPOLOGY}.key": {f"{TOPOLOGY}.type": "Required"},
    f"{TOPOLOGY}.type": {f"{TOPOLOGY}.key": "zone"},
}
"""What a value needs beside it to mean anything."""
TOLERATION = {"name": "A", "key": "dedicated", "operator": "Equal", "effect": "Any"}
VOLUME = {"name": "a", "claimInfo": {"size": "1G"}}
CHOSEN: dict[str, tuple[Any, Any]] = {
    "image": ("local://one", "local://two"),
    "nodeType": ("small", "large"),
    "podAffinity.key": ("zone", "rack"),
    "priorityClass": ("urgent", "batch"),
    "nodePools": ([{"name": "a"}], [{"name": "b"}]),
    "preemptibility": ("preemptible", "non-preemptible"),
    "distributedFramework": ("PyTorch", "XGBoost"),
    "compute.extendedResources": (
        [{"resource": "rdma/hca", "quantity": "1"}],
        [{"resource": "rdma/hca", "quantity": "2"}],
    ),
    "exposedUrls": ([{"name": "a", "container": 1}], [{"name": "b", "container": 2}]),
    "ports": ([{"name": "a", "container": 1}], [{"name": "b", "container": 2}]),
    "category": ("Train", "Build"),
    "compute.gpuPortionRequest": (0.25, 0.5),
    "compute.gpuPortionLimit": (0.25, 0.5),
    "nodeAffinityRequired": (
        [{"name": "a", "key": "rack", "operator": "Gt", "values": "1"}],
        [{"name": "a", "key": "rack", "operator": "Gt", "values": "2"}],
    ),
    "storage.emptyDirVolume": ([{"name": "a", "path": "/1"}], [{"name": "a", "path": "/2"}]),
    **{
        f"storage.{kind}": (
            [{"name": "a", **about, place: "/1"}],
            [{"name": "a", **about, place: "/2"}],
        )
        for kind, place, about in (
            ("nfs", "mountPath", {"server": "lab", "path": "/sets"}),
            ("git", "path", {"repository": "https://git.example/code"}),
            ("s3", "path", {"bucket": "sets"}),
            ("configMapVolume", "mountPath", {"configMap": "nccl"}),
            ("secretVolume", "mountPath", {"secret": "keys"}),
            ("hostPath", "mountPath", {"path": "/mnt"}),
        )
    },
    "networkInterface": ("eth0", "ib0"),
    **{f"slurm.{name}": ("one", "two") for name in ("account", "qos", "reservation", "gpuType")},
    "slurm.timeLimit": (60, 120),
    "slurm.script": ("#!/bin/sh\ntrue", "#!/bin/sh\nfalse"),
    "slurm.values": ([{"name": "a", "value": "1"}], [{"name": "a", "value": "2"}]),
    "slurm.tasksPerNode": (1, 2),
    "slurm.modules": ([{"name": "one"}], [{"name": "two"}]),
    "slurm.options": ([{"name": "nice", "value": "1"}], [{"name": "nice", "value": "2"}]),
    "security.supplementalGroups": ("1", "2"),
    "security.capabilities": ([{"name": "KILL"}], [{"name": "CHOWN"}]),
    "imagePullSecrets": ([{"name": "one"}], [{"name": "two"}]),
    f"{HTTP_GET}.host": ("one", "two"),
    "tolerations": ([{**TOLERATION, "value": "1"}], [{**TOLERATION, "value": "2"}]),
    "storage.pvc": ([{**VOLUME, "path": "/1"}], [{**VOLUME, "path": "/2"}]),
}


def forgotten(driver: type[HasTables], fields: Iterable[str]) -> list[str]:
    known = driver.mapped | driver.unsupported.keys() | OURS
    return [path for path in fields if path not in known]


def ignored(fields: Mapping[str, SpecField], folder: Path, kind: str = "local") -> list[str]:
    """Fields whose value makes no difference to what a cluster of this kind would run."""
    return [
        path
        for path, field in fields.items()
        if len({PLANNED[kind](path, value, folder) for value in _samples(field)}) == 1
    ]


def lopsided(fields: Mapping[str, SpecField], folder: Path, kind: str = "local") -> list[str]:
    """Fields of the whole workload whose value reaches some replicas and passes others by."""
    found = []
    for path, field in fields.items():
        one, other = (
            {r["name"]: r for r in json.loads(PLANNED[kind](path, value, folder))["replicas"]}
            for value in _samples(field)
        )
        same = [one[name] == other[name] for name in one.keys() & other.keys()]
        if any(same) and not all(same):
            found.append(path)
    return found


def _samples(field: SpecField) -> tuple[Any, Any]:
    if field.kind is Kind.CHOICE and field.path not in CHOSEN:
        return field.choices[0], field.choices[1]
    return CHOSEN.get(field.path) or SAMPLES[field.kind]


def _submission(path: str, value: Any) -> Submission:
    """A gang in which this one value is said, for its workers and their master alike."""
    worker = {"image": "local://one", "command": "train", **BESIDE.get(path, {}), path: value}
    framework = {"numServers": "MXNet", "launcher": "MPI"}.get(path, "PyTorch")
    framework = OWN_SCRIPT if path in SCRIPTED else framework
    framework = value if path == "distributedFramework" else framework
    count = value if path == "numWorkers" else 2
    # As in production: a master has no value of what exists once per workload.
    master = {p: v for p, v in worker.items() if p in catalogue(ReplicaSpec)}
    return Submission(
        "gang",
        "vision",
        framework,
        WORKERS_ONLY if framework == OWN_SCRIPT else "workersAndMaster",
        count,
        typed(WorkerSpec, worker),
        None if framework == OWN_SCRIPT else typed(ReplicaSpec, master),
        node_pools={"a": ("pool", "a"), "b": ("pool", "b")},
    )


def _planned(path: str, value: Any, folder: Path) -> str:
    """The plan on this machine, from the rendered form and its slots."""
    submission = _submission(path, value)
    need = slots.need_of(
        framework=submission.framework,
        configuration=submission.configuration,
        num_workers=submission.num_workers,
        values={
            f"{role}.{p}": json_at(spec, p)
            for role, spec in submission.halves
            for p in catalogue(type(spec))
        },
        gpu_memory=10**9,
    )
    machine = {"cpus": 16, "memory": 10**12, "gpus": [str(n) for n in range(16)]}
    ref = AttemptRef(
        "install-a",
        "w-1",
        1,
        "gang",
        placement=slots.room_of(machine, (), lambda port: True).take(need),
        grace_seconds=value if path == "terminationGracePeriodSeconds" else 30,
    )
    runtimes = {name: Path(f"/opt/{name}/bin/python") for name in ("one", "two")}
    roots = (Path("/usr"), Path("/mnt"))
    # Container paths are of the sandbox.
    places = sandbox.Places(folder, roots=roots, sandboxed=path.startswith("storage."))
    site = plan_builder.Site(places, runtimes, Limits())
    native = json.loads(json.dumps(LocalDriver(folder, "host-a").render(submission)))
    return json.dumps(plan_builder.build(site, ref, native), sort_keys=True)


def _manifest(path: str, value: Any, folder: Path) -> str:
    """The job as the API server would get it, each role's pod by its name."""
    submission = _submission(path, value)
    able = next(n for n in (PLAIN, *ADAPTERS) if path not in ADAPTERS[n].unsupported)
    driver = KubernetesDriver(
        Client(ClusterCredentials("https://nowhere.invalid")), Options(scheduler=able)
    )
    rendered = json.loads(json.dumps(driver.render(submission)))
    ref = AttemptRef("install-a", "w-1", 1, "gang", "ns", submission, rendered)
    job = manifests.job(ref)
    del job["metadata"]["annotations"][manifests.SPEC_HASH]  # follows everything that was said
    kind = JOB_KINDS[submission.framework]
    parts = list(kind.parts(job))
    roles = job["spec"].pop(kind.replicas)
    replicas = [
        {"name": role, "restarts": _restarts(roles, role), **template}
        for role, _, template in parts
    ]
    counts = {role: count for role, count, _ in parts}
    return json.dumps({"job": job, "counts": counts, "replicas": replicas}, sort_keys=True)


def _restarts(roles: Any, role: str) -> Any:
    """Beside the template, but for a JobSet, whose pods have it themselves."""
    return roles[role]["restartPolicy"] if isinstance(roles, dict) else None


def _script(path: str, value: Any, folder: Path) -> str:
    """The batch script, and what each replica of it has."""
    native = json.loads(json.dumps(slurm_rendering.render(_submission(path, value))))
    replicas = [
        {
            "name": part["role"],
            "shared": script.variables(native),
            "asks": script.directives(1, part["asks"]),
            "text": script.function(part),
        }
        for part in native["parts"]
    ]
    return json.dumps({"script": script.script(native), "replicas": replicas}, sort_keys=True)


PLANNED: Mapping[str, Callable[[str, Any, Path], str]] = {
    "local": _planned,
    "kubernetes": _manifest,
    "slurm": _script,
}
MAPPED = [
    pytest.param(
        kind,
        path,
        marks=[pytest.mark.needs_bwrap] if (kind, path[:8]) == ("local", "storage.") else [],
    )
    for kind, driver in DRIVERS.items()
    for path in sorted(driver.mapped)
    if kind != "local" or path not in rendering.ADMISSION
]


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("path", FIELDS)
def test_a_field_is_mapped_or_refused(kind: str, path: str) -> None:
    assert not forgotten(DRIVERS[kind], [path]), (
        f"The {kind} driver neither maps nor refuses {path}: add it to a table of its mapping, or "
        "to UNSUPPORTED with the reason."
    )


@pytest.mark.parametrize("scheduler", ADAPTERS)
def test_a_scheduler_refuses_no_field_that_is_gone(scheduler: str) -> None:
    assert ADAPTERS[scheduler].unsupported.keys() <= KubernetesDriver.mapped


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_driver_knows_no_field_that_is_gone(kind: str) -> None:
    driver = DRIVERS[kind]
    assert driver.mapped | OURS <= FIELDS.keys()
    assert driver.unsupported.keys() <= FIELDS.keys() | ALTERNATIVES
    assert not driver.mapped & driver.unsupported.keys()
    assert not OURS & (driver.mapped | driver.unsupported.keys())


def test_a_new_field_is_missed() -> None:
    """The control: the test above can fail."""
    assert forgotten(LocalDriver, [NEW.path]) == ["spotInstances"]


@pytest.mark.parametrize(("kind", "path"), MAPPED)
def test_a_driver_acts_on_what_it_maps(kind: str, path: str, tmp_path: Path) -> None:
    assert not ignored({path: FIELDS[path]}, tmp_path, kind), (
        f"The {kind} driver maps {path}, yet nothing reads it: what runs stays the same."
    )


@pytest.mark.parametrize(
    ("kind", "path"), [m for m in MAPPED if m.values[1] in WHOLE_WORKLOAD - OF_LAUNCHER]
)
def test_what_holds_for_the_workload_reaches_every_replica(
    kind: str, path: str, tmp_path: Path
) -> None:
    assert not lopsided({path: FIELDS[path]}, tmp_path, kind), (
        f"{path} exists once per workload, yet reaches only some replicas: it belongs in GANG."
    )


@pytest.mark.parametrize(
    ("kind", "module", "target"),
    [
        ("local", rendering, "workingDirectory"),
        ("kubernetes", mapping, "container|workingDir"),
        ("slurm", slurm_mapping, "workingDirectory"),
    ],
)
def test_a_field_of_the_workload_in_the_table_of_the_roles_is_named(
    kind: str, module: ModuleType, target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = To(target, ("", "/usr/bin", "/usr/lib").__getitem__)
    monkeypatch.setattr(module, "ROLE", {**module.ROLE, "backoffLimit": wrong})
    fields = {"backoffLimit": FIELDS["backoffLimit"]}
    assert lopsided(fields, tmp_path, kind) == ["backoffLimit"]


def test_every_kind_of_driver_is_known_everywhere() -> None:
    folders = {path.name for path in SOURCES.parent.iterdir() if (path / "kind.py").exists()}
    assert folders == DRIVERS.keys()
    assert folders <= registry.DRIVERS.keys()


@pytest.mark.parametrize(
    ("kind", "module"),
    [("local", rendering), ("kubernetes", mapping), ("slurm", slurm_mapping)],
)
def test_a_field_that_is_mapped_and_never_read_is_named(
    kind: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "ROLE", {**module.ROLE, "backoffLimit": To("spot")})
    fields = {path: FIELDS[path] for path in ("backoffLimit", "command")}
    assert ignored(fields, tmp_path, kind) == ["backoffLimit"]


def test_what_gangline_acts_on_itself_reaches_the_workload() -> None:
    readers = (snapshots, retries, tool_links, data_volumes)
    source = "".join(Path(reader.__file__ or "").read_text() for reader in readers)
    assert [path for path in sorted(OURS) if f'{path}"' not in source] == []


def test_every_word_of_a_plan_is_read(tmp_path: Path) -> None:
    """By the supervisors or by the driver, which find it in `plan.json` only."""
    plan = json.loads(_planned("command", "train", tmp_path))
    keys = {*plan, *plan["replicas"][0]}
    readers = [path for path in SOURCES.rglob("*.py") if path.name != "plan_builder.py"]
    text = "\n".join(path.read_text() for path in readers)
    # `planning.ref_of` reads back what `build` wrote.
    text += "\n".join(re.findall(r"plan(\[\"\w+\"\])", (SOURCES / "plan_builder.py").read_text()))
    read = set(re.findall(r"\[[\"'](\w+)[\"']\]|\.get\([\"'](\w+)[\"']", text))
    assert sorted(keys - {word for pair in read for word in pair}) == []
