"""Nobody gets or gives more than they hold, by any door; one administrator always stays."""

from collections.abc import Callable

import pytest

from gangline.access import services
from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.models import AccessRule, CustomRole
from gangline.access.permissions import Permission, with_views
from gangline.access.refusals import HoldsLess, NotAllowed
from gangline.access.roles import ROLES
from gangline.access.services import LastAdministrator
from gangline.accounts.models import User
from gangline.audit.models import AuditEntry
from gangline.people.services import give, set_members
from gangline.resources.registry import get
from gangline.resources.services import create, delete, make, update
from tests.support.people import make_group, make_role
from tests.support.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(world: World) -> World:
    User.objects.update(password="!")
    User.objects.filter(username="administrator").update(password="usable")
    return world


def take(*, actor: Actor | None, rule: AccessRule) -> None:
    delete(get("access_rule"), actor=actor, obj=rule)


def test_a_role_is_given_by_who_holds_all_of_it_there(world: World) -> None:
    lead = world.actor("project_administrator-vision")
    friend = world.people["stranger"]
    give(actor=lead, user=friend, role="researcher", scope=world.vision.scope)
    more = make_role("more", Permission.SETTING_EDIT)
    for role, scope in (
        ("department_administrator", world.vision.scope),
        ("system_administrator", world.installation.scope),
        ("researcher", world.nlp.scope),
        ("viewer", world.department.scope),
        (more.key, world.vision.scope),
    ):
        with pytest.raises(NotAllowed):
            give(actor=lead, user=friend, role=role, scope=scope)
    researcher = world.actor("researcher-vision")
    with pytest.raises(NotAllowed):
        give(actor=researcher, user=friend, role="viewer", scope=world.vision.scope)
    for given in AccessRule.objects.exclude(scope=world.vision.scope):
        with pytest.raises(NotAllowed):
            take(actor=lead, rule=given)


def test_a_group_is_joined_by_the_leave_of_who_could_give_its_roles(world: World) -> None:
    lead, friend = world.actor("project_administrator-vision"), world.people["stranger"]
    group = make_group("team")
    give(actor=lead, group=group, role="researcher", scope=world.vision.scope)
    set_members(group, [friend], actor=lead)
    give(actor=None, group=group, role="viewer", scope=world.nlp.scope)
    for members in ([], [friend, world.people["viewer-nlp"]]):
        with pytest.raises(NotAllowed):
            set_members(group, members, actor=lead)
    assert list(group.members.all()) == [friend]


def test_a_role_is_changed_by_who_holds_it_before_and_after_wherever_it_is_given(
    world: World,
) -> None:
    lead = world.actor("project_administrator-vision")
    role = make_role("helper", Permission.WORKLOAD_VIEW)
    give(actor=None, user=world.people["stranger"], role=role.key, scope=world.vision.scope)
    services.need_to_change_role(lead, role, [Permission.WORKLOAD_LOGS])
    with pytest.raises(NotAllowed):
        services.need_to_change_role(lead, role, [Permission.POLICY_EDIT])
    give(actor=None, user=world.people["stranger"], role=role.key, scope=world.nlp.scope)
    with pytest.raises(NotAllowed):
        services.need_to_change_role(lead, role, [])


def test_a_permission_brings_the_view_of_what_it_is_about(world: World) -> None:
    actor, role = world.actor("administrator"), get("role")
    values = {"name": "cleaner", "permissions": ["workload.delete"]}
    made = create(role, actor=actor, values=values).obj
    assert made.permissions == ["workload.delete", "workload.view"]
    other = {"permissions": ["member.manage", "workload.logs"]}
    made = update(role, actor=actor, obj=made, values=other).obj
    assert made.permissions == ["member.manage", "workload.logs", "workload.view"]
    for one in ROLES.values():
        assert with_views(one.all) == one.all, one.key


def test_no_two_built_in_roles_are_described_alike() -> None:
    assert len({one.description for one in ROLES.values()}) == len(ROLES)


