"""The eight worked examples of the policy language, each as it is written."""

from typing import Any

import pytest

from gangline.policies.document import Imposable
from gangline.policies.effective import EffectivePolicy, Layer, effective_policy
from gangline.policies.engine import Request, Resolution, resolve
from gangline.policies.parser import parse
from gangline.spec.problems import Role
from gangline.spec.sources import Value

SCOPES = ("cluster", "department", "project")
HOME = "5a2d0f2e-5c0a-4b2b-9f4b-0e0a8f0d3c11"

E1 = """
defaults:
  worker: {numWorkers: 2, compute: {gpuDevicesRequest: 1, cpuCoreRequest: 4, cpuMemoryRequest: 16G}}
  master: {compute: {gpuDevicesRequest: 0, cpuCoreRequest: 2, cpuMemoryRequest: 4G}}
rules:
  worker:
    numWorkers: {min: 1, max: 16}
    compute: {gpuDevicesRequest: {max: 8}}
  master:
    compute: {gpuDevicesRequest: {max: 1}}
"""
E2 = """
defaults:
  worker:
    environmentVariables:
      instances:
        - {name: HTTP_PROXY, value: "http://proxy:3128"}
        - {name: WANDB_MODE, value: offline}
rules:
  worker:
    environmentVariables: {instances: {locked: [HTTP_PROXY]}}
"""
E3 = """
rules:
  worker:
    image: {required: true, options: [{value: "reg/ddp:1.4", displayed: "DDP 1.4"}, {value: "reg/ddp:1.5", displayed: "DDP 1.5"}]}
    imagePullPolicy: {canEdit: false}
defaults:
  worker: {imagePullPolicy: IfNotPresent}
"""  # noqa: E501
E4 = """
rules:
  worker:
    storage:
      hostPath: {instances: {canAdd: false}}
      nfs:      {instances: {canAdd: false}}
      S3
      git:      {attributes: {repository: {required: true}, branch: {required: true}}}
      pvc:
        attributes:
          path: {options: [{value: /data}, {value: /ckpt}]}
          claimInfo: {storageClass: {options: [{value: fast}]}}
imposedAssets:
  worker: [5a2d0f2e-5c0a-4b2b-9f4b-0e0a8f0d3c11]
  master: [5a2d0f2e-5c0a-4b2b-9f4b-0e0a8f0d3c11]
"""
E5 = """
defaults: {worker: {compute: {cpuCoreLimit: 16}}}
rules:
  worker:
    compute:
      cpuCoreRequest: {defaultFrom: {field: compute.cpuCoreLimit, factor: 0.5}, min: 1}
      cpuMemoryLimit: {min: 1G, max: 64G}
"""
E7 = """
defaults:
  worker: {nodePools: [h100], priorityClass: low, preemptibility: preemptible,
           tolerations: {instances: [{name: gpu, key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]}}
rules:
  worker:
    nodePools: {canEdit: false}
    priorityClass: {options: [{value: very-low}, {value: low}]}
    preemptibility: {canEdit: false}
    tolerations: {instances: {canAdd: false, locked: [gpu]}}
"""  # noqa: E501
E8 = """
defaults: {worker: {distributedFramework: PyTorch, cleanPodPolicy: Running, terminationGracePeriodSeconds: 60}}
rules:
  worker:
    distributedFramework: {canEdit: false}
    minReplicas: {min: 1}
    maxReplicas: {max: 32}
    cleanPodPolicy: {options: [{value: Running}, {value: All}]}
    terminationGracePeriodSeconds: {max: 300}
    autoDeletionTimeAfterCompletionSeconds: {required: true, max: 604800}
"""  # noqa: E501


def policy(*texts: str) -> EffectivePolicy:
    """One text is the project's; three are those of cluster, department and project."""
    kinds = SCOPES if len(texts) == len(SCOPES) else ("project",)
    return effective_policy(
        [Layer(kind, "vision", parse(text)) for kind, text in zip(kinds, texts, strict=True)]
    )


