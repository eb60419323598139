"""From what was said to effective values with their origins, and everything that is wrong (R21)."""

from typing import Any

import pytest

from gangline.policies.effective import effective_policy
from gangline.policies.engine import Request, resolve
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import (
    DEFAULT,
    WORKERS,
    YOU,
    Source,
    SourceKind,
    Value,
    copy_source,
    policy_source,
    template_source,
)
from tests.policies.sample_models import document, messages, policy, say
from tests.spec.extra_field import EXTRA, with_extra_field

GPUS = "worker.compute.gpuDevicesRequest"


def test_nothing_said_gives_the_products_defaults() -> None:
    resolution = resolve(Request(), effective_policy([]))
    assert resolution.problems == []
    assert resolution.effective["worker.distributedFramework"] == Value("PyTorch", DEFAULT)
    assert resolution.effective["worker.compute.cpuMemoryRequest"] == Value("100M", DEFAULT)
    assert "worker.image" not in resolution.effective
    assert resolution.values("worker")["numWorkers"] == 1


def test_every_value_says_where_it_comes_from() -> None:
    rules = policy(
        document(
            defaults={"worker": {"backoffLimit": 3, "terminationGracePeriodSeconds": 60}},
            rules={"worker": {"terminationGracePeriodSeconds": {"canEdit": False}}},
        )
    )
    said = {
        "worker__image": "a",
        "worker__args": Value("--x", template_source(7)),
        "worker__command": Value("run", copy_source("0d")),
    }
    sources = {path: entry.source for path, entry in say(rules, **said).effective.items()}
    assert sources["worker.image"] == YOU
    assert sources["worker.args"] == template_source(7)
    assert sources["worker.command"] == copy_source("0d")
    assert sources["worker.backoffLimit"] == policy_source("the whole installation")
    assert sources["worker.terminationGracePeriodSeconds"] == Source(
        SourceKind.FIXED, name="the whole installation"
    )
    assert sources["worker.numWorkers"] == DEFAULT


def test_a_limited_default_comes_from_the_scope_that_limits_it() -> None:
    rules = policy(document(rules={"worker": {"numWorkers": {"min": 2}}}))
    assert say(rules).effective["worker.numWorkers"] == Value(
        2, policy_source("the whole installation")
    )


def test_a_choice_leaves_aside_what_it_rules_out_of_others() -> None:
    """Of an asset or a policy; what a person says beside it is judged."""
    portion, sharing = "worker.compute.gpuPortionRequest", "worker.compute.gpuRequestType"
    given = {"worker.compute.gpuMemoryRequest": "2G", GPUS: 1, sharing: "memory"}
    asset = {GPUS: 1, sharing: "portion", portion: 0.1}
    under = {path: Value(value, Source(SourceKind.ASSET, "1")) for path, value in asset.items()}
    resolution = say(sent={"assets": under}, **given)
    assert resolution.problems == []
    assert portion not in resolution.effective
    assert portion in say(sent={"assets": under}).effective
    (problem,) = say(sent={"assets": under}, **given, **{portion: 0.5}).problems
    assert problem.path == "compute.gpuPortionRequest"


@pytest.mark.parametrize(
    ("rule", "part", "told"),
    [
        ({"max": 0.5}, 0.75, "at most 0.5, which is 50 % (set by the whole installation)."
         " You entered 0.75, which is 75 %."),
        ({"min": 0.1, "max": 0.5}, 0.05, "between 0.1 and 0.5, which is 10 to 50 %"
         " (set by the whole installation). You entered 0.05, which is 5 %."),
    ],
)  # fmt: skip
def test_bounds_of_a_part_are_told_in_percent_too(
    rule: dict[str, float], part: float, told: str
) -> None:
    rules = policy(document(rules={"worker": {"compute": {"gpuPortionRequest": rule}}}))
    given = {GPUS: 1, "worker.compute.gpuRequestType": "portion"}
    (problem,) = say(rules, **given, **{"worker.compute.gpuPortionRequest": part}).problems
    assert problem.sentence == f"GPU portion must be {told}"


def test_null_is_the_same_as_nothing() -> None:
    assert say(worker__image=None).effective.keys() == say().effective.keys()


def test_a_prefilled_value_on_a_fixed_field_is_left_out_with_a_notice() -> None:
    rules = policy(
        document(
            defaults={"worker": {"image": "a"}}, rules={"worker": {"image": {"canEdit": False}}}
        )
    )
    resolution = say(rules, worker__image=Value("b", template_source(7)))
    assert resolution.problems == []
    (notice,) = resolution.notices
    assert str(notice) == "Removed by policy: Image b (set by the whole installation)."
    assert (notice.role, notice.path, notice.source) == (
        Role.WORKER,
        "image",
        "the whole installation",
    )
    assert resolution.values("worker")["image"] == "a"