def test_somebody_is_acted_for_by_who_holds_all_they_hold(world: World) -> None:
    lead, friend = world.actor("project_administrator-vision"), world.people["stranger"]
    services.need_to_act_for(lead, friend)
    services.need_to_act_for(lead, world.people["researcher-vision"])
    group = make_group("team", friend)
    give(actor=None, group=group, role="viewer", scope=world.nlp.scope)
    for person in (friend, world.people["head"], world.people["administrator"]):
        with pytest.raises(NotAllowed):
            services.need_to_act_for(lead, person)
        services.need_to_act_for(world.actor("administrator"), person)


def test_nobody_changes_or_closes_the_account_of_who_holds_more(world: World) -> None:
    desk = make_role(
        "desk", Permission.USER_EDIT, Permission.USER_DELETE, Permission.SERVICE_ACCOUNT_DELETE
    )
    give(actor=None, user=world.people["stranger"], role=desk.key, scope=world.installation.scope)
    bot = make("service_account", name="bot")
    give(actor=None, user=bot.user, role="viewer", scope=world.vision.scope)
    viewer = world.people["viewer-nlp"]
    with pytest.raises(HoldsLess):
        update(get("user"), actor=world.actor("stranger"), obj=viewer, values={"username": "other"})
    for key, obj in (("user", viewer), ("service_account", bot)):
        with pytest.raises(NotAllowed):
            delete(get(key), actor=world.actor("stranger"), obj=obj)
        delete(get(key), actor=world.actor("administrator"), obj=obj)


def test_a_role_gets_its_number_when_it_is_stored() -> None:
    values = {"name": "mine", "key": "mine", "permissions": ["user.view"]}
    mine, other = CustomRole(**values), make_role("other", Permission.USER_VIEW)
    mine.full_clean(exclude=["created_at", "updated_at"])
    assert mine.pk == other.pk + 1


def _take(world: World, rule: AccessRule) -> None:
    take(actor=world.actor("administrator"), rule=rule)


def _leave(world: World, rule: AccessRule) -> None:
    assert rule.group is not None
    set_members(rule.group, [], actor=None)


def _deactivate(world: World, rule: AccessRule) -> None:
    delete(get("user"), actor=None, obj=world.people["administrator"])


@pytest.mark.parametrize(
    ("step", "is_by_group"),
    [(_take, False), (_take, True), (_deactivate, False), (_deactivate, True), (_leave, True)],
)
def test_the_last_administrator_stays(
    world: World, step: Callable[[World, AccessRule], None], is_by_group: bool
) -> None:
    rule = AccessRule.objects.get(role="system_administrator")
    second = world.people["stranger"]
    if is_by_group:
        group = make_group("admins", world.people["administrator"])
        AccessRule.objects.filter(pk=rule.pk).update(user=None, group=group)
        rule.refresh_from_db()
    # Has the role, and neither a password nor ever signed in.
    give(actor=None, user=second, role="system_administrator", scope=world.installation.scope)
    with pytest.raises(LastAdministrator):
        step(world, rule)
    User.objects.filter(pk=second.pk).update(password="usable")
    step(world, rule)
    first = User.objects.get(username="administrator")
    assert not can(first, Permission.SETTING_EDIT, world.vision.scope)


def test_giving_and_taking_is_audited_and_reaches_open_sockets(world: World) -> None:
    user, by = world.people["stranger"], world.actor("administrator")
    before = user.auth_version
    rule = give(actor=by, user=user, role="viewer", scope=world.vision.scope)
    assert give(actor=by, user=user, role="viewer", scope=world.vision.scope) == rule
    take(actor=by, rule=rule)
    group = make_group("team")
    update(get("group"), actor=by, obj=group, values={}, parts={"members": [user]})
    role = make_role("helper", Permission.WORKLOAD_VIEW)
    rule = give(actor=by, group=group, role=role.key, scope=world.vision.scope)
    update(get("role"), actor=by, obj=role, values={"permissions": ["workload.logs"]})
    update(get("group"), actor=by, obj=group, values={}, parts={"members": []})
    user.refresh_from_db()
    assert user.auth_version == before + 6
    rows = AuditEntry.objects.filter(actor_name="administrator").order_by("pk")
    assert list(rows.values_list("action", flat=True)) == [
        "access_rule.create",
        "access_rule.delete",
        "group.edit",
        "access_rule.create",
        "role.edit",
        "group.edit",
    ]
    assert rows[2].detail == {"members": {"from": [], "to": ["stranger"]}}
