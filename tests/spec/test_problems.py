"""What people and programs are told about a problem."""

import ast
import json
import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from gangline.lib.problems import unknown_fields
from gangline.lib.wording import WORDS
from gangline.spec.problems import InvalidSpec, Problem, Role, shown

ROOT = Path(__file__).parents[2]
GPUS = Problem.of(
    Role.WORKER,
    "compute.gpuDevicesRequest",
    "max",
    range="at most 4",
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
    assert Problem.of(Role.WORKLOAD, "", "blocked").sentence == "This must not be set."
    assert Problem.of(Role.WORKER, "image", "required").sentence == "image is required."
    assert GPUS.at(value=False, source="").sentence.endswith("4. You entered false.")


def test_the_words_of_a_code_are_said_with_its_parameters() -> None:
    problem = Problem("policy.misspelt", "a", {"meant": "image"})
    assert problem.told == "is not known. Did you mean “image”?"
    assert Problem("number", "", {"raw": "Ensure it is odd."}).told == "Ensure it is odd."
    assert Problem("no words for it").message == "no words for it"
    assert Problem("policy.twice", "", {"value": "a\nb"}).message == "names a\\x0ab twice"


def test_programs_are_told_the_rule_without_the_way_it_is_broken() -> None:
    problem = Problem("unknown:meant", "backofLimit", {"meant": "backoffLimit"})
    assert (problem.rule, problem.as_dict()["rule"]) == ("unknown", "unknown")


def test_a_field_that_is_none_is_told_with_what_there_is() -> None:
    near, far = unknown_fields(["nmae", "zzz", "name"], ["name", "value"], "meta")
    assert (near.path, near.accepted) == ("meta.nmae", "name")
    assert (far.rule, far.accepted) == ("unknown", "name, value")


class Codes(ast.NodeVisitor):
    """Codes of problems in the source, and texts that a code may be put together as."""

    def __init__(self) -> None:
        self.given: dict[str, set[str] | None] = {}
        self.texts: set[str] = set()
        self.patterns: set[str] = set()

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.texts.add(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = [str(p.value) if isinstance(p, ast.Constant) else None for p in node.values]
        self.patterns.add("".join("[a-z_A-Z.]+" if p is None else re.escape(p) for p in parts))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Attribute(value=ast.Name("Problem"), attr="of") if len(node.args) > 2:
                names = {str(word.arg) for word in node.keywords}
                self._give(node.args[2], None if "None" in names else names)
            case ast.Name("Problem") if node.args:
                self._give(node.args[0], None)
        self.generic_visit(node)

    def _give(self, code: ast.expr, names: set[str] | None) -> None:
        if isinstance(code, ast.Constant) and code.value:
            self.given[str(code.value)] = names


@pytest.fixture(scope="module")
def codes() -> Codes:
    found = Codes()
    for folder in ("platform", "workloads", "assets"):
        for file in (ROOT / folder).rglob("*.py"):
            if file.name != "wording.py":
                found.visit(ast.parse(file.read_text()))
    return found


def test_every_code_has_a_sentence_and_gets_its_parameters(codes: Codes) -> None:
    raw = {"failed", "forbidden", "conflict", "sealed"}  # told in others' own words
    assert set(codes.given) - raw <= set(WORDS)
    for code, names in codes.given.items():
        needed = {name for _, name, _, _ in Formatter().parse(WORDS.get(code, "")) if name}
        assert names is None or needed <= names, code


def test_every_sentence_belongs_to_a_code(codes: Codes) -> None:
    ways = re.compile("|".join(one for one in codes.patterns if re.search("[a-z]", one)))
    own = {code for code in WORDS if not code.startswith("policy.")}
    assert {code for code in own - codes.texts if not ways.fullmatch(code)} == set()


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
    assert Problem.from_stored(json.loads(json.dumps(GPUS.as_stored()))) == GPUS


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
    error = InvalidSpec([GPUS, GPUS.at(path="image", code="required")])
    assert len(error.problems) == 2
    assert str(error).endswith("must be at most 4; worker.image: is required")