@pytest.mark.parametrize(
    ("said", "same"),
    [("1000M", True), ("1G", True), ("1.0G", True), ("1Gi", False), ("x", False), (1, False)],
)
def test_a_fixed_size_may_be_written_differently(said: Any, same: bool) -> None:
    rules = policy(
        document(
            defaults={"worker": {"compute": {"cpuMemoryRequest": "1G"}}},
            rules={"worker": {"compute": {"cpuMemoryRequest": {"canEdit": False}}}},
        )
    )
    resolution = say(rules, **{"worker.compute.cpuMemoryRequest": said})
    assert [p.rule for p in resolution.problems] == ([] if same else ["canEdit"])


@pytest.mark.parametrize(("said", "same"), [(1, True), (1.0, True), (True, False), ("1", False)])
def test_a_fixed_number_is_no_boolean_and_no_text(said: Any, same: bool) -> None:
    rules = policy(document(rules={"worker": {"numWorkers": {"canEdit": False}}}))
    resolution = say(rules, worker__numWorkers=said)
    assert [p.message for p in resolution.problems] == (
        [] if same else ["cannot be changed; it is fixed to 1"]
    )


def test_another_spelling_of_a_fixed_choice_is_the_same() -> None:
    rules = policy(
        document(
            defaults={"worker": {"distributedFramework": "TF"}},
            rules={"worker": {"distributedFramework": {"canEdit": False}}},
        )
    )
    assert say(rules, worker__distributedFramework="TensorFlow").problems == []
    refused = say(rules, sent={"framework": "PyTorch"})
    assert messages(refused) == [
        (
            "worker.distributedFramework",
            "cannot be changed; it is fixed to TF",
            "the whole installation",
        )
    ]


def test_a_field_fixed_without_a_value_takes_none() -> None:
    rules = policy(document(rules={"worker": {"image": {"canEdit": False}}}))
    assert messages(say(rules, worker__image="a")) == [
        ("worker.image", "cannot be set; it is fixed to have no value", "the whole installation")
    ]
    assert say(rules).problems == []


def test_a_policy_is_named_before_the_spec_for_the_same_bound() -> None:
    rules = policy(document(rules={"worker": {"compute": {"gpuDevicesRequest": {"max": 4}}}}))
    resolution = say(rules, **{GPUS: 100})
    assert messages(resolution)[0] == (GPUS, "must be at most 4", "the whole installation")
    assert len([p for p in resolution.problems if p.role is Role.WORKER]) == 1
    assert resolution.problems[0].sentence == (
        "GPU devices per pod must be at most 4 (set by the whole installation). You entered 100."
    )


def test_bounds_of_one_scope_are_said_together() -> None:
    limits = {"numWorkers": {"min": 2, "max": 4}}
    rules = policy(document(rules={"worker": limits}))
    for said in (1, 5):
        assert messages(say(rules, worker__numWorkers=said)) == [
            ("worker.numWorkers", "must be between 2 and 4", "the whole installation")
        ]


def test_bounds_of_two_scopes_are_said_apart() -> None:
    low = document(rules={"worker": {"numWorkers": {"min": 2}}})
    high = document(rules={"worker": {"numWorkers": {"max": 4}}})
    (problem,) = say(policy(low, high), worker__numWorkers=1).problems
    assert (problem.message, problem.source) == ("must be at least 2", "the whole installation")
    assert problem.accepted == "a whole number from 2 to 4"
    (problem,) = say(policy(low, high), worker__numWorkers=5).problems
    assert (problem.message, problem.source) == ("must be at most 4", "cluster c1")


def test_many_steps_and_many_options_are_said_shortly() -> None:
    step = document(rules={"worker": {"backoffLimit": {"step": 5}}})
    assert messages(say(policy(step), worker__backoffLimit=7)) == [
        ("worker.backoffLimit", "must be in steps of 5 from 0", "the whole installation")
    ]
    options = document(rules={"worker": {"image": {"options": [f"a{n}" for n in range(9)]}}})
    (problem,) = say(policy(options), worker__image="b").problems
    assert problem.message == "must be one of the 9 allowed values"
    assert problem.accepted == "one of a0, a1, a2, a3, a4, a5, a6, a7 or a8"


def test_options_are_said_instead_of_the_grammar() -> None:
    rules = policy(document(rules={"worker": {"image": {"options": ["a"]}}}))
    assert messages(say(rules, worker__image="a b")) == [
        ("worker.image", "must be one of a", "the whole installation")
    ]


def test_a_value_of_the_wrong_type_is_not_compared() -> None:
    rules = policy(
        document(
            rules={
                "worker": {
                    "numWorkers": {"max": 4, "step": 2},
                    "compute": {"cpuMemoryRequest": {"max": "1G"}},
                    "image": {"options": ["a"]},
                }
            }
        )
    )
    resolution = say(
        rules,
        **{
            "worker.numWorkers": "many",
            "worker.compute.cpuMemoryRequest": "much",
            "worker.image": ["a"],
        },
    )
    assert messages(resolution) == [
        ("worker.image", "must be text", ""),
        ("worker.numWorkers", "must be a whole number", ""),
        ("worker.compute.cpuMemoryRequest", "must be a size such as 512M or 16Gi", ""),
    ]


