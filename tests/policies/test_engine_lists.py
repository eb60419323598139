"""Items of a list: defaults changed, removed and joined by what was said."""

from typing import Any

import pytest

from gangline.spec.sources import (
    YOU,
    Source,
    Value,
    asset_source,
    copy_source,
    policy_source,
    template_source,
)
from tests.policies.sample_models import document, messages, policy, say

TENANT = policy_source("the whole installation")

RULES = policy(
    document(
        defaults={
            "worker": {
                "environmentVariables": {
                    "instances": [
                        {"name": "HTTP_PROXY", "value": "http://proxy:3128"},
                        {"name": "WANDB_MODE", "value": "offline"},
                    ]
                }
            }
        },
        rules={"worker": {"environmentVariables": {"instances": {"locked": ["HTTP_PROXY", "X"]}}}},
    )
)
PATH = "worker.environmentVariables"


def said(*items: Any, source: Source = YOU) -> Any:
    return say(RULES, **{PATH: Value(list(items), source)})


def test_defaults_stand_first_and_tell_their_origin() -> None:
    entry = said({"name": "SEED", "value": "1"}).effective[PATH]
    assert [item["name"] for item in entry.value] == ["HTTP_PROXY", "WANDB_MODE", "SEED"]
    assert [(o.key, o.source, o.locked, o.sent) for o in entry.items] == [
        ("HTTP_PROXY", TENANT, "the whole installation", None),
        ("WANDB_MODE", TENANT, "", None),
        ("SEED", YOU, "", 0),
    ]
    assert entry.source == YOU


def test_defaults_alone_come_from_the_policy() -> None:
    entry = say(RULES).effective[PATH]
    assert (len(entry.value), entry.source) == (2, TENANT)


def test_a_default_is_changed_in_its_place() -> None:
    entry = said({"name": "WANDB_MODE", "value": "online"}).effective[PATH]
    assert entry.value[1] == {"name": "WANDB_MODE", "value": "online"}
    assert (entry.items[1].source, entry.items[1].sent) == (YOU, 0)


def test_a_default_that_is_repeated_stays_the_policys() -> None:
    entry = said({"name": "WANDB_MODE"}, {"name": "HTTP_PROXY", "exclude": False}).effective[PATH]
    assert [origin.source for origin in entry.items] == [
        TENANT,
        TENANT,
    ]


def test_a_removed_default_may_come_back_in_the_same_list() -> None:
    back = said({"name": "WANDB_MODE", "exclude": True}, {"name": "WANDB_MODE", "value": "x"})
    assert back.problems == []
    assert back.values("worker")["environmentVariables"][1]["value"] == "x"


def test_removing_what_is_not_there_is_no_problem() -> None:
    assert said({"name": "NOTHING", "exclude": True}).problems == []


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"name": "HTTP_PROXY", "exclude": True}, "is locked and cannot be removed"),
        ({"name": "HTTP_PROXY", "value": ""}, "is locked and cannot be changed"),
        ({"name": "X", "value": ""}, "is locked and cannot be added"),
        (
            {"name": "http_proxy", "value": ""},
            "differs from HTTP_PROXY, which is locked, only in case or spaces",
        ),
        (
            {"name": " HTTP_PROXY\t", "value": ""},
            "differs from HTTP_PROXY, which is locked, only in case or spaces",
        ),
    ],
)
def test_a_locked_item_stays_as_it_is(item: dict[str, Any], message: str) -> None:
    resolution = said({"name": "A", "value": ""}, item)
    assert messages(resolution) == [(f"{PATH}.1", message, "the whole installation")]
    assert resolution.problems[0].rule == "locked"
    assert resolution.values("worker")["environmentVariables"][0]["value"] == "http://proxy:3128"
    assert resolution.values("master") != {}


def test_a_prefilled_item_that_is_locked_is_left_out_with_a_notice() -> None:
    resolution = said({"name": "HTTP_PROXY", "value": "x"}, source=template_source(7))
    assert resolution.problems == []
    assert [str(notice) for notice in resolution.notices] == [
        "Removed by policy: Environment variable HTTP_PROXY (set by the whole installation)."
    ]


