"""How policies of several scopes merge, and what each merged rule says of its origin (R22)."""

from typing import Any

import pytest

from gangline.policies.document import Option, PolicyDocument, fields_of
from gangline.policies.effective import EffectivePolicy, Layer, effective_policy
from gangline.policies.rules import (
    FieldRule,
    Sourced,
    Step,
    TraceRow,
    breaches,
    conflict,
    nearest_allowed,
)
from gangline.spec.problems import Role
from gangline.spec.workload import SPEC
from tests.policies.sample_models import SAMPLE, document, policy
from tests.spec.extra_field import EXTRA, with_extra_field


def rules(**kinds: Any) -> PolicyDocument:
    """Rules for the number of workers."""
    return document(rules={"worker": {"numWorkers": kinds}})


def workers(*documents: PolicyDocument) -> FieldRule:
    return policy(*documents).worker["numWorkers"]


def test_without_policies_the_defaults_are_the_products() -> None:
    merged = effective_policy([])
    assert merged.models is SPEC
    assert merged.worker["backoffLimit"].default == Sourced(0, "system")
    assert merged.worker["image"] == FieldRule()
    assert merged.half(Role.WORKER) is merged.worker
    assert merged.rule(Role.MASTER, "image") == FieldRule()


@pytest.mark.parametrize(
    ("kind", "name", "source"),
    [
        ("tenant", "acme", "the whole installation"),
        ("cluster", "c1", "cluster c1"),
        ("department", "vision", "department vision"),
        ("project", "vision", "project vision"),
    ],
)
def test_a_layer_is_called_by_its_scope(kind: str, name: str, source: str) -> None:
    assert Layer(kind, name, document()).source == source


def test_the_closest_default_wins() -> None:
    far, near = (document(defaults={"worker": {"numWorkers": n}}) for n in (2, 3))
    assert workers(far).default == Sourced(2, "the whole installation")
    assert workers(far, near).default == Sourced(3, "cluster c1")


def test_each_kind_takes_the_tightest_of_all_scopes() -> None:
    merged = workers(
        rules(min=1, max=8, step=1), rules(min=3, max=16), rules(min=2, max=9, required=True)
    )
    assert merged.minimum == Sourced(3, "cluster c1")
    assert merged.maximum == Sourced(8, "the whole installation")
    assert merged.steps == (Step(1, "the whole installation", origin=1),)
    assert merged.required == Sourced(True, "department vision")


def test_of_equal_rules_the_higher_scope_is_named() -> None:
    assert workers(rules(max=8), rules(max=8)).maximum == Sourced(8, "the whole installation")


def test_quantities_are_compared_in_bytes() -> None:
    far, near = (
        document(rules={"worker": {"compute": {"cpuMemoryLimit": {"max": size}}}})
        for size in ("16G", "15Gi")
    )
    assert policy(far, near).worker["compute.cpuMemoryLimit"].maximum == Sourced(
        "16G", "the whole installation"
    )


def options(*values: Any) -> PolicyDocument:
    return document(rules={"worker": {"image": {"options": list(values)}}})


def test_options_are_what_every_scope_allows() -> None:
    a = {"value": "a", "displayed": "A"}
    merged = policy(options("a", "b", "c"), options("c", a)).worker["image"].options
    assert merged == Sourced((Option("a", "A"), Option("c")), "cluster c1")
    widened = policy(options("a"), options("a", "b")).worker["image"].options
    assert widened == Sourced((Option("a"),), "the whole installation")
    crossed = policy(options("a", "b"), options("b", "c")).worker["image"].options
    assert crossed == Sourced((Option("b"),), "the whole installation and cluster c1")


def test_an_overridable_rule_gives_way_to_a_nearer_one_of_its_kind() -> None:
    far = rules(min=2, max=8, overridable=True)
    assert workers(far, rules(max=16)).maximum == Sourced(16, "cluster c1")
    assert workers(far, rules(max=16)).minimum == Sourced(2, "the whole installation")
    assert workers(far, rules(max=16), rules(max=20)).maximum == Sourced(16, "cluster c1")


def test_what_is_not_overridable_still_holds_behind_what_is() -> None:
    merged = workers(rules(max=8), rules(max=4, overridable=True), rules(max=6))
    assert merged.maximum == Sourced(6, "department vision")


def test_an_overridable_lock_can_be_opened() -> None:
    locked = document(
        defaults={"worker": {"numWorkers": 2}},
        rules={"worker": {"numWorkers": {"canEdit": False, "required": True, "overridable": True}}},
    )
    opened = workers(locked, rules(canEdit=True, required=False))
    assert (opened.fixed, opened.required) == (None, None)
    assert workers(locked).fixed == Sourced(2, "the whole installation")


def fixing(value: Any = None) -> PolicyDocument:
    defaults = {} if value is None else {"numWorkers": value}
    return document(
        defaults={"worker": defaults}, rules={"worker": {"numWorkers": {"canEdit": False}}}
    )