def resolved(rules: EffectivePolicy, master: str = "same", /, **given: Any) -> Resolution:
    values = {path.replace("__", "."): Value(value) for path, value in given.items()}
    framework = "" if "distributedFramework" in rules.worker and _fixed(rules) else "PyTorch"
    return resolve(Request(framework=framework, master=master, given=values), rules)


def _fixed(rules: EffectivePolicy) -> bool:
    return rules.worker["distributedFramework"].fixed is not None


def told(resolution: Resolution) -> list[tuple[str, str]]:
    return [(problem.field_id, problem.rule) for problem in resolution.problems]


def test_e1_sizes_are_capped_per_role() -> None:
    made = resolved(policy(E1), worker__numWorkers=20)
    assert told(made) == [("worker.numWorkers", "max")]
    made = resolved(policy(E1), worker__compute__gpuDevicesRequest=4)
    assert told(made) == [("master.compute.gpuDevicesRequest", "max")]
    assert [problem.path for problem in made.master_forced] == ["compute.gpuDevicesRequest"]
    made = resolved(policy(E1), "own", worker__compute__gpuDevicesRequest=4)
    assert told(made) == []
    assert made.values(Role.MASTER)["compute.cpuMemoryRequest"] == "4G"


def test_e2_a_locked_variable_stays_and_another_may_go() -> None:
    path = "worker__environmentVariables"
    items = [{"name": "WANDB_MODE", "exclude": True}, {"name": "SEED", "value": "1"}]
    made = resolved(policy(E2), **{path: items})
    assert told(made) == []
    names = [item["name"] for item in made.values(Role.WORKER)["environmentVariables"]]
    assert names == ["HTTP_PROXY", "SEED"]
    made = resolved(policy(E2), **{path: [{"name": "HTTP_PROXY", "exclude": True}]})
    assert told(made) == [("worker.environmentVariables.0", "locked")]


def test_e3_only_approved_images_with_their_labels() -> None:
    options = policy(E3).rule(Role.WORKER, "image").options
    assert options
    assert [option.label for option in options.value] == ["DDP 1.4", "DDP 1.5"]
    assert told(resolved(policy(E3))) == [("worker.image", "required")]
    assert told(resolved(policy(E3), worker__image="reg/own:1")) == [("worker.image", "options")]
    assert told(resolved(policy(E3), worker__image="reg/ddp:1.5")) == []
    made = resolved(policy(E3), worker__image="reg/ddp:1.5", worker__imagePullPolicy="Always")
    assert told(made) == [("worker.imagePullPolicy", "canEdit")]


def imposed() -> EffectivePolicy:
    s3 = "s3:       {instances: {canAdd: false}}" if "storage.s3" in policy("{}").worker else ""
    home = Imposable(
        HOME,
        "home",
        "storage.nfs",
        {"name": HOME, "server": "nfs.lab", "path": "/home", "mountPath": "/home"},
    )
    return policy(E4.replace("S3", s3)).with_imposed({HOME: home})


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("hostPath", {"name": "a", "path": "/a", "mountPath": "/a"}),
        ("nfs", {"name": "a", "server": "nfs.lab", "path": "/a", "mountPath": "/a"}),
    ],
)
def test_e4_no_storage_beside_what_is_imposed(path: str, item: Any) -> None:
    made = resolved(imposed(), **{f"worker__storage__{path}": [item]})
    assert told(made)[0] == (f"worker.storage.{path}.0", "canAdd")


def test_e4_one_pattern_of_volumes() -> None:
    claim = {"size": "1G", "storageClass": "slow"}
    volume = {"name": "a", "path": "/own", "claimInfo": claim}
    made = resolved(imposed(), worker__storage__pvc=[volume])
    assert told(made) == [
        ("worker.storage.pvc.0.path", "options"),
        ("worker.storage.pvc.0.claimInfo.storageClass", "options"),
    ]
    claim["storageClass"] = "fast"
    made = resolved(imposed(), worker__storage__pvc=[{**volume, "path": "/data"}])
    assert told(made) == []
    git = {"name": "a", "repository": "https://lab/a.git", "path": "/a"}
    made = resolved(imposed(), worker__storage__git=[git])
    assert told(made) == [("worker.storage.git.0.branch", "required")]


