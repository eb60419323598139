"""Volumes on their way to a cluster: who shares what, what is refused, what is only said."""

from typing import Any

import pytest

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.drivers.kubernetes import manifests, volume_checks, volumes
from gangline.drivers.kubernetes.check import check
from gangline.drivers.kubernetes.field_hints import field_notes
from gangline.spec.problems import Role
from gangline.spec.typed import typed
from gangline.spec.workload import WorkerSpec
from tests.drivers.kubernetes.goldens import DIFFERENCES, NONE, SAME, submission

CLASSES = [
    {"name": "fast", "provisioner": "csi.example", "default": True},
    {"name": "slow", "provisioner": "csi.example", "default": False},
]
FACTS = Facts("v1.36.3", detail={"storageClasses": CLASSES})
NO_DEFAULT = Facts("v1.36.3", detail={"storageClasses": CLASSES[1:]})
DATA: dict[str, Any] = {"name": "data", "path": "/data", "claimInfo": {"size": "5G"}}
SHARED: dict[str, Any] = DATA | {
    "claimInfo": {"size": "5G", "accessModes": {"readWriteMany": True}}
}


def made(*items: Any, framework: str = "PyTorch", mode: str = SAME, **more: Any) -> Submission:
    return submission(framework, mode, storage__pvc=list(items), **more)


def claims(submitted: Submission) -> list[str]:
    return [one["metadata"]["name"] for one in volumes.claims(submitted)]


def told(submitted: Submission, facts: Facts = FACTS) -> list[tuple[str, str]]:
    return [(p.field_id, p.rule) for p in check(submitted, facts)]


def advice(submitted: Submission, facts: Facts = FACTS) -> list[tuple[Role, str]]:
    return [(a.role, a.sentence) for a in volume_checks.advise(submitted, facts)]


def test_roles_that_describe_a_claim_alike_share_it() -> None:
    other_place = DATA | {"path": "/elsewhere", "readOnly": True}
    shared = made(DATA, mode=DIFFERENCES, master={"storage.pvc": [other_place]})
    assert len(claims(shared)) == 1
    larger = DATA | {"claimInfo": {"size": "6G"}}
    assert len(claims(made(DATA, mode=DIFFERENCES, master={"storage.pvc": [larger]}))) == 2


def test_the_name_of_a_claim_is_that_of_its_workload_and_no_other() -> None:
    submitted = made(DATA)
    assert claims(submitted) == claims(made(DATA))
    (name,) = claims(submitted)
    assert name.startswith("ddp-data-")
    again = Submission(
        **{
            **{part: getattr(submitted, part) for part in submitted.__slots__},
            "identifiers": {"GANGLINE_WORKLOAD_ID": "another"},
        }
    )
    assert claims(again) != [name]


def test_what_is_left_out_is_as_if_it_had_been_said() -> None:
    modes = {"readWriteOnce": True, "readOnlyMany": False, "readWriteMany": False}
    full = DATA | {
        "ephemeral": False,
        "claimInfo": {"size": "5G", "volumeMode": "Filesystem", "accessModes": modes},
    }
    assert claims(made(full)) == claims(made(DATA))
    (claim,) = volumes.claims(made(DATA))
    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": "5G"}},
    }


def test_parameters_of_a_class_are_annotations_of_the_claim() -> None:
    given = {"size": "5G", "addedAttrValues": "iops=500, note=a%2Cb"}
    (claim,) = volumes.claims(made(DATA | {"claimInfo": given}))
    assert claim["metadata"]["annotations"] == {"iops": "500", "note": "a,b"}
    own = DATA | {"claimInfo": given, "ephemeral": True}
    job = manifests.render(made(own, mode=NONE), "plain")["job"]
    spec = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    (volume,) = [v for v in spec["volumes"] if v["name"] == "volume-data"]
    template = volume["ephemeral"]["volumeClaimTemplate"]
    assert template["metadata"]["annotations"] == {"iops": "500", "note": "a,b"}


def test_a_claim_without_parameters_is_called_as_before_there_were_any() -> None:
    """Its name goes by what describes it; a new attribute must not lose anybody's data."""
    volumes_of = volumes.of(typed(WorkerSpec, {"storage.pvc": [DATA]}))
    assert [sorted(volumes.definition(one)) for one in volumes_of] == [
        [
            "claimInfo.accessModes.readOnlyMany",
            "claimInfo.accessModes.readWriteMany",
            "claimInfo.accessModes.readWriteOnce",
            "claimInfo.size",
            "claimInfo.storageClass",
            "claimInfo.volumeMode",
            "ephemeral",
            "existingPvc",
        ]
    ]


