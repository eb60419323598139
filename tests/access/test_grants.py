"""What one may do and what one may see come from the same grants."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangline.access.grants import can, visible_scopes, who_can
from gangline.access.models import Grant
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.access.roles import ROLES
from gangline.access.services import LastAdministrator, give, take
from gangline.accounts.models import User
from gangline.accounts.services import create_user, deactivate
from gangline.audit.models import AuditEntry
from gangline.db.clock import db_now
from gangline.organization import services
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects
from gangline.resources.services import make
from gangline.scopes.models import Scope
from gangline.scopes.services import NameRefused, found
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def forest() -> list[Scope]:
    """One tenant, two clusters, two departments on each, two projects in each."""
    found(name="Forest")
    for c in ("north", "south"):
        cluster = make("cluster", actor=None, name=c, kind="local")
        for d in ("one", "two"):
            department = make("department", cluster=cluster, name=d)
            for p in ("a", "b"):
                services.create_project(actor=None, department=department, name=f"{d}-{p}")
    return list(Scope.objects.order_by("pk"))


@given(data=st.data())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_can_holds_exactly_where_things_are_visible(forest: list[Scope], data: Any) -> None:
    Grant.objects.all().delete()
    User.objects.all().delete()
    user = create_user(username="somebody")
    chosen = data.draw(
        st.sets(st.tuples(st.sampled_from(sorted(ROLES)), st.integers(0, len(forest) - 1)),
                max_size=4)
    )  # fmt: skip
    for role, index in chosen:
        Grant.objects.create(user=user, role=role, scope=forest[index], created_at=db_now())
    if data.draw(st.integers(0, 9)) == 0:
        deactivate(user)
        user.refresh_from_db()
    permission = data.draw(st.sampled_from(list(Permission)))
    allowed = {scope.pk for scope in forest if can(user, permission, scope)}
    assert allowed == set(visible_scopes(user, permission).values_list("pk", flat=True))
    projects = {p.pk for p in Project.objects.select_related("scope") if p.scope_id in allowed}
    assert projects == set(visible_projects(user, permission).values_list("pk", flat=True))
    for scope in forest:
        assert (user in who_can(permission, scope)) == (scope.pk in allowed)


def test_visible_projects_come_once_however_many_grants_lead_there(world: World) -> None:
    user = world.people["researcher-vision"]
    give(actor=None, user=user, role="viewer", scope=world.vision.scope)
    give(actor=None, user=user, role="department_administrator", scope=world.department.scope)
    seen = list(visible_projects(user, Permission.WORKLOAD_VIEW))
    assert len(seen) == len(set(seen)) == 2


def test_own_workloads_may_be_stopped_by_their_owner_alone(world: World) -> None:
    user, scope = world.people["researcher-vision"], world.vision.scope
    assert can(user, Permission.WORKLOAD_STOP, scope, owner_id=user.pk)
    assert not can(user, Permission.WORKLOAD_STOP, scope, owner_id=user.pk + 1)
    assert not can(user, Permission.WORKLOAD_STOP, scope)
    assert not can(user, Permission.WORKLOAD_STOP, world.nlp.scope, owner_id=user.pk)


def test_the_system_administrator_may_do_everything(world: World) -> None:
    user = world.people["administrator"]
    assert all(can(user, permission, world.nlp.scope) for permission in Permission)


def test_every_permission_belongs_to_some_role_below_the_administrator() -> None:
    below = set().union(*(r.all for r in ROLES.values() if r.name != "system_administrator"))
    only_administrator = set(Permission) - below
    assert only_administrator == {
        Permission.CLUSTER_CREATE,
        Permission.CLUSTER_EDIT,
        Permission.CLUSTER_DELETE,
        Permission.NODE_POOL_CREATE,
        Permission.NODE_POOL_EDIT,
        Permission.NODE_POOL_DELETE,
        Permission.SETTINGS_MANAGE,
    }


def test_nobody_gives_more_than_they_hold(world: World) -> None:
    lead = world.actor("project_administrator-vision")
    friend = world.people["stranger"]
    give(actor=lead, user=friend, role="researcher", scope=world.vision.scope)
    for role, scope in (
        ("department_administrator", world.vision.scope),
        ("system_administrator", world.installation.scope),
        ("researcher", world.nlp.scope),
        ("viewer", world.department.scope),
    ):
        with pytest.raises(NotAllowed):
            give(actor=lead, user=friend, role=role, scope=scope)
    researcher = world.actor("researcher-vision")
    with pytest.raises(NotAllowed):
        give(actor=researcher, user=friend, role="viewer", scope=world.vision.scope)


def test_the_last_administrator_stays(world: World) -> None:
    grant = Grant.objects.get(role="system_administrator")
    with pytest.raises(LastAdministrator):
        take(actor=world.actor("administrator"), grant=grant)
    second = world.people["stranger"]
    give(actor=None, user=second, role="system_administrator", scope=world.installation.scope)
    take(actor=world.actor("administrator"), grant=grant)
    assert not can(world.people["administrator"], Permission.SETTINGS_MANAGE, world.vision.scope)


def test_giving_and_taking_is_audited_and_tells_open_sockets(world: World) -> None:
    user = world.people["stranger"]
    before = user.auth_version
    grant = give(
        actor=world.actor("administrator"), user=user, role="viewer", scope=world.vision.scope
    )
    give(actor=world.actor("administrator"), user=user, role="viewer", scope=world.vision.scope)
    take(actor=world.actor("administrator"), grant=grant)
    user.refresh_from_db()
    assert user.auth_version == before + 2
    rows = AuditEntry.objects.filter(actor_name="administrator", object_name="stranger")
    assert list(rows.order_by("pk").values_list("action", flat=True)) == ["role.give", "role.take"]


def test_names_of_the_tree_are_checked(world: World) -> None:
    for name in ("Vision", "a_b", "", "x" * 52, "kube-system", "default"):
        with pytest.raises(NameRefused):
            services.create_project(actor=None, department=world.department, name=name)
    with pytest.raises(NameRefused, match="already a project vision"):
        services.create_project(actor=None, department=world.department, name="vision")
    with pytest.raises(NotAllowed):
        services.create_project(
            actor=world.actor("researcher-vision"), department=world.department, name="new"
        )