@pytest.mark.parametrize("master", ["same", "differences", "own"])
def test_e4_every_workload_has_what_is_imposed(master: str) -> None:
    made = resolved(imposed(), master)
    assert told(made) == []
    for role in (Role.WORKER, Role.MASTER):
        (item,) = made.values(role)["storage.nfs"]
        assert item["name"] == HOME
    (origin,) = made.effective["worker.storage.nfs"].items
    assert (origin.key, origin.locked, origin.source.name) == (HOME, *["project vision"] * 2)


@pytest.mark.parametrize("change", [{"exclude": True}, {"mountPath": "/mine"}])
def test_e4_what_is_imposed_cannot_be_changed(change: Any) -> None:
    made = resolved(imposed(), worker__storage__nfs=[{"name": HOME, **change}])
    assert told(made) == [("worker.storage.nfs.0", "locked")]


def test_e4_without_what_is_imposed_nothing_is_submitted() -> None:
    gone = policy(E4.replace("S3", "")).with_imposed({})
    assert ("workload.imposedAssets", "imposed") in told(resolved(gone))


def test_e5_a_default_follows_from_another_field() -> None:
    made = resolved(policy(E5), worker__compute__cpuCoreLimit=8)
    assert made.values(Role.WORKER)["compute.cpuCoreRequest"] == 4
    assert told(made) == []
    made = resolved(policy(E5), worker__compute__cpuCoreLimit=8, worker__compute__cpuCoreRequest=6)
    assert made.values(Role.WORKER)["compute.cpuCoreRequest"] == 6
    assert told(made) == []


def test_e6_levels_are_merged_to_what_holds_for_all() -> None:
    merged = policy(
        "rules: {worker: {compute: {gpuDevicesRequest: {max: 8}}, backoffLimit: {max: 20}}}\n"
        "defaults: {worker: {nodePools: [default]}}",
        "rules: {worker: {compute: {gpuDevicesRequest: {max: 4}},"
        " backoffLimit: {max: 10, required: true}}}",
        "defaults: {worker: {nodePools: [h100, default]}}",
    )
    gpus = merged.rule(Role.WORKER, "compute.gpuDevicesRequest").maximum
    backoff = merged.rule(Role.WORKER, "backoffLimit")
    assert gpus
    assert backoff.maximum
    assert backoff.required
    # The narrowest holds (R22), not that of the cluster.
    assert (gpus.value, gpus.source) == (4, "department vision")
    assert backoff.maximum.value == 10
    pools = resolved(merged).values(Role.WORKER)["nodePools"]
    assert pools == [{"name": "h100"}, {"name": "default"}]


def test_e7_where_it_runs_is_locked() -> None:
    assert told(resolved(policy(E7))) == []
    made = resolved(
        policy(E7),
        worker__nodePools=["a100"],
        worker__priorityClass="high",
        worker__preemptibility="non-preemptible",
        worker__tolerations=[{"name": "gpu", "exclude": True}],
    )
    assert sorted(told(made)) == [
        ("worker.nodePools", "canEdit"),
        ("worker.preemptibility", "canEdit"),
        ("worker.priorityClass", "options"),
        ("worker.tolerations.0", "locked"),
    ]
    assert told(resolved(policy(E7), worker__nodePools=["h100"])) == []


def test_e8_pytorch_alone_and_how_it_is_cleaned_up() -> None:
    auto = {"worker__autoDeletionTimeAfterCompletionSeconds": 3600}
    made = resolved(policy(E8), **auto)
    assert (made.framework, told(made)) == ("PyTorch", [])
    made = resolved(policy(E8), worker__distributedFramework="MPI", **auto)
    assert ("worker.distributedFramework", "canEdit") in told(made)
    week = {"worker__autoDeletionTimeAfterCompletionSeconds": 604_801}
    made = resolved(policy(E8), worker__cleanPodPolicy="None", worker__minReplicas=0, **week)
    assert sorted(told(made)) == [
        ("worker.autoDeletionTimeAfterCompletionSeconds", "max"),
        ("worker.cleanPodPolicy", "options"),
        ("worker.minReplicas", "min"),
    ]
