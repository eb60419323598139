"""Names on a cluster: of namespaces, and of what the operators derive from a workload's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.drivers.kubernetes import names
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.names import LONGEST_LABEL
from gangline.spec.types import LONGEST_NAME, is_workload_name

PROJECTS = st.from_regex(r"[a-z]([-a-z0-9]{0,49}[a-z0-9])?", fullmatch=True)


def test_a_namespace_is_named_after_the_project() -> None:
    assert names.namespace("gangline", "vision") == "gangline-vision"
    longest = "a" * LONGEST_NAME
    assert names.namespace("gangline", longest) == f"gangline-{longest}"


@given(st.from_regex(r"[a-z][-a-z0-9]{0,39}", fullmatch=True), PROJECTS)
def test_a_namespace_is_a_dns_label(prefix: str, project: str) -> None:
    made = names.namespace(prefix, project)
    assert len(made) <= 63
    assert made.replace("-", "a").isalnum()
    assert not made.endswith("-")


def test_long_names_that_differ_at_the_end_stay_apart() -> None:
    prefix, project = "p" * 40, "a" * 50
    first, second = (names.namespace(prefix, f"{project}{end}") for end in "bc")
    assert first != second
    assert first == names.namespace(prefix, f"{project}b")


@pytest.mark.parametrize("framework", sorted(KINDS.keys() - {"MXNet"}))
def test_the_longest_name_and_the_most_workers_fit(framework: str) -> None:
    name = "a" * LONGEST_NAME
    assert is_workload_name(name)
    assert names.problem(KINDS[framework], name, {"worker": 9999}) is None


def test_a_job_set_leaves_its_name_less_room() -> None:
    """It puts a number and five signs behind the name of each of its roles."""
    kind = KINDS["MXNet"]
    most = LONGEST_LABEL - len("-scheduler-0-0-xxxxx")
    assert names.problem(kind, "a" * most, {"worker": 10}) is None
    problem = names.problem(kind, "a" * (most + 1), {"worker": 10})
    assert problem is not None
    assert problem.code == "cluster:name_length"


def test_a_name_that_leaves_no_room_for_its_replicas_is_refused() -> None:
    kind = KINDS["PyTorch"]
    assert names.problem(kind, "a" * 54, {"worker": 10}) is None
    problem = names.problem(kind, "a" * 55, {"worker": 11})
    assert problem is not None
    assert (problem.code, problem.params["over"]) == ("cluster:name_length", 2)
    assert problem.params["made"].endswith("-worker-10")


@pytest.mark.parametrize("name", ["ddp-worker-0", "ddp-master-0", "ddp-chief-12"])
def test_an_mpi_job_must_not_be_called_like_a_replica(name: str) -> None:
    problem = names.problem(KINDS["MPI"], name, {"worker": 1})
    assert problem is not None
    assert problem.code == "cluster:name_end"
    assert names.problem(KINDS["PyTorch"], name, {"worker": 1}) is None


@pytest.mark.parametrize("name", ["worker-0", "ddp-worker", "ddp-worker-0-b", "worker"])
def test_other_names_are_free(name: str) -> None:
    assert names.problem(KINDS["MPI"], name, {"worker": 1}) is None
