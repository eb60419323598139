"""Requirements of nodes, as the spec judges them."""

from typing import Any

import pytest

from gangline.drivers.kubernetes import placement
from gangline.spec.affinity import NodeRequirement
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.workload import WorkerSpec

ZONE = "topology.kubernetes.io/zone"


def problems(**item: Any) -> list[Problem]:
    return validate(
        WorkerSpec, Role.WORKER, {"nodeAffinityRequired": [{"name": "a", "key": ZONE} | item]}
    )


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("In", "eu-1a"), ("In", "a, b,c"), ("NotIn", "a b"), ("Exists", None), ("Exists", ""),
        ("DoesNotExist", None), ("Gt", "4"), ("Lt", " -1 "),
    ],
)  # fmt: skip
def test_what_makes_sense_is_taken(operator: str, values: str | None) -> None:
    assert problems(operator=operator, values=values) == []


@pytest.mark.parametrize(
    ("operator", "values", "message", "accepted"),
    [
        ("In", None, "is required: the operator In compares with values", "one or more values"),
        ("NotIn", " , ", "is required: the operator NotIn compares with values", "one or more"),
        ("Exists", "a", "must be empty: the operator Exists compares nothing", "no value"),
        ("DoesNotExist", "a", "must be empty: the operator DoesNotExist", "no value"),
        ("Gt", "a", "must be one whole number: the operator Gt", "one whole number"),
        ("Lt", "1, 2", "must be one whole number: the operator Lt", "one whole number"),
        ("Gt", None, "must be one whole number: the operator Gt", "one whole number"),
        ("In", "a/b", "must be values of labels", "values with commas between"),
        ("In", f"a,{'b' * 64}", "must be values of labels", "values with commas between"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_values(
    operator: str, values: str | None, message: str, accepted: str
) -> None:
    (problem,) = problems(operator=operator, values=values)
    assert problem.path == "nodeAffinityRequired.0.values"
    assert problem.message.startswith(message)
    assert problem.accepted.startswith(accepted)


def test_an_operator_that_is_none_is_told_alone() -> None:
    (problem,) = problems(operator="Is", values="a")
    assert (problem.path, problem.rule) == ("nodeAffinityRequired.0.operator", "options")


TERMS: dict[str, list[dict[str, Any]]] = {
    "nodeSelectorTerms": [
        {
            "matchExpressions": [
                {"key": "gpus", "operator": "Gt", "values": ["4"]},
                {"key": "gpus", "operator": "Lt", "values": ["9"]},
            ]
        },
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["eu-1a", "eu-1b"]}]},
        {"matchExpressions": [{"key": "spare", "operator": "Exists"}]},
    ]
}
"""As Kubernetes and the contract have it: one term is enough, of which every expression holds."""
FIELD = catalogue(WorkerSpec)["nodeAffinityRequired"]


def test_terms_of_kubernetes_are_taken_shown_and_sent_as_they_are() -> None:
    items = FIELD.canonical(TERMS)
    assert [(one["name"], one["term"]) for one in items] == [
        ("gpus", 1), ("gpus-2", 1), ("topology.kubernetes.io-zone", 2), ("spare", 3),
    ]  # fmt: skip
    assert FIELD.canonical(items) == items
    assert validate(WorkerSpec, Role.WORKER, {"nodeAffinityRequired": items}) == []
    assert FIELD.reads
    assert FIELD.reads.show
    assert FIELD.reads.show(items) == TERMS
    sent = placement.alternatives([NodeRequirement.model_validate(one) for one in items])
    terms = [one["matchExpressions"] for one in TERMS["nodeSelectorTerms"]]
    assert sent == terms


def test_each_pool_has_each_term() -> None:
    pools = {"a": ("pool", "a"), "b": ("pool", "b")}
    made = placement.affinity(
        placement.node_type("dgx", "type"), [[{"key": "x"}], [{"key": "y"}]], ("a", "b"), pools
    )["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    told = [[one["key"] for one in term["matchExpressions"]] for term in made]
    assert told == [["type", key, "pool"] for key in ("x", "y")] * 2
    assert [term["matchExpressions"][2]["values"] for term in made] == [["a"]] * 2 + [["b"]] * 2


def test_a_single_term_needs_no_number() -> None:
    one = {"nodeSelectorTerms": TERMS["nodeSelectorTerms"][:1]}
    assert all("term" not in item for item in FIELD.canonical(one))
    assert FIELD.reads
    assert FIELD.reads.show
    assert FIELD.reads.show(FIELD.canonical(one)) == one


@pytest.mark.parametrize(
    "shape",
    [
        {"nodeSelectorTerms": []},
        {"nodeSelectorTerms": [{}]},
        {"nodeSelectorTerms": [{"matchExpressions": []}]},
        {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]},
        {"nodeSelectorTerms": [{"matchExpressions": [1]}]},
        {"nodeSelectorTerms": TERMS["nodeSelectorTerms"][:1] * 17},
        {"required": True},
    ],
)
def test_what_is_no_term_is_refused(shape: Any) -> None:
    found = validate(WorkerSpec, Role.WORKER, {"nodeAffinityRequired": FIELD.canonical(shape)})
    assert found
    assert all(problem.path.startswith("nodeAffinityRequired") for problem in found)