def test_a_prefilled_item_that_cannot_be_added_is_left_out_with_a_notice() -> None:
    rules = policy(document(rules={"labels": {"instances": {"canAdd": False}}}))
    resolution = say(rules, worker__labels=Value([{"name": "a", "value": "b"}], copy_source("0d")))
    assert (resolution.problems, resolution.values("worker")["labels"]) == ([], [])
    assert (
        str(resolution.notices[0]) == "Removed by policy: Label a (set by the whole installation)."
    )


def test_problems_name_an_item_by_its_place_as_sent() -> None:
    resolution = said(
        {"name": "WANDB_MODE", "exclude": True},
        {"name": "A", "value": 5},
        7,
        {"value": "x"},
        {"name": "SEED", "value": "1"},
        {"name": "SEED", "value": "2"},
        {"name": "B", "value": "", "exclude": "yes"},
    )
    assert [(p.path, p.key, p.label, p.message) for p in resolution.problems] == [
        ("environmentVariables.1.value", "A", "Value of environment variable A", "must be text"),
        (
            "environmentVariables.2", "", "Environment variable 3",
            "must be an object with name and description and one of value, secret, configMap,"
            " podFieldRef or userCredential",
        ),
        ("environmentVariables.3.name", "", "Name of environment variable 4", "is required"),
        ("environmentVariables.5.name", "SEED", "Environment variable SEED", "is used twice"),
        (
            "environmentVariables.6", "B", "Environment variable B",
            "must have true or false as “exclude”",
        ),
    ]  # fmt: skip


def test_a_default_said_twice_is_a_duplicate() -> None:
    resolution = said({"name": "WANDB_MODE", "value": "a"}, {"name": "WANDB_MODE", "value": "b"})
    assert [(p.path, p.message) for p in resolution.problems] == [
        ("environmentVariables.1.name", "is used twice")
    ]


@pytest.mark.parametrize("value", [5, "A=1", {"name": "A"}, True])
def test_what_is_no_list_is_a_problem(value: Any) -> None:
    assert messages(say(RULES, **{PATH: value})) == [(PATH, "must be a list", "")]


def test_an_empty_list_is_an_answer() -> None:
    entry = say(worker__labels=[]).effective["worker.labels"]
    assert (entry.value, entry.source) == ([], YOU)


def test_what_a_policy_refuses_of_an_asset_stays_out_when_items_are_added() -> None:
    closed = document(rules={"worker": {"environmentVariables": {"instances": {"locked": ["A"]}}}})
    items = document(
        defaults={"worker": {"environmentVariables": {"instances": [{"name": "A", "value": "1"}]}}}
    )
    rules = policy(items, closed)
    given = {PATH: Value([{"name": "A", "value": "2"}], asset_source("env", "env"))}
    mine = {PATH: Value([{"name": "B", "value": "3"}], YOU)}
    alone = say(rules, sent={"assets": given}).effective[PATH]
    both = say(rules, sent={"assets": given}, **mine).effective[PATH]
    assert [item["value"] for item in alone.value] == ["1"]
    assert [item["value"] for item in both.value] == ["1", "3"]
    (notice,) = say(rules, sent={"assets": given}, **mine).notices
    assert "A" in notice.message


def test_what_cannot_be_added_is_not_added_by_an_asset_either() -> None:
    rules = policy(
        document(rules={"worker": {"environmentVariables": {"instances": {"canAdd": False}}}})
    )
    given = {PATH: Value([{"name": "A", "value": "2"}], asset_source("env", "env"))}
    resolution = say(rules, sent={"assets": given}, **{PATH: Value([{"name": "B"}], YOU)})
    assert [item["name"] for item in resolution.effective[PATH].value] == ["B"]
    assert [p.rule for p in resolution.problems if p.path.endswith(".0")] == ["canAdd"]