def test_a_fixed_field_takes_its_value_from_its_scope_or_above() -> None:
    below = document(defaults={"worker": {"numWorkers": 9}})
    assert workers(fixing(4), below).fixed == Sourced(4, "the whole installation")
    assert workers(fixing(4), below).default == Sourced(4, "the whole installation")
    assert workers(below, fixing()).fixed == Sourced(9, "cluster c1")
    assert workers(fixing()).fixed == Sourced(1, "the whole installation")
    assert workers(fixing(4), fixing(5)).fixed == Sourced(4, "the whole installation")


def test_a_field_fixed_without_any_default_has_no_value() -> None:
    merged = policy(document(rules={"worker": {"image": {"canEdit": False}}})).worker["image"]
    assert merged.fixed == Sourced(None, "the whole installation")


def backoff(default: int | None = None, **kinds: Any) -> PolicyDocument:
    defaults = {} if default is None else {"backoffLimit": default}
    return document(defaults={"worker": defaults}, rules={"worker": {"backoffLimit": kinds}})


def test_a_number_outside_later_limits_is_moved_and_says_so() -> None:
    merged = policy(document(defaults={"worker": {"backoffLimit": 6}}), backoff(max=3))
    assert merged.worker["backoffLimit"].default == Sourced(
        3, "cluster c1", "6 (the whole installation), limited to 3 by cluster c1"
    )
    raised = policy(backoff(min=2)).worker["backoffLimit"].default
    assert raised == Sourced(
        2, "the whole installation", "0 (system), limited to 2 by the whole installation"
    )


def test_a_moved_number_stands_on_the_steps() -> None:
    merged = policy(backoff(7), backoff(min=1, max=6, step=2)).worker["backoffLimit"]
    assert merged.default == Sourced(
        5, "cluster c1", "7 (the whole installation), limited to 5 by cluster c1"
    )
    raised = policy(backoff(0), backoff(min=2, step=3)).worker["backoffLimit"].default
    assert raised is not None
    assert raised.value == 2
    odd = policy(backoff(1), backoff(step=5)).worker["backoffLimit"].default
    assert odd is not None
    assert odd.value == 0


def test_a_size_is_moved_too() -> None:
    limit = document(rules={"worker": {"compute": {"cpuMemoryRequest": {"max": "50M"}}}})
    assert policy(limit).worker["compute.cpuMemoryRequest"].default == Sourced(
        "50M",
        "the whole installation",
        "100 MB (system), limited to 50 MB by the whole installation",
    )


def test_a_duration_is_moved_in_words() -> None:
    limit = document(rules={"worker": {"terminationGracePeriodSeconds": {"min": 60}}})
    default = policy(limit).worker["terminationGracePeriodSeconds"].default
    assert default == Sourced(
        60,
        "the whole installation",
        "30 seconds (system), limited to 1 minute by the whole installation",
    )


def test_a_text_outside_the_options_is_no_default() -> None:
    given = document(defaults={"worker": {"image": "c"}})
    assert policy(given, options("a")).worker["image"].default is None
    assert policy(given, options("a", "c")).worker["image"].default == Sourced(
        "c", "the whole installation"
    )


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        (
            (rules(min=4), rules(max=2)),
            "can have no value: the whole installation requires at least 4,"
            " cluster c1 for at most 2",
        ),
        (
            (rules(min=2, max=3, step=1), rules(step=5)),
            "can have no value: no value is on every step within the limits of "
            "the whole installation and cluster c1",
        ),
    ],
)
def test_limits_that_contradict_each_other_name_the_scopes(
    documents: tuple[PolicyDocument, ...], words: str
) -> None:
    merged = workers(*documents)
    assert merged.conflict == words
    assert merged.default is None


def test_options_that_contradict_each_other_name_the_scopes() -> None:
    merged = policy(options("a"), options("b")).worker["image"]
    assert (
        merged.conflict
        == "can have no value: the whole installation and cluster c1 allow no value in common"
    )


def labels(*items: tuple[str, str], **kinds: Any) -> PolicyDocument:
    instances = [{"name": name, "value": value} for name, value in items]
    return document(
        defaults={"worker": {"labels": {"instances": instances}}} if items else {},
        rules={"worker": {"labels": {"instances": kinds}}},
    )


def merged_labels(*documents: PolicyDocument) -> tuple[dict[str, str], FieldRule]:
    rule = policy(*documents).worker["labels"]
    items = rule.default.value if rule.default else ()
    return {item["name"]: item["value"] for item in items}, rule


def test_default_items_merge_by_key_and_the_closest_wins() -> None:
    items, rule = merged_labels(labels(("a", "1"), ("b", "1")), labels(("b", "2"), ("c", "2")))
    assert items == {"a": "1", "b": "2", "c": "2"}
    assert rule.item_sources == {
        "a": "the whole installation",
        "b": "cluster c1",
        "c": "cluster c1",
    }
    assert rule.default is not None
    assert rule.default.source == "cluster c1"