@pytest.mark.parametrize(
    ("item", "workers", "mode", "is_own"),
    [
        (DATA | {"ephemeral": True}, 1, NONE, False),
        (DATA | {"ephemeral": True}, 2, NONE, True),
        (DATA | {"ephemeral": True}, 1, SAME, True),
        (SHARED | {"ephemeral": True}, 2, NONE, False),
        (DATA, 2, NONE, False),
    ],
)
def test_each_pod_has_its_own_only_where_nobody_could_share_it(
    item: Any, workers: int, mode: str, is_own: bool
) -> None:
    submitted = made(item, mode=mode, num_workers=workers)
    assert bool(claims(submitted)) is not is_own
    job = manifests.render(submitted, "plain")["job"]
    spec = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    (volume,) = [v for v in spec["volumes"] if v["name"] == "volume-data"]
    assert ("ephemeral" in volume) is is_own


def test_a_master_without_the_volume_leaves_it_to_the_one_worker() -> None:
    alone = made(
        DATA | {"ephemeral": True},
        mode=DIFFERENCES,
        num_workers=1,
        master={"storage.pvc": []},
    )
    assert len(claims(alone)) == 1


def test_a_launcher_mounts_what_its_workers_mount() -> None:
    job = manifests.render(made(DATA, framework="MPI"), "plain")["job"]
    for role in job["spec"]["mpiReplicaSpecs"].values():
        (container,) = role["template"]["spec"]["containers"]
        assert {"name": "volume-data", "mountPath": "/data"} in container["volumeMounts"]


@pytest.mark.parametrize(
    ("item", "framework", "where"),
    [
        (DATA | {"path": "/dev/shm"}, "PyTorch", "path"),
        (DATA | {"path": "/etc/mpi/"}, "MPI", "path"),
        (DATA | {"path": "/root/.ssh/keys"}, "MPI", "path"),
        (
            DATA | {"claimInfo": {"size": "5G", "storageClass": "quick"}},
            "PyTorch",
            "claimInfo.storageClass",
        ),
    ],
)
def test_what_cannot_be_on_a_cluster_is_refused(item: Any, framework: str, where: str) -> None:
    found = check(made(item, framework=framework), FACTS)
    assert {(p.role, p.path) for p in found} == {
        (Role.WORKER, f"storage.pvc.0.{where}"),
        (Role.MASTER, f"storage.pvc.0.{where}"),
    }
    assert all(p.accepted for p in found)


def test_an_unknown_class_is_answered_with_those_that_are_there() -> None:
    item = DATA | {"claimInfo": {"size": "5G", "storageClass": "quick"}}
    (problem,) = check(made(item, mode=NONE), FACTS)
    assert problem.message == "is not on the cluster, which has fast, slow"
    assert problem.accepted == "fast, slow"
    assert check(made(item, mode=NONE), Facts("v1.36.3")) == []


@pytest.mark.parametrize(
    ("item", "framework", "more"),
    [
        (DATA | {"path": "/dev/shm"}, "PyTorch", {"compute__largeShmRequest": False}),
        (DATA | {"path": "/etc/mpi"}, "PyTorch", {}),
        (DATA | {"path": "/root/.sshd"}, "MPI", {}),
        (DATA | {"claimInfo": {"size": "5G", "storageClass": "slow"}}, "PyTorch", {}),
    ],
)
def test_what_is_free_is_taken(item: Any, framework: str, more: dict[str, Any]) -> None:
    assert told(made(item, framework=framework, mode=SAME, **more)) == []


def test_one_name_for_two_claims_is_refused() -> None:
    one = DATA | {"claimName": "mine"}
    other = DATA | {"name": "more", "path": "/more", "claimName": "mine"}
    assert told(made(one, other, mode=NONE)) == []
    larger = other | {"claimInfo": {"size": "6G"}}
    assert told(made(one, larger, mode=NONE)) == [("worker.storage.pvc.1.claimName", "unique")]


def test_pods_that_could_hang_are_told_of() -> None:
    ((role, sentence),) = advice(made(DATA, mode=NONE))
    assert role is Role.WORKER
    assert "only one node may mount it, and 3 pods use it" in sentence
    assert advice(made(DATA, mode=NONE, num_workers=1)) == []
    assert advice(made(SHARED, mode=NONE)) == []


def test_a_volume_for_each_pod_is_told_of() -> None:
    (told_one,) = advice(made(DATA | {"ephemeral": True}, mode=NONE))
    assert told_one == (Role.WORKER, "Volume data: each of the 3 pods gets one of its own.")


def test_a_cluster_without_a_default_class_is_told_of() -> None:
    ((_, sentence),) = advice(made(SHARED, mode=NONE), NO_DEFAULT)
    assert "no default storage class" in sentence
    assert advice(made(SHARED, mode=NONE), Facts("")) == []


def test_the_form_offers_the_classes_of_the_cluster() -> None:
    def offered(facts: Facts) -> list[tuple[str, str]]:
        notes = field_notes(framework="TF", role=Role.WORKER, has_own_master=False, facts=facts)
        choices = notes["storage.pvc"].choices
        return [(c.value, c.word) for c in choices.get("claimInfo.storageClass", ())]

    assert offered(FACTS) == [("", "Cluster’s default (fast)"), ("fast", ""), ("slow", "")]
    assert offered(NO_DEFAULT)[0] == ("", "Cluster’s default (there is none)")
    assert offered(Facts("")) == []
