"""What the driver does when the cluster, the network or other people get in its way."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import (
    AttemptRef,
    Busy,
    Done,
    NotYet,
    ObservedState,
    Refused,
    Unknown,
)
from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.access import ClusterCredentials, Options
from gangline.drivers.kubernetes.client import Answer, Client
from gangline.drivers.kubernetes.driver import KubernetesDriver
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.namespaces import BINDINGS
from gangline.drivers.kubernetes.resources import (
    CLAIMS,
    NAMESPACES,
    PODS,
)
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import CONFIG_MAPS, SECRETS, SERVICES
from tests.drivers.kubernetes.harness import (
    JOBS,
    Ground,
    ground,
    lost,
    service_account,
    shipped,
    stranger,
)
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_kubernetes

S = ObservedState


@pytest.fixture
def place(bed: Bed, tmp_path: Path) -> Iterator[Ground]:
    with ground(bed, tmp_path) as made:
        yield made


# The place


def test_the_namespace_and_the_right_to_work_in_it_are_made_on_demand(place: Ground) -> None:
    assert isinstance(place.driver.create(place.ref()), NotYet)
    namespace = place.bed.client.get(NAMESPACES, "", place.namespace).body
    assert namespace["metadata"]["labels"][labels.INSTALL] == place.install
    (binding,) = place.bed.client.list(BINDINGS, place.namespace).body["items"]
    assert binding["roleRef"]["name"] == "gangline-project"


@pytest.mark.thorough
def test_a_login_without_rights_is_told_which_right_is_missing(place: Ground, bed: Bed) -> None:
    driver = KubernetesDriver(Client(stranger(bed)), Options())
    ref = place.ref(namespace="default")
    told = driver.create(ref)
    assert isinstance(told, Refused)
    assert told.reason.startswith("Gangline may not ")
    assert told.reason.endswith("its role on the cluster lacks that permission.")
    seen = driver.observe(ref)
    assert (seen.state, seen.reason) == (S.UNKNOWN, seen.reason)
    assert "may not list pytorchjobs (kubeflow.org)" in seen.reason


@pytest.mark.thorough
def test_a_login_that_is_not_accepted_leaves_everything_open(place: Ground, bed: Bed) -> None:
    access = replace(bed.restricted, token="wrong", client_certificate="", client_key="")
    driver = KubernetesDriver(Client(access), Options())
    assert isinstance(driver.create(place.ref()), Unknown)
    seen = driver.observe(place.ref())
    assert seen.state is S.UNKNOWN
    assert seen.reason == "The cluster rejected Gangline's credential."


@pytest.mark.thorough
def test_a_cluster_that_is_not_there_leaves_everything_open(place: Ground) -> None:
    driver = KubernetesDriver(
        Client(ClusterCredentials("https://127.0.0.1:1", token="x")), Options()
    )
    ref = place.ref()
    for act in (driver.create, driver.commit, driver.suspend, driver.resume, driver.delete):
        assert isinstance(act(ref), Unknown)
    assert driver.observe(ref).state is S.UNKNOWN
    assert isinstance(driver.owned_objects(place.install), Unknown)


# Answers that get lost, and what comes late


@pytest.mark.parametrize("lost_answers", [1, 2])
def test_f10_an_answer_that_is_lost_after_the_effect_is_no_failure(
    place: Ground, lost_answers: int
) -> None:
    ref = place.ref()
    place.driver.create(place.ref("before"))  # makes the namespace
    place.client.fault = lost(lost_answers, "POST")
    for _ in range(lost_answers):
        assert isinstance(place.driver.create(ref), Unknown)
    first = place.driver.observe(ref)
    assert first.state is S.HELD
    assert isinstance(place.driver.create(ref), NotYet)
    assert place.driver.observe(ref).ext_uid == first.ext_uid


def test_a_release_whose_answer_is_lost_is_found_done(place: Ground) -> None:
    ref = place.ref()
    place.driver.create(ref)
    # The operator has written all that it writes about one that is held.
    wait_for(lambda: (place.raw() or {}).get("status"))
    place.client.fault = lost(1, "PATCH")
    assert isinstance(place.driver.commit(ref), Unknown)
    assert isinstance(place.driver.commit(ref), Done)
    place.until(ref, S.RUNNING)


@pytest.mark.thorough
def test_f12_what_the_cluster_asks_for_is_passed_on(place: Ground) -> None:
    place.client.fault = _always(Answer(429, {"message": "too many"}, 7.0), "POST")
    assert place.driver.create(place.ref()) == Busy(7.0, is_for_all=True)


def test_f34_a_create_that_lands_after_the_deletion_is_found_and_removed(place: Ground) -> None:
    ref = place.ref()
    place.driver.create(place.ref("before"))
    assert isinstance(place.driver.delete(ref), Done)
    assert isinstance(place.driver.create(ref), NotYet)  # the one that was on its way
    assert place.driver.observe(ref).state is S.HELD
    place.driver.delete(ref)
    assert place.until(ref, S.ABSENT).replicas == ()


@pytest.mark.thorough
def test_f35_the_object_of_a_workload_that_is_gone_is_waited_for(place: Ground) -> None:
    old, new = place.ref(), place.ref()
    place.driver.create(old)
    told = place.driver.create(new)
    assert isinstance(told, Busy)
    assert told.reason == "Another workload of its name is still on the cluster."
    assert place.driver.observe(new).state is S.ABSENT
    place.driver.delete(old)
    assert isinstance(place.driver.create(new), NotYet)
    assert place.driver.observe(new).state is S.HELD


# Objects of others


def test_f13_an_object_of_others_is_a_conflict_and_stays_as_it_is(place: Ground) -> None:
    first = place.ref("first")
    place.driver.create(first)
    raw = place.raw("first")
    assert raw is not None
    theirs = _copy(raw, "gang", {})
    assert place.bed.client.create(JOBS, place.namespace, theirs).ok
    wait_for(lambda: (place.raw() or {}).get("status"))
    before = place.raw()
    ref = place.ref()
    place.driver.create(ref)
    assert place.driver.observe(ref).state is S.CONFLICT
    for act in (place.driver.commit, place.driver.suspend, place.driver.resume):
        act(ref)
    assert isinstance(place.driver.delete(ref), Done)
    assert place.raw() == before


@pytest.mark.thorough
def test_f30_an_object_with_our_labels_and_another_uid_is_not_ours(place: Ground) -> None:
    """Somebody saved ours, deleted it, and made it again."""
    ref = place.ref()
    place.driver.create(ref)
    raw = place.raw()
    assert raw is not None
    known = replace(ref, ext_uid=raw["metadata"]["uid"])
    place.bed.client.delete(JOBS, place.namespace, "gang", uid=known.ext_uid)
    wait_for(lambda: place.raw() is None)
    assert place.bed.client.create(JOBS, place.namespace, _copy(raw, "gang", raw["metadata"])).ok
    assert place.driver.observe(known).state is S.CONFLICT
    assert isinstance(place.driver.delete(known), Done)
    assert place.raw() is not None


def test_f31_another_installation_is_others_too(place: Ground) -> None:
    theirs = place.ref(install="install-other")
    place.driver.create(theirs)
    ours = place.ref()
    place.driver.create(ours)
    assert place.driver.observe(ours).state is S.CONFLICT
    assert place.driver.owned_objects(place.install) == []
    place.driver.delete(ours)
    assert place.driver.observe(theirs).state is S.HELD


# What the cluster refuses


@pytest.mark.thorough
def test_f14_the_operators_own_check_is_told_in_its_words(place: Ground) -> None:
    ref = place.ref()
    _container(ref)["name"] = "main"
    told = place.driver.create(ref)
    assert isinstance(told, Refused)
    assert told.reason.startswith("The training-operator refused it: ")
    assert "pytorch" in told.reason
    assert place.raw() is None


@pytest.mark.thorough
def test_a_field_that_the_cluster_does_not_know_is_named(place: Ground) -> None:
    ref = place.ref()
    ref.rendered["job"]["spec"]["colour"] = "red"
    told = place.driver.create(ref)
    assert isinstance(told, Refused)
    assert told.reason == 'Unknown field "spec.colour".'
    assert [problem.message for problem in told.problems] == [
        "refuses it: spec.colour: unknown field spec.colour"
    ]


@pytest.mark.thorough
def test_a_name_that_cannot_be_is_refused(place: Ground) -> None:
    told = place.driver.create(place.ref("1pt"))
    assert isinstance(told, Refused)
    assert "metadata.name: Invalid value" in told.reason


# The end


@pytest.mark.thorough
def test_a_deletion_by_identity_alone_finds_it_by_its_labels(place: Ground) -> None:
    ref = place.ref()
    seen = place.running(ref)
    bare = AttemptRef(ref.install, ref.workload, 1, name="", ext_uid=seen.ext_uid)
    assert place.driver.observe(bare).state is S.RUNNING
    place.driver.delete(bare)
    place.until(ref, S.ABSENT)


def test_a_deletion_leaves_nothing_of_any_kind(place: Ground) -> None:
    ref = place.ref(workers=2)
    place.running(ref)
    place.driver.delete(ref)
    place.until(ref, S.ABSENT)
    assert isinstance(place.driver.delete(ref), Done)
    wanted = f"{labels.WORKLOAD}={ref.workload}"
    kinds = (*(k.resource for k in KINDS.values()), PODS, SERVICES, SECRETS, CONFIG_MAPS, CLAIMS)
    for resource in kinds:
        listed = place.bed.client.list(resource, place.namespace, labelSelector=wanted)
        assert listed.body["items"] == [], resource.plural
    assert place.bed.client.list(SERVICES, place.namespace).body["items"] == []


@pytest.mark.thorough
def test_objects_of_ours_are_found_by_who_may_list_namespaces_and_work_in_some(
    place: Ground, bed: Bed
) -> None:
    """As the role for single namespaces has it, which is shipped."""
    ref = place.ref()
    place.driver.create(ref)
    place.until(ref, S.HELD)
    with service_account(bed) as (access, grant), closing(Client(access)) as client:
        grant(shipped("gangline", "role-per-namespace.yaml")["rules"])
        grant(shipped("gangline-project", "role-per-namespace.yaml")["rules"], place.namespace)
        found = KubernetesDriver(client, Options()).owned_objects(place.install)
    assert not isinstance(found, Unknown), found
    assert [(one.kind, one.ref.name) for one in found] == [("PyTorchJob", "gang")]


def test_pods_that_outlive_their_job_are_not_absent(place: Ground) -> None:
    """Somebody removed the job and left its pods."""
    ref = place.ref()
    uid = place.running(ref).ext_uid
    orphaning = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": uid},
    }
    path = JOBS.path(place.namespace, "gang")
    assert place.bed.client.request("DELETE", path, body=orphaning).ok
    wait_for(lambda: place.raw() is None)
    seen = place.until(ref, S.TERMINATING)
    command = f"kubectl delete pod gang-worker-0 -n {place.namespace}"
    assert seen.reason == (
        f'Pod gang-worker-0 outlived its job. Remove it with "{command}":'
        " Gangline may not remove pods."
    )
    pods = place.bed.client.list(PODS, place.namespace).body["items"]
    for pod in pods:
        meta = pod["metadata"]
        place.bed.client.delete(PODS, place.namespace, meta["name"], uid=meta["uid"])
    place.until(ref, S.ABSENT)


def _container(ref: AttemptRef) -> dict[str, Any]:
    worker = ref.rendered["job"]["spec"]["pytorchReplicaSpecs"]["Worker"]
    container: dict[str, Any] = worker["template"]["spec"]["containers"][0]
    return container


def _copy(raw: dict[str, Any], name: str, meta: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": raw["apiVersion"],
        "kind": raw["kind"],
        "metadata": {
            "name": name,
            "labels": meta.get("labels", {}),
            "annotations": meta.get("annotations", {}),
        },
        "spec": raw["spec"],
    }


def _always(answer: Answer, method: str) -> Callable[[str, str, Callable[[], Answer]], Answer]:
    def act(which: str, path: str, really: Callable[[], Answer]) -> Answer:
        return answer if which == method else really()

    return act
