"""Environments, compute resources and data sources."""

from collections.abc import Callable, Mapping
from typing import Any

from gangline.resources.services import make
from gangline.spec.sources import Value, asset_source
from tests.support.world import IMAGE, World
from workloads.services.submission import submit
from workloads.services.submission_types import SubmissionRequest

from .sample import Sample


def _data_source(
    key: str,
    field: str,
    spec: Mapping[str, Any],
    bad: tuple[str, str],
    bad_spec: Mapping[str, Any],
    **typed: str,
) -> Sample:
    """One type of data source. ``typed``: texts of the form that differ from its JSON."""
    path = f"storage.{field}"
    texts = {**{k: v for k, v in spec.items() if isinstance(v, str)}, **typed}
    posted = {f"worker.{path}~item.{name}": text for name, text in texts.items()}
    return Sample(
        make=lambda world, name: make(
            key, scope=world.department.scope, name=name, values={path: [dict(spec)]}
        ),
        form=lambda world, name: {
            "scope": world.department.scope_id,
            "name": name,
            f"worker.{path}~rows": "item",
            **posted,
        },
        body=lambda world, name: {
            "meta": {"name": name, "scope": "department", "departmentId": world.department.pk},
            "spec": dict(spec),
        },
        edit={"description": "other words"},
        body_edit={"meta": {"description": "other words"}},
        bad=(("name", ""), (f"worker.{path}~item.{bad[0]}", bad[1]), ("scope", "x")),
        bad_body=(
            ("meta", {"name": "a", "scope": "moon"}),
            ("spec", dict(bad_spec)),
            ("spec", {**spec, "colour": "red"}),
            ("spec", "x"),
            ("sepc", {}),
        ),
        used=_using(path),
    )


_RUNS = {
    "image": IMAGE,
    "command": "python train.py",
    "numWorkers": 1,
    "compute.cpuCoreRequest": 0.5,
    "compute.cpuMemoryRequest": "256M",
}


def _using(path: str) -> Callable[[World, Any], str]:
    """A workload that was given the asset."""

    def use(world: World, source: Any) -> str:
        request = SubmissionRequest(
            name="uses-it",
            project_id=world.vision.pk,
            cluster_id=world.cluster.pk,
            framework="XGBoost",
            configuration="workersAndMaster",
            master="same",
            given={f"worker.{p}": Value(v) for p, v in _RUNS.items()},
            assets={f"worker.{path}": Value([], asset_source(source.pk, source.name))},
        )
        submit(actor=world.actor("administrator"), request=request, key="uses-it")
        return "uses-it"

    return use


SAMPLES: dict[str, Sample] = {
    "environment": Sample(
        make=lambda world, name: make(
            "environment", scope=world.department.scope, name=name, values={"image": "one:1"}
        ),
        form=lambda world, name: {
            "scope": world.department.scope_id,
            "name": name,
            "worker.image": "one:1",
        },
        body=lambda world, name: {
            "meta": {"name": name, "scope": "department", "departmentId": world.department.pk},
            "spec": {"image": "one:1"},
        },
        edit={"worker.image": "two:2"},
        body_edit={"spec": {"image": "two:2"}},
        bad=(("name", ""), ("worker.image", ""), ("worker.image", "a b"), ("scope", "x")),
        bad_body=(
            ("meta", {"name": 7}),
            ("meta", {"name": "a", "scope": "moon"}),
            ("spec", {"image": 7}),
            ("spec", {"imag": "one:1"}),
            ("spec", {"compute": {}}),
            ("spec", "one:1"),
            ("sepc", {}),
        ),
        left_out={"in_use": "deleting it leaves workloads alone"},
    ),
    "compute": Sample(
        make=lambda world, name: make(
            "compute",
            scope=world.department.scope,
            name=name,
            values={"compute.cpuCoreRequest": 2},
        ),
        form=lambda world, name: {
            "scope": world.department.scope_id,
            "name": name,
            "worker.compute.cpuCoreRequest": "2",
        },
        body=lambda world, name: {
            "meta": {"name": name, "scope": "department", "departmentId": world.department.pk},
            "spec": {"cpuCoreRequest": 2},
        },
        edit={"worker.compute.cpuCoreRequest": "4"},
        body_edit={"spec": {"cpuCoreRequest": 4}},
        bad=(("name", ""), ("worker.compute.cpuCoreRequest", "many"), ("scope", "x")),
        bad_body=(
            ("spec", {"cpuCoreRequest": "2"}),
            ("spec", {"cpuCores": 2}),
            ("spec", {"image": "one:1"}),
        ),
        left_out={"in_use": "deleting it leaves workloads alone"},
    ),
    "nfs": _data_source(
        "nfs",
        "nfs",
        {"server": "nfs.lab", "path": "/exports", "mountPath": "/data"},
        ("server", "a b"),
        {"server": "nfs.lab", "mountPath": "/data"},
    ),
    "pvc": _data_source(
        "pvc",
        "pvc",
        {"path": "/data", "claimInfo": {"size": "10G"}},
        ("claimInfo.size", "0"),
        {"path": "/data"},
        **{"claimInfo.size": "10", "claimInfo.size~unit": "G"},
    ),
    "s3": _data_source(
        "s3",
        "s3",
        {"bucket": "datasets", "path": "/data"},
        ("bucket", "A"),
        {"bucket": "A", "path": "/data"},
    ),
    "git": _data_source(
        "git",
        "git",
        {"repository": "https://git.example/team/code", "path": "/code"},
        ("repository", "git"),
        {"repository": "https://me:pass@git.example/x", "path": "/code"},
    ),
    "host_path": _data_source(
        "host_path",
        "hostPath",
        {"path": "/mnt", "mountPath": "/data"},
        ("mountPath", "data"),
        {"path": "../mnt", "mountPath": "/data"},
    ),
    "config_map": _data_source(
        "config_map",
        "configMapVolume",
        {"configMap": "nccl", "mountPath": "/etc/nccl"},
        ("configMap", "A"),
        {"configMap": "nccl", "mountPath": "/etc/nccl", "defaultMode": "888"},
    ),
    "secret_volume": _data_source(
        "secret_volume",
        "secretVolume",
        {"secret": "keys", "mountPath": "/keys"},
        ("secret", ""),
        {"mountPath": "/keys"},
    ),
    "data_source": Sample(
        make=lambda world, name: make(
            "nfs",
            scope=world.department.scope,
            name=name,
            values={"storage.nfs": [{"server": "a", "path": "/b", "mountPath": "/c"}]},
        ),
        left_out={"in_use": "each type has it for itself"},
    ),
}
