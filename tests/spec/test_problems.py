"""What people and programs are told about a problem."""

import json
from typing import Any

import pytest

from gangline.lib.problems import register_words
from gangline.spec.problems import InvalidSpec, Problem, Role, shown

GPUS = Problem.of(
    Role.WORKER,
    "compute.gpuDevicesRequest",
    "max",
    "must be at most 4",
    value=100,
    accepted="a whole number from 0 to 4",
    source="project vision",
    label="GPU devices per pod",
)


def test_the_sentence_names_field_rule_scope_and_value() -> None:
    assert GPUS.sentence == (
        "GPU devices per pod must be at most 4 (set by project vision). You entered 100."
    )


def test_the_sentence_leaves_out_what_is_not_known() -> None:
    assert Problem.of(Role.WORKLOAD, "", "x", "cannot be").sentence == "This cannot be."
    assert Problem.of(Role.WORKER, "image", "x", "is required").sentence == "image is required."
    assert GPUS.at(value=False, source="").sentence.endswith("4. You entered false.")


def test_the_words_of_a_code_are_said_with_its_parameters() -> None:
    register_words({"test.most": "must be at most {most}", "test.most.remedy": "Take {most}."})
    problem = Problem("test.most", "a", {"most": 4})
    assert (problem.message, problem.remedy) == ("must be at most 4", "Take 4.")
    assert problem.at(message="is odd").message == "is odd"
    assert Problem("no words for it").message == "no words for it"


def test_a_problem_has_an_id_for_its_field() -> None:
    assert GPUS.field_id == "worker.compute.gpuDevicesRequest"
    assert GPUS.at(path="").field_id == "worker"


def test_a_problem_is_json() -> None:
    assert json.loads(json.dumps(GPUS.as_dict())) == {
        "role": "worker",
        "path": "compute.gpuDevicesRequest",
        "rule": "max",
        "message": "must be at most 4",
        "value": 100,
        "accepted": "a whole number from 0 to 4",
        "source": "project vision",
        "key": "",
        "label": "GPU devices per pod",
    }
    assert GPUS.at(hint="Ask us.").as_dict()["hint"] == "Ask us."
    assert Problem.from_dict(GPUS.as_dict()) == GPUS


DEEP: Any = []
for _ in range(100_000):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        ("a\ud800b", "a\\ud800b"),
        ("x" * 2000, "x" * 1000 + "…"),
        (float("nan"), "nan"),
        (10**15 - 1, 10**15 - 1),
        (10**15, "a number of 16 digits"),
        (-(10**5000), "a number of 5001 digits"),
        ([1], "a list of 1 item"),
        ([1, 2], "a list of 2 items"),
        (DEEP, "an object"),
        (b"x", "a bytes"),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_any_value_can_be_sent_back(value: Any, answer: Any) -> None:
    assert json.loads(json.dumps(GPUS.at(value=value).as_dict()))["value"] == answer


def test_control_characters_are_made_visible_and_long_texts_are_cut() -> None:
    assert shown("a\nb\0") == "a\\x0ab\\x00"
    assert shown("gpj\u202eexe") == "gpj\\u202eexe"
    assert shown("x" * 120) == "x" * 120
    assert shown("x" * 121) == "x" * 117 + "…"
    assert shown("\0" * 100) == ("\\x00" * 100)[:117] + "…"
    assert shown(12) == "12"


def test_an_invalid_spec_keeps_every_problem() -> None:
    error = InvalidSpec([GPUS, GPUS.at(path="image", message="is required")])
    assert len(error.problems) == 2
    assert str(error).endswith("must be at most 4; worker.image: is required")
