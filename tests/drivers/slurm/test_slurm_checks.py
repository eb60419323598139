"""What is refused before anything is submitted, from what the connection check found."""

from typing import Any

import pytest

from gangline.drivers.facts import Facts
from gangline.drivers.slurm import check, field_hints
from gangline.drivers.slurm.probe import read_partitions
from gangline.drivers.slurm.rendering import NO_DEFAULTS, Defaults
from gangline.spec import lengths
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.problems import Role
from tests.drivers.slurm import goldens

LIMITS = read_partitions(["main|main*|infinite|1-infinite", "short|short|1-00:00:00|1-2"])
FACTS = Facts(
    "Slurm 22.05",
    detail={
        "partitions": ["main", "short"],
        "defaultPartition": "main",
        "limits": LIMITS,
        "accounts": ["team-a", "team-b"],
        "qos": ["normal"],
        "gpuTypes": [],
        "modules": ["cuda/12.4"],
        "programs": ["mpirun"],
        "containers": "pyxis",
    },
)
SHORT = [{"name": "short"}]


def found(defaults: Defaults = NO_DEFAULTS, **values: Any) -> list[tuple[str, str]]:
    """Path and code of each problem of three workers."""
    said = {path.replace("__", "."): value for path, value in values.items()}
    made = goldens.submission("PyTorch", WORKERS_ONLY, **said)
    pools = {**made.node_pools, "short": ("partition", "short")}
    object.__setattr__(made, "node_pools", pools)
    return [(p.path, p.code) for p in check.problems(made, FACTS, defaults)]


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"slurm__account": "team-b", "slurm__gpuType": "a100"}, []),
        ({"slurm__account": "others"}, [("slurm.account", "cluster:accounts")]),
        ({"slurm__qos": "high"}, [("slurm.qos", "cluster:qos")]),
        ({"slurm__timeLimit": 90_000}, []),
        (
            {"slurm__timeLimit": 90_000, "nodePools": SHORT},
            [
                ("slurm.timeLimit", "cluster:time_limit"),
                ("numWorkers", "cluster:partition_nodes"),
            ],
        ),
        ({"slurm__timeLimit": 90_000, "nodePools": [*SHORT, {"name": "default"}]}, [
            ("slurm.timeLimit", "cluster:time_limit"),
            ("numWorkers", "cluster:partition_nodes"),
        ]),
    ],
)  # fmt: skip
def test_what_can_never_be_is_refused(
    values: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    assert found(**values) == problems


def test_the_limit_of_the_clusters_settings_counts_where_nobody_says_another() -> None:
    too_long = Defaults(time="2-00:00:00")
    assert ("slurm.timeLimit", "cluster:time_limit") in found(too_long, nodePools=SHORT)
    shorter = found(too_long, nodePools=SHORT, slurm__timeLimit=3600)
    assert ("slurm.timeLimit", "cluster:time_limit") not in shorter


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30", 1800), ("1:30", 90), ("08:00:00", 28_800), ("1-0", 86_400), ("1-12", 129_600),
        ("1-12:30", 131_400), ("2-00:00:10", 172_810), ("infinite", None), ("UNLIMITED", None),
    ],
)  # fmt: skip
def test_lengths_of_time_are_read_as_slurm_reads_them(text: str, length: int | None) -> None:
    assert lengths.seconds(text) == length
    assert length is None or lengths.seconds(lengths.written(length)) == length


def test_the_form_offers_what_the_check_found_and_says_what_else_holds() -> None:
    notes = field_hints.field_notes(
        framework="PyTorch", role=Role.WORKER, has_own_master=False, facts=FACTS,
        defaults=Defaults(account="team-c", modules=("gcc/13",)),
    )  # fmt: skip
    offered = [choice.value for choice in notes["slurm.account"].choices[""]]
    assert offered == ["", "team-c", "team-a", "team-b"]
    assert [c.value for c in notes["slurm.modules"].choices["name"]] == ["cuda/12.4"]
    assert "gcc/13" in notes["slurm.modules"].help
    assert "1 d" in notes["slurm.timeLimit"].help


GIT = {"name": "code", "path": "/code", "repository": "https://git.example/code"}
VOLUME = {"name": "work", "path": "/work", "claimInfo": {"size": "1G"}}
CONTAINED = {"image": "python:3"}


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"storage__git": [GIT]}, [("storage.git.0.repository", "cluster:no_git")]),
        (
            {"storage__s3": [{"name": "sets", "path": "/sets", "bucket": "sets"}]},
            [("storage.s3.0.bucket", "cluster:no_s3_tool")],
        ),
        ({"storage__pvc": [VOLUME]}, [("storage.pvc.0.ephemeral", "cluster:not_kept")]),
        ({"storage__pvc": [VOLUME | {"ephemeral": True}]}, []),
        (
            {"storage__pvc": [VOLUME | {"existingPvc": True, "claimName": "a", "claimInfo": {}}]},
            [("storage.pvc.0.claimName", "cluster:no_claims")],
        ),
        (
            {"storage__emptyDirVolume": [{"name": "a", "path": "/a", "sizeLimit": "1G"}]},
            [("storage.emptyDirVolume.0.sizeLimit", "cluster:no_size_limit")],
        ),
        (
            {"storage__emptyDirVolume": [{"name": "a", "path": "/a"}], **CONTAINED},
            [("storage.emptyDirVolume.0.path", "cluster:no_fresh_folder")],
        ),
        (
            {"storage__hostPath": [{"name": "a", "path": "/a:b", "mountPath": "/a"}], **CONTAINED},
            [("storage.hostPath.0.path", "cluster:bind_path")],
        ),
        ({"image": "local://examples"}, [("image", "container")]),
    ],
)
def test_data_that_a_job_cannot_have_is_refused_with_the_reason(
    values: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    assert found(**values) == problems