def test_rules_that_contradict_each_other_fail_closed_and_name_the_scopes() -> None:
    rules = policy(
        document(rules={"worker": {"numWorkers": {"min": 4}}}),
        document(rules={"worker": {"numWorkers": {"max": 2}}}),
    )
    sentence = (
        "can have no value: the whole installation requires at least 4, cluster c1 for at most 2"
    )
    for said in ({}, {"worker__numWorkers": 3}):
        resolution = say(rules, **said)
        assert [(p.rule, p.message) for p in resolution.problems] == [("conflict", sentence)]


@pytest.mark.parametrize(
    ("framework", "configuration", "message"),
    [
        ("XGBoost", WORKERS_ONLY, "cannot be “Workers only”: XGBoost needs a master"),
        ("JAX", "workersAndMaster", "cannot be “Workers & master”: JAX has no master"),
        ("PyTorch", "both", "must be one of workersAndMaster or workersOnly"),
    ],
)
def test_the_framework_must_have_the_configuration(
    framework: str, configuration: str, message: str
) -> None:
    resolution = say(sent={"framework": framework, "configuration": configuration})
    (problem,) = resolution.problems
    assert (problem.role, problem.path, problem.message) == (
        Role.WORKLOAD,
        "configuration",
        message,
    )
    assert problem.accepted


def test_the_framework_that_was_said_counts() -> None:
    sent = {"framework": "PyTorch", "configuration": WORKERS_ONLY}
    resolution = say(sent=sent, worker__distributedFramework="MPI")
    assert [p.path for p in resolution.problems] == ["configuration"]
    assert resolution.values("worker")["distributedFramework"] == "MPI"


def test_a_field_of_one_framework_exists_for_it_only() -> None:
    assert say(sent={"framework": "MPI"}).values("worker")["slotsPerWorker"] == 1
    assert "slotsPerWorker" not in say().values("worker")
    assert messages(say(worker__slotsPerWorker=2)) == [
        ("worker.slotsPerWorker", "is for MPI only", "")
    ]
    required = policy(document(rules={"worker": {"slotsPerWorker": {"required": True}}}))
    assert say(required).problems == []


def test_what_is_no_field_is_a_problem() -> None:
    said = {"worker.backofLimit": 1, "master.nothing": 1, "workload.name": "x", "other": 1}
    resolution = say(None, sent={"master": "own"}, **said)
    assert messages(resolution) == [
        ("worker.backofLimit", "is not a known field; did you mean backoffLimit?", ""),
        ("master.nothing", "is not a known field", ""),
    ]


def test_problems_found_while_reading_come_back_in_order_and_once() -> None:
    before = (
        Problem.of(Role.MASTER, "image.²", "unknown"),
        Problem.of(Role.WORKER, "numWorkers", "type:kind", kind="a whole number"),
        Problem.of(Role.WORKLOAD, "name", "format", reason="must have letters"),
    )
    required = policy(
        document(rules={"worker": {"numWorkers": {"min": 2}, "image": {"required": True}}})
    )
    resolution = say(required, sent={"problems": before}, worker__numWorkers=1)
    assert [(p.field_id, p.rule) for p in resolution.problems] == [
        ("workload.name", "format"),
        ("worker.image", "required"),
        ("worker.numWorkers", "type"),
        ("master.image.²", "unknown"),
    ]


def test_all_problems_come_at_once_in_the_order_of_the_form() -> None:
    said = {
        "worker.annotations": 5,
        "worker.environmentVariables": [{"name": "A", "value": 1}, {"name": "RANK", "value": ""}]
        * 6,
        "worker.image": "a b",
        "worker.numWorkers": 0,
        "worker.zzz": 1,
    }
    paths = [p.path for p in say(None, sent={"framework": "Torch"}, **said).problems]
    assert paths[:3] == ["distributedFramework", "image", "environmentVariables.0.value"]
    indexes = [int(p.split(".")[1]) for p in paths if p.startswith("environmentVariables")]
    assert indexes == sorted(indexes)
    assert paths[-3:] == ["numWorkers", "annotations", "zzz"]
    assert paths == [
        p.path
        for p in say(None, sent={"framework": "Torch"}, **dict(reversed(said.items()))).problems
    ]


def test_a_new_field_is_resolved_and_judged_at_once() -> None:
    models = with_extra_field()
    rules = policy(document(models, rules={EXTRA: {"max": 5}}), models=models)
    assert say(rules).values("master")[EXTRA] == 3
    resolution = say(rules, **{f"worker.{EXTRA}": 6})
    assert messages(resolution) == [
        (f"worker.{EXTRA}", "must be at most 5", "the whole installation")
    ]
    assert resolution.effective[f"master.{EXTRA}"].source == WORKERS