def test_a_locked_item_takes_its_value_from_its_scope_or_above() -> None:
    items, rule = merged_labels(labels(("a", "1"), locked=["a"]), labels(("a", "2")))
    assert items == {"a": "1"}
    assert rule.locked == {"a": "the whole installation"}
    items, rule = merged_labels(labels(("a", "1")), labels(("a", "2"), locked=["a"]))
    assert items == {"a": "2"}
    assert rule.locked == {"a": "cluster c1"}


def test_locks_add_up() -> None:
    _, rule = merged_labels(labels(("a", "1"), locked=["a"]), labels(("b", "1"), locked=["a", "b"]))
    assert rule.locked == {"a": "the whole installation", "b": "cluster c1"}


def test_where_nothing_can_be_added_lower_scopes_add_nothing_either() -> None:
    items, rule = merged_labels(labels(("a", "1"), canAdd=False), labels(("a", "2"), ("b", "2")))
    assert items == {"a": "2"}
    assert rule.can_add == Sourced(False, "the whole installation")
    items, _ = merged_labels(labels(("a", "1")), labels(("b", "2"), canAdd=False))
    assert items == {"a": "1", "b": "2"}


def test_the_trace_tells_what_every_scope_says_and_what_counts() -> None:
    merged = workers(
        document(
            defaults={"worker": {"numWorkers": 2}},
            rules={"worker": {"numWorkers": {"max": 8, "required": False}}},
        ),
        document(
            defaults={"worker": {"numWorkers": 3}}, rules={"worker": {"numWorkers": {"max": 4}}}
        ),
    )
    assert merged.trace == (
        TraceRow("system", "default", 1, wins=False),
        TraceRow("the whole installation", "default", 2, wins=False),
        TraceRow("the whole installation", "max", 8, wins=False),
        TraceRow("the whole installation", "required", False, wins=False),
        TraceRow("cluster c1", "default", 3, wins=True),
        TraceRow("cluster c1", "max", 4, wins=True),
    )


def test_an_overridden_rule_does_not_count_in_the_trace() -> None:
    rows = workers(rules(max=8, overridable=True), rules(max=16)).trace
    assert [(row.scope, row.wins) for row in rows if row.rule == "max"] == [
        ("the whole installation", False),
        ("cluster c1", True),
    ]


def test_the_trace_of_a_list_tells_which_defaults_count() -> None:
    _, rule = merged_labels(labels(("a", "1"), locked=["a"]), labels(("a", "2")))
    assert [(row.scope, row.rule, row.wins) for row in rule.trace] == [
        ("the whole installation", "default", True),
        ("the whole installation", "locked", True),
        ("cluster c1", "default", False),
    ]


def test_a_new_field_is_merged_at_once() -> None:
    models = with_extra_field()
    limit = document(models, rules={EXTRA: {"max": 2}})
    merged: EffectivePolicy = effective_policy([Layer("the whole installation", "", limit)], models)
    assert merged.worker[EXTRA].default == Sourced(
        2, "the whole installation", "3 (system), limited to 2 by the whole installation"
    )
    assert merged.master[EXTRA].maximum == Sourced(2, "the whole installation")


def test_a_step_may_be_a_fraction() -> None:
    limits = {"compute": {"cpuCoreRequest": {"min": 0.1, "max": 1.0, "step": 0.1}}}
    merged = policy(document(rules={"worker": limits})).worker["compute.cpuCoreRequest"]
    assert merged.default == Sourced(0.1, "system")


SHARE = fields_of(SAMPLE, Role.WORKER)["share"]
PAUSE = fields_of(SAMPLE, Role.WORKER)["pause"]


def steps(*pairs: tuple[float, float]) -> FieldRule:
    return FieldRule(steps=tuple(Step(width, "x", origin=origin) for width, origin in pairs))


@pytest.mark.parametrize(
    ("rule", "value", "nearest"),
    [
        (steps((7, 0), (11, 0)), 100, 77),
        (steps((7, 3), (11, 5)), 100, 38),
        (steps((7, 3), (11, 5)), 20, 38),
        (steps((4, 2), (6, 0), (5, 0)), 599, 570),
        (FieldRule(minimum=Sourced(99, "x"), steps=(Step(10, "x"),)), 5, 100),
    ],
)
def test_a_number_moves_to_a_value_on_every_step(rule: FieldRule, value: int, nearest: int) -> None:
    assert conflict(PAUSE, rule) == ""
    assert nearest_allowed(PAUSE, rule, value) == nearest
    assert next(breaches(PAUSE, rule, nearest), None) is None


@pytest.mark.parametrize(
    ("rule", "clash"),
    [
        (steps((4, 1), (6, 0)), True),
        (steps((602, -1)), True),
        (steps((500, 600)), False),
        (steps((397, 0), (401, 0)), False),
    ],
)
def test_steps_may_meet_nowhere(rule: FieldRule, clash: bool) -> None:
    assert bool(conflict(PAUSE, rule)) is clash


def test_an_exclusive_minimum_is_never_reached() -> None:
    halves = steps((0.5, 0))
    assert nearest_allowed(SHARE, halves, 0.3) == 0.5
    assert next(breaches(SHARE, halves, 0.3)).params["fitting"] == "0.5 or 1"
    assert conflict(SHARE, steps((2, 0))) != ""
