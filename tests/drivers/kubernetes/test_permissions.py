"""The one table of rights: roles are made of it, and the check names what is missing."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from gangline.clusters.drivers.kubernetes import permissions
from gangline.clusters.drivers.kubernetes.permissions import Question, Rule, Verdict
from gangline.clusters.drivers.kubernetes.roles import manifests
from scripts.build_roles import FOLDER

ALL = frozenset({permissions.VOLCANO, permissions.NATIVE, permissions.KUEUE, permissions.KAI})


def role(name: str, file: str = "role.yaml") -> dict[str, Any]:
    """A ClusterRole of a shipped file, as the API server would give it back."""
    found = [
        one
        for one in yaml.safe_load_all((FOLDER / file).read_text(encoding="utf-8"))
        if one["kind"] == "ClusterRole" and one["metadata"]["name"] == name
    ]
    assert len(found) == 1
    return dict(found[0])


def allowing(*roles: dict[str, Any]) -> permissions.Ask:
    """Answers as an API server does for somebody who holds these roles everywhere."""

    def ask(questions: Sequence[Question]) -> Sequence[bool]:
        return [any(permissions.granted(one["rules"], q) for one in roles) for q in questions]

    return ask


@pytest.mark.parametrize("name", sorted(manifests()))
def test_the_shipped_files_are_current(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == manifests()[name], (
        "Run python -m scripts.build_roles."
    )


def test_with_the_shipped_roles_nothing_is_missing_and_nothing_too_much() -> None:
    verdict = permissions.judge(allowing(role("gangline")), role("gangline-project"), ALL)
    assert not verdict.is_missing
    assert verdict.excess == ()
    assert verdict.asked > 40


@pytest.mark.parametrize("number", range(len(permissions.CLUSTER)))
def test_every_rule_of_the_cluster_role_is_asked_for(number: int) -> None:
    held = role("gangline")
    held["rules"].pop(number)
    rule = permissions.CLUSTER[number]
    verdict = permissions.judge(allowing(held), role("gangline-project"), ALL)
    missing = {(one.group, name) for one in verdict.missing_cluster for name in one.resources}
    # A verb that another rule gives as well is not missing; at least one of these must be.
    assert missing & {(rule.group, name) for name in rule.resources}, rule


@pytest.mark.parametrize("number", range(len(permissions.PROJECT)))
def test_every_rule_of_the_project_role_is_compared(number: int) -> None:
    held = role("gangline-project")
    held["rules"].pop(number)
    rule = permissions.PROJECT[number]
    verdict = permissions.judge(allowing(role("gangline")), held, ALL)
    assert verdict.missing_project == (rule,)
    assert f"kubectl edit clusterrole {permissions.PROJECT_ROLE}" in permissions.fix(verdict)
    assert yaml.safe_load(permissions.fix(verdict)) == [
        {
            "apiGroups": [rule.group],
            "resources": list(rule.resources),
            "verbs": list(rule.verbs),
        }
    ]


def test_only_what_is_missing_is_named() -> None:
    held = role("gangline")
    nodes = next(one for one in held["rules"] if one["resources"] == ["nodes"])
    nodes["verbs"] = ["get"]
    verdict = permissions.judge(allowing(held), role("gangline-project"), frozenset())
    [rule] = verdict.missing_cluster
    assert (rule.resources, rule.verbs) == (("nodes",), ("list", "watch"))
    assert permissions.in_words(rule) == "list, watch nodes"
    assert permissions.fix(verdict) == (
        "# Add below “rules:” (kubectl edit clusterrole gangline):\n"
        '- apiGroups: [""]\n  resources: ["nodes"]\n  verbs: ["list", "watch"]'
    )


def test_a_scheduler_that_is_not_there_needs_no_rights() -> None:
    held = role("gangline")
    held["rules"] = [one for one in held["rules"] if one["apiGroups"] != [permissions.VOLCANO]]
    there = permissions.judge(
        allowing(held), role("gangline-project"), frozenset({permissions.VOLCANO})
    )
    absent = permissions.judge(allowing(held), role("gangline-project"), frozenset())
    assert there.is_missing
    assert not absent.is_missing


def test_an_administrator_needs_no_role_and_is_too_much() -> None:
    everything = {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    verdict = permissions.judge(allowing(everything), None, ALL)
    assert not verdict.is_missing
    assert verdict.excess == ("it may do everything (cluster-admin)",)


def test_without_the_right_to_bind_the_role_is_no_help() -> None:
    held = role("gangline")
    held["rules"] = [one for one in held["rules"] if one["resources"] != ["clusterroles"]]
    verdict = permissions.judge(allowing(held), role("gangline-project"), frozenset())
    assert any(rule.resources == ("secrets",) for rule in verdict.missing_project)


def test_secrets_are_written_and_never_read() -> None:
    for rule in (*permissions.CLUSTER, *permissions.PROJECT):
        if "secrets" in rule.resources:
            assert not {"get", "list", "watch"} & set(rule.verbs)
        assert "*" not in (rule.group, *rule.resources, *rule.verbs)


def test_a_subresource_is_asked_for_as_one() -> None:
    review = Question("", "pods/log", "get").as_review()["spec"]["resourceAttributes"]
    assert review == {"resource": "pods", "subresource": "log", "verb": "get"}
    assert permissions.fix(Verdict()) == ""
    assert Rule("", ("pods",), ("get",), "").yaml().startswith('- apiGroups: [""]')
