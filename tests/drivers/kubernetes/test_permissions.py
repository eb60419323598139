"""The one table of rights: roles are made of it, and the check names what is missing."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from gangline.drivers.kubernetes import permissions
from gangline.drivers.kubernetes.kinds import JOBSET
from gangline.drivers.kubernetes.permissions import Question, Rule, Verdict, role_manifests
from gangline.drivers.kubernetes.schedulers import ADAPTERS, volcano
from gangline.drivers.kubernetes.schedulers.base import SchedulerAdapter
from scripts.build_roles import FOLDER
from tests.drivers.kubernetes.harness import shipped

ALL = frozenset((*ADAPTERS, JOBSET, permissions.METRICS))


def allowing(*roles: dict[str, Any]) -> permissions.Ask:
    """Answers as an API server does for somebody who holds these roles everywhere."""

    def ask(questions: Sequence[Question]) -> Sequence[bool]:
        return [any(permissions.granted(one["rules"], q) for one in roles) for q in questions]

    return ask


def missing(verdict: Verdict) -> tuple[Rule, ...]:
    return (*verdict.missing_cluster, *verdict.missing_project)


@pytest.mark.parametrize("name", sorted(role_manifests()))
def test_the_shipped_files_are_current(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == role_manifests()[name], (
        "Run python -m scripts.build_roles."
    )


def test_with_the_shipped_roles_nothing_is_missing_and_nothing_too_much() -> None:
    verdict = permissions.judge(allowing(shipped("gangline")), shipped("gangline-project"), ALL)
    assert missing(verdict) == ()
    assert verdict.excess == ()
    assert verdict.asked > 30


@pytest.mark.parametrize("number", range(len(permissions.CLUSTER)))
def test_every_rule_of_the_cluster_role_is_asked_for(number: int) -> None:
    held = shipped("gangline")
    held["rules"].pop(number)
    rule = permissions.CLUSTER[number]
    verdict = permissions.judge(allowing(held), shipped("gangline-project"), ALL)
    missing = {(one.group, name) for one in verdict.missing_cluster for name in one.resources}
    # A verb that another rule gives as well is not missing; at least one of these must be.
    assert missing & {(rule.group, name) for name in rule.resources}, rule


@pytest.mark.parametrize("number", range(len(permissions.PROJECT)))
def test_every_rule_of_the_project_role_is_compared(number: int) -> None:
    held = shipped("gangline-project")
    held["rules"].pop(number)
    rule = permissions.PROJECT[number]
    verdict = permissions.judge(allowing(shipped("gangline")), held, ALL)
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
    held = shipped("gangline")
    rule_there = next(one for one in held["rules"] if one["resources"] == ["namespaces"])
    rule_there["verbs"] = ["get", "list"]
    verdict = permissions.judge(allowing(held), shipped("gangline-project"), frozenset())
    [rule] = verdict.missing_cluster
    assert (rule.resources, rule.verbs) == (("namespaces",), ("create", "patch"))
    assert permissions.in_words(rule) == "create, patch namespaces"
    assert permissions.fix(verdict) == (
        "# Add below “rules:” (kubectl edit clusterrole gangline):\n"
        '- apiGroups: [""]\n  resources: ["namespaces"]\n  verbs: ["create", "patch"]'
    )


def test_a_scheduler_that_is_not_there_needs_no_rights() -> None:
    held = shipped("gangline")
    held["rules"] = [one for one in held["rules"] if one["apiGroups"] != [volcano.QUEUES.group]]
    there = permissions.judge(allowing(held), shipped("gangline-project"), frozenset({"volcano"}))
    absent = permissions.judge(allowing(held), shipped("gangline-project"), frozenset())
    assert missing(there)
    assert not missing(absent)


def test_an_administrator_needs_no_role_and_is_too_much() -> None:
    everything = {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    verdict = permissions.judge(allowing(everything), None, ALL)
    assert not missing(verdict)
    assert verdict.excess == ("it may do everything (cluster-admin)",)


def test_without_the_right_to_bind_the_role_is_no_help() -> None:
    held = shipped("gangline")
    held["rules"] = [one for one in held["rules"] if one["resources"] != ["clusterroles"]]
    verdict = permissions.judge(allowing(held), shipped("gangline-project"), frozenset())
    assert any("pods/log" in rule.resources for rule in verdict.missing_project)


def test_secrets_are_never_listed_and_nothing_is_granted_by_a_star() -> None:
    assert not [rule for rule in permissions.CLUSTER if "secrets" in rule.resources]
    for rule in (*permissions.CLUSTER, *permissions.PROJECT):
        if "secrets" in rule.resources:
            assert not {"list", "watch"} & set(rule.verbs)
        assert "*" not in (rule.group, *rule.resources, *rule.verbs)


def test_a_subresource_is_asked_for_as_one() -> None:
    review = Question("", "pods/log", "get").as_review()["spec"]["resourceAttributes"]
    assert review == {"resource": "pods", "subresource": "log", "verb": "get"}
    assert permissions.fix(Verdict()) == ""
    assert Rule("", ("pods",), ("get",), "").yaml().startswith('- apiGroups: [""]')


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=lambda one: one.name)
def test_what_an_adapter_reads_is_among_the_rights_and_asked_for(adapter: SchedulerAdapter) -> None:
    """A new adapter whose rules are forgotten would wait for ever and say nothing."""
    seen: list[Question] = []

    def ask(questions: Sequence[Question]) -> Sequence[bool]:
        seen.extend(questions)
        return [False for _ in questions]

    permissions.judge(ask, None, frozenset({adapter.name}))
    for resource in {*adapter.reads, *((adapter.queues,) if adapter.queues else ())}:
        assert Question(resource.group, resource.plural, "list") in seen, resource
    for resource in adapter.let_go("").theirs:
        assert Question(resource.group, resource.plural, "patch") in seen, resource
