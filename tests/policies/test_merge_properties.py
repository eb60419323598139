"""What must hold for any policies and any values, not only for the examples."""

import itertools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gangline.policies.document import PolicyDocument
from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, resolve
from gangline.policies.rules import FieldRule, breaches
from gangline.policies.validation import check_document
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Role
from gangline.spec.sources import YOU, Source, Value, copy_source, template_source
from tests.policies.sample_models import SAMPLE, document, layered, policy
from tests.support.examples import examples

PATH = "backoffLimit"
FIELD = catalogue(SAMPLE.worker)[PATH]
IMAGES = ("a", "b", "c", "d")


@st.composite
def numeric_rules(draw: st.DrawFn) -> dict[str, Any]:
    low, high = sorted(draw(st.lists(st.integers(0, 20), min_size=2, max_size=2)))
    kinds = {"min": low, "max": high, "step": draw(st.integers(1, 4)), "required": True}
    chosen = draw(st.sets(st.sampled_from(sorted(kinds))))
    return {kind: kinds[kind] for kind in sorted(chosen)}


@st.composite
def documents(draw: st.DrawFn) -> PolicyDocument:
    options = draw(st.none() | st.lists(st.sampled_from(IMAGES), min_size=1, unique=True))
    default = draw(st.none() | st.integers(0, 30))
    rules: dict[str, Any] = {PATH: draw(numeric_rules())}
    if options:
        rules["image"] = {"options": options}
    if draw(st.booleans()):
        rules[PATH]["canEdit"] = draw(st.booleans())
    defaults = {} if default is None else {PATH: default}
    return document(defaults={"worker": defaults}, rules={"worker": rules})


LAYERS = st.lists(documents(), min_size=1, max_size=4)


def accepts(rule: FieldRule, value: int) -> bool:
    return not rule.conflict and next(breaches(FIELD, rule, value), None) is None


@given(LAYERS, st.integers(-1, 25))
def test_the_merged_policy_accepts_what_every_layer_accepts(
    layers: list[PolicyDocument], value: int
) -> None:
    merged = policy(*layers).worker[PATH]
    alone = all(accepts(policy(layer).worker[PATH], value) for layer in layers)
    assert accepts(merged, value) is (alone and not merged.conflict)
    assert not (merged.conflict and alone)


@given(LAYERS, st.sampled_from(IMAGES))
def test_options_are_accepted_by_every_layer(layers: list[PolicyDocument], image: str) -> None:
    def allows(rule: FieldRule) -> bool:
        return rule.options is None or image in {option.value for option in rule.options.value}

    merged = policy(*layers).worker["image"]
    assert allows(merged) is all(allows(policy(layer).worker["image"]) for layer in layers)


@given(st.lists(documents(), min_size=2, max_size=3))
def test_the_order_of_scopes_changes_no_limit(layers: list[PolicyDocument]) -> None:
    answers = set()
    for order in itertools.permutations(layers):
        rule = policy(*order).worker[PATH]
        accepted = tuple(value for value in range(-1, 25) if accepts(rule, value))
        answers.add((accepted, rule.required is not None, rule.fixed is not None))
    assert len(answers) == 1


@given(LAYERS)
def test_the_default_of_the_merged_policy_is_allowed_by_it(layers: list[PolicyDocument]) -> None:
    rule = policy(*layers).worker[PATH]
    if rule.default is not None:
        assert accepts(rule, rule.default.value)
        assert FIELD.minimum is not None
        assert FIELD.minimum <= rule.default.value <= 100


@given(LAYERS, st.none() | st.integers(-1, 110))
def test_what_is_submitted_without_a_problem_obeys_every_layer(
    layers: list[PolicyDocument], value: int | None
) -> None:
    said = {} if value is None else {f"worker.{PATH}": Value(value)}
    resolution = resolve(Request(given=said, master="none"), policy(*layers))
    if any(problem.path == PATH for problem in resolution.problems):
        return
    effective = resolution.values("worker").get(PATH)
    for layer in layers:
        rule = policy(layer).worker[PATH]
        if effective is None:
            assert rule.required is None
        else:
            assert next(breaches(FIELD, rule, effective), None) is None


@given(LAYERS)
def test_a_policy_that_can_be_saved_contradicts_nothing(layers: list[PolicyDocument]) -> None:
    *above, last = layered(*layers)
    if not [p for p in check_document(last.document, above, SAMPLE) if p.severity == "error"]:
        before = effective_policy(above, SAMPLE).worker
        after = effective_policy([*above, last], SAMPLE).worker
        for path, rule in after.items():
            assert not rule.conflict or before[path].conflict
            given_here = last.document.worker.defaults.get(path)
            if given_here is not None and rule.default is not None:
                assert rule.default.value == given_here.value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "value", "exclude", "resource", "quantity"]) | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
QUALIFIED = [f"{role}.{path}" for role in ("worker", "master") for path in catalogue(SAMPLE.worker)]
STRICT = policy(
    document(
        defaults={
            "labels": {"instances": [{"name": "a", "value": "1"}]},
            "compute": {"cpuMemoryRequest": "1G"},
        },
        rules={
            "labels": {"instances": {"locked": ["a"], "canAdd": False}},
            "compute": {"cpuMemoryRequest": {"canEdit": False}, "cpuCoreLimit": {"step": 0.5}},
            "image": {"options": ["a", "b"], "required": True},
            "tty": {"required": True},
            "share": {"min": 0.5},
        },
    ),
    document(rules={"worker": {"backoffLimit": {"min": 2, "max": 4, "step": 2}}}),
)


@settings(max_examples=examples(300))
@given(
    st.dictionaries(st.sampled_from(QUALIFIED) | st.text(), JSON, max_size=6),
    st.sampled_from(["none", "same", "differences", "own"]),
    st.sampled_from([YOU, template_source(1), copy_source(2)]),
    st.sampled_from(["workersAndMaster", "workersOnly"]),
)
def test_no_value_makes_the_engine_fail_and_problems_keep_their_order(
    values: dict[str, Any], master: str, source: Source, configuration: str
) -> None:
    said = {path: Value(value, source) for path, value in values.items()}
    turned = dict(reversed(said.items()))
    answers = [
        resolve(Request(given=order, master=master, configuration=configuration), STRICT)
        for order in (said, turned)
    ]
    plain = [
        [json.dumps(problem.as_dict(), allow_nan=False) for problem in answer.problems]
        for answer in answers
    ]
    known = [[text for text in texts if '"unknown"' not in text] for texts in plain]
    assert known[0] == known[1]
    assert sorted(plain[0]) == sorted(plain[1])
    assert [str(notice) for notice in answers[0].notices] == [
        str(notice) for notice in answers[1].notices
    ]
    for role in Role.WORKER, Role.MASTER:
        answers[0].values(role)


@given(st.lists(documents(), max_size=4))
def test_merging_in_two_goes_is_merging_at_once(layers: list[PolicyDocument]) -> None:
    def last(count: int) -> list[Layer]:
        return layered(*layers)[:count]

    for count in range(len(layers) + 1):
        tighter = effective_policy(last(count), SAMPLE).worker[PATH]
        wider = effective_policy(last(max(count - 1, 0)), SAMPLE).worker[PATH]
        for value in range(25):
            assert not accepts(tighter, value) or accepts(wider, value)
