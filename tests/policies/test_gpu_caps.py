"""A limit on GPUs holds for every resource that is a GPU, however a device plugin names it."""

from typing import Any

import pytest

from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, Resolution, resolve
from gangline.policies.gpu_caps import is_gpu
from gangline.policies.parser import parse
from gangline.spec.frameworks import WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.sources import Value

GPUS = (
    "nvidia.com/mig-1g.5gb",
    "nvidia.com/gpu.shared",
    "volcano.sh/vgpu-number",
    "amd.com/cpx_nps4",
    "gpu.intel.com/i915",
    "aliyun.com/gpu-mem",
)
CAP = "rules: {worker: {compute: {gpuDevicesRequest: {max: 2}}}}"
MASTER_CAP = "rules: {master: {compute: {gpuDevicesRequest: {max: 2}}}}"
FIXED = """
defaults: {worker: {compute: {gpuDevicesRequest: 1}}}
rules: {worker: {compute: {gpuDevicesRequest: {canEdit: false}}}}
"""
OWN = """
defaults:
  worker:
    compute:
      extendedResources: {instances: [{resource: nvidia.com/mig-1g.5gb, quantity: "8"}]}
rules: {worker: {compute: {gpuDevicesRequest: {max: 1}}}}
"""


def ask(
    policy: str, *extended: tuple[str, str], mode: str = "none", devices: int = 0
) -> Resolution:
    layers = [Layer("project", "vision", parse(policy))] if policy else []
    said: dict[str, Any] = {"worker.compute.gpuDevicesRequest": devices} if devices else {}
    if extended:
        said["worker.compute.extendedResources"] = [
            {"resource": resource, "quantity": quantity} for resource, quantity in extended
        ]
    entries = {path: Value(value) for path, value in said.items()}
    configuration = WORKERS_ONLY if mode == "none" else WORKERS_AND_MASTER
    request = Request(framework="PyTorch", configuration=configuration, master=mode, given=entries)
    return resolve(request, effective_policy(layers))


@pytest.mark.parametrize("resource", GPUS)
def test_gpus_by_another_name_count(resource: str) -> None:
    assert is_gpu(resource)
    (problem,) = ask(CAP, ("rdma/hca", "64"), (resource, "3")).problems
    assert (problem.path, problem.rule, problem.value) == (
        "compute.extendedResources.1", "max", "3",
    )  # fmt: skip
    assert problem.source == "project vision"
    assert problem.message == "counts as GPUs, of which a pod may have at most 2 in all"


@pytest.mark.parametrize("resource", ["rdma/hca", "nvidia.com/hostdev", "smarter-devices/fuse"])
def test_what_is_no_gpu_does_not_count(resource: str) -> None:
    assert not is_gpu(resource)
    assert ask(CAP, (resource, "64")).problems == []


def test_as_many_as_are_allowed_in_all_may_be_asked_for() -> None:
    assert ask(CAP, (GPUS[0], "2")).problems == []
    assert ask(CAP, (GPUS[0], "1"), devices=1).problems == []
    assert len(ask(CAP, (GPUS[0], "1"), devices=2).problems) == 1
    both = ask(CAP, (GPUS[0], "2"), (GPUS[1], "1")).problems
    assert [p.path for p in both] == ["compute.extendedResources.0", "compute.extendedResources.1"]


def test_without_a_limit_every_name_is_taken() -> None:
    assert ask("", (GPUS[0], "8"), devices=8).problems == []


def test_a_fixed_count_leaves_no_room_for_more() -> None:
    assert ask(FIXED, ("rdma/hca", "1")).problems == []
    (problem,) = ask(FIXED, (GPUS[0], "1")).problems
    assert "at most 1 in all" in problem.message


def test_a_limit_for_the_master_holds_for_what_it_has_from_the_workers() -> None:
    for mode in ("same", "differences"):
        found = ask(MASTER_CAP, (GPUS[0], "3"), mode=mode).problems
        assert [(p.role, p.path) for p in found] == [("master", "compute.extendedResources.0")], (
            mode
        )


def test_what_the_policy_itself_gives_is_its_own_affair() -> None:
    assert ask(OWN).problems == []
    assert [p.path for p in ask(OWN, (GPUS[1], "1")).problems] == ["compute.extendedResources.0"]


@pytest.mark.parametrize("quantity", ["x", "-8", "", "8k"])
def test_a_quantity_that_is_none_is_told_as_such(quantity: str) -> None:
    (problem,) = ask(CAP, (GPUS[0], quantity)).problems
    assert problem.path == "compute.extendedResources.0.quantity"


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ({"compute.gpuDevicesRequest": 8, "numWorkers": 1000}, "8008"),
        ({"compute.gpuDevicesRequest": 8, "numWorkers": 7}, ""),
        ({"compute.gpuDevicesRequest": 8, "numWorkers": 8}, "72"),
        (
            {
                "compute.gpuDevicesRequest": 1,
                "compute.gpuRequestType": "portion",
                "compute.gpuPortionRequest": 0.5,
                "numWorkers": 127,
            },
            "",
        ),
        (
            {
                "compute.gpuDevicesRequest": 1,
                "numWorkers": 1,
                "minReplicas": 1,
                "maxReplicas": 64,
            },
            "65",
        ),
        (
            {
                "compute.extendedResources": [{"resource": GPUS[0], "quantity": "4"}],
                "numWorkers": 16,
            },
            "68",
        ),
        ({"compute.gpuDevicesRequest": "x", "numWorkers": "y"}, ""),
    ],
)
def test_a_workload_has_no_more_gpus_in_all_than_every_scope_allows(
    values: dict[str, Any], total: str
) -> None:
    """Security row 14: GPUs × pods, with the master."""
    text = "rules: {HALF: {compute: {gpuDevicesRequest: {maxTotal: MOST, message: Ask us.}}}}"
    layers = [
        Layer(kind, name, parse(text.replace("HALF", half).replace("MOST", most)))
        for kind, name, half, most in (
            ("department", "research", "master", "64"),
            ("project", "vision", "worker", "128"),
        )
    ]
    given = {f"worker.{path}": Value(value) for path, value in values.items()}
    policy = effective_policy(layers)
    found = resolve(Request(framework="PyTorch", given=given), policy).problems
    told = [p for p in found if p.rule == "maxTotal"]
    assert [(p.params["total"], p.source, p.hint) for p in told] == (
        [(total, "department research", "Ask us.")] if total else []
    )
