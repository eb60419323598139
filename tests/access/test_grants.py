"""What one may do and what one may see come from the same rules."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangline.access.grants import (
    can,
    explain,
    held_anywhere,
    held_permissions,
    visible_scopes,
    who_can,
)
from gangline.access.models import AccessRule, CustomRole, Group, GroupMember
from gangline.access.permissions import ENTITIES, VERBS, Permission
from gangline.access.roles import ROLES
from gangline.accounts.models import User
from gangline.accounts.services import create_user, deactivate
from gangline.db.clock import db_now
from gangline.lib.problems import Refused
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects
from gangline.people.services import give
from gangline.resources.services import make
from gangline.scopes.models import Scope
from gangline.scopes.services import found
from tests.support.examples import examples
from tests.support.people import make_group, make_role
from tests.support.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


@pytest.fixture
def forest() -> list[Scope]:
    """One tenant, two clusters, two departments on each, two projects in each."""
    found(name="Forest")
    for c in ("north", "south"):
        cluster = make("cluster", actor=None, name=c, kind="local")
        for d in ("one", "two"):
            department = make("department", cluster=cluster, name=d)
            for p in ("a", "b"):
                make("project", department=department, name=f"{d}-{p}")
    return list(Scope.objects.order_by("pk"))


CUSTOM: dict[str, list[str]] = {
    "starter": [Permission.WORKLOAD_CREATE],
    "odd": [Permission.NODE_VIEW, "gone.away"],
}


@given(data=st.data())
@settings(
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_can_holds_exactly_where_things_are_visible(forest: list[Scope], data: Any) -> None:
    for model in (AccessRule, User, Group, CustomRole):
        model._default_manager.all().delete()
    user = create_user(username="somebody")
    group, strange = make_group("ours", user), make_group("theirs")
    for key, permissions in CUSTOM.items():
        make_role(key, *permissions)
    subjects: list[dict[str, Any]] = [{"user": user}, {"group": group}, {"group": strange}]
    for subject in subjects:
        chosen = data.draw(
            st.sets(
                st.tuples(
                    st.sampled_from([*sorted(ROLES), *CUSTOM]), st.integers(0, len(forest) - 1)
                ),
                max_size=3,
            )
        )
        AccessRule.objects.bulk_create(
            AccessRule(**subject, role=role, scope=forest[index], created_at=db_now())
            for role, index in chosen
        )
    if data.draw(st.integers(0, 9)) == 0:
        deactivate(user)
        user.refresh_from_db()
    permission = data.draw(st.sampled_from([Permission.WORKLOAD_CREATE, *Permission]))
    allowed = {scope.pk for scope in forest if can(user, permission, scope)}
    assert allowed == set(visible_scopes(user, permission).values_list("pk", flat=True))
    projects = {p.pk for p in Project.objects.select_related("scope") if p.scope_id in allowed}
    assert projects == set(visible_projects(user, permission).values_list("pk", flat=True))
    held: set[Permission] = set()
    for scope in forest:
        assert (user in who_can(permission, scope)) == (scope.pk in allowed)
        reasons = explain(user, permission, scope)
        assert any(not one.own_only for one in reasons) == (scope.pk in allowed)
        held |= held_permissions(user, scope, owner_id=user.pk)
    assert held == held_anywhere(user)


def test_visible_projects_come_once_however_many_rules_lead_there(world: World) -> None:
    user = world.people["researcher-vision"]
    give(actor=None, user=user, role="viewer", scope=world.vision.scope)
    give(actor=None, user=user, role="department_administrator", scope=world.department.scope)
    give(actor=None, group=make_group("all", user), role="viewer", scope=world.installation.scope)
    seen = list(visible_projects(user, Permission.WORKLOAD_VIEW))
    assert len(seen) == len(set(seen)) == 2


def test_own_workloads_may_be_stopped_by_their_owner_alone(world: World) -> None:
    user, scope = world.people["researcher-vision"], world.vision.scope
    assert can(user, Permission.WORKLOAD_STOP, scope, owner_id=user.pk)
    assert not can(user, Permission.WORKLOAD_STOP, scope, owner_id=user.pk + 1)
    assert not can(user, Permission.WORKLOAD_STOP, scope)
    assert not can(user, Permission.WORKLOAD_STOP, world.nlp.scope, owner_id=user.pk)


def test_an_explanation_names_the_rule_and_ends_with_it(world: World) -> None:
    dana = world.people["stranger"]
    group = make_group("ml-team", dana)
    rule = give(actor=None, group=group, role="researcher", scope=world.department.scope)
    (reason,) = explain(dana, Permission.WORKLOAD_DELETE, world.vision.scope)
    assert (reason.rule, reason.role.key, reason.own_only) == (rule, "researcher", True)
    assert explain(dana, Permission.POLICY_DELETE, world.vision.scope) == []
    GroupMember.objects.all().delete()
    assert explain(dana, Permission.WORKLOAD_DELETE, world.vision.scope) == []


def test_every_permission_belongs_to_an_entity_and_a_role() -> None:
    assert {permission.entity for permission in Permission} == set(ENTITIES)
    assert {permission.verb for permission in Permission} == set(VERBS)
    below = set().union(*(r.all for r in ROLES.values() if r.key != "system_administrator"))
    only_administrator = {permission.entity for permission in set(Permission) - below}
    assert only_administrator == {
        "cluster", "job", "node_pool", "user", "group", "role", "service_account",
        "access_key", "setting", "identity_provider",
    }  # fmt: skip
    assert len({role.id for role in ROLES.values()}) == len(ROLES)
    assert all(0 < role.id < 100 for role in ROLES.values())


def test_names_of_the_tree_are_checked(world: World) -> None:
    for name in ("Vision", "a_b", "", "x" * 52, "kube-system", "default"):
        with pytest.raises(Refused):
            make("project", department=world.department, name=name)
    with pytest.raises(Refused, match="project with this name already exists"):
        make("project", department=world.department, name="vision")
