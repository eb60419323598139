"""Users, groups, roles and access rules as resources."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Count, Model, QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import slugify

from gangline.access.actor import Actor
from gangline.access.grants import can, held_anywhere, roles_by_key, rules_of
from gangline.access.models import AccessRule, CustomRole, Group, GroupMember
from gangline.access.permissions import Permission, with_views
from gangline.access.roles import ROLES
from gangline.access.services import (
    an_administrator_stays,
    need_to_act_for,
    need_to_change_role,
    need_to_give,
    subjects,
)
from gangline.accounts.models import User
from gangline.accounts.services import deactivate, rights_changed
from gangline.db.clock import db_now
from gangline.db.expressions import total
from gangline.resources.models import TreeNode
from gangline.resources.registry import Uses, get, register, register_panel, register_usage
from gangline.resources.resource import Action, Nav, Panel, Resource, Wire
from gangline.web import components

from . import tables
from .selectors import matrix, role_labels
from .services import give, set_groups, set_members

M = TypeVar("M", bound=Model)


NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""In place of the last sign-in of who has not come yet: the order needs a time."""


class TenantWide(Resource[M]):
    """Belongs to the installation: changed from there."""

    scope_path = ""
    seen_from_anywhere = True
    related = ("created_by", "updated_by")


def rules_panel(request: HttpRequest, rules: QuerySet[AccessRule]) -> dict[str, Any]:
    """Rules as a small table, with the links that the person may follow."""
    visible = set(get("access_rule").visible(actor_user(request)).values_list("pk", flat=True))
    labels = role_labels()
    rows = rules.select_related("user", "group", "scope").order_by("scope__kind", "role")
    return {
        "rows": [
            {
                "rule": rule,
                "role": labels.get(rule.role, rule.role),
                "place": rule.scope.title,
                "url": get("access_rule").url(rule) if rule.pk in visible else "",
            }
            for rule in rows[:200]
        ]
    }


def actor_user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise TypeError("a page for people who are signed in")
    return request.user


class Users(TenantWide[User]):
    model = User
    key = "user"
    path = "users"
    lookup = "uid"
    name_field = "username"
    create_label = submit_label = "Invite user"
    lede = "Everyone who can sign in. Access rules decide what they may do."
    empty_text = "Invite users with a link. They choose their own password."
    delete_word = "Deactivate"
    deleted_word = "was deactivated"
    delete_text = (
        "Sessions and tokens stop working immediately. Workloads keep running. Activating the "
        "account again restores its access."
    )
    form = "gangline.people.forms.UserForm"
    nav = Nav(group="Access", icon="user", order=10)
    table = tables.USERS
    wire = Wire(
        path="users",
        serializer="gangline.people.serializers.UserSerializer",
        viewset="gangline.people.api.UserViewSet",
        methods=frozenset({"list", "count", "create", "get", "delete"}),
        lookup="uid",
    )
    panels = (
        Panel(
            title="What they may do",
            template="people/rules.html",
            context=lambda request, user: rules_panel(request, rules_of(user)),
        ),
    )
    actions = (
        Action(
            label="New sign-in link",
            icon="link",
            url=lambda user: reverse("user-link", args=[user.uid]),
            when=lambda user: user.is_active,
            asks=True,
        ),
        Action(
            label="Sign out",
            icon="logout",
            url=lambda user: reverse("user-sign-out", args=[user.uid]),
            when=lambda user: user.is_active,
            asks=True,
        ),
        Action(
            label="Activate",
            icon="check",
            url=lambda user: reverse("user-activate", args=[user.uid]),
            when=lambda user: not user.is_active,
            asks=True,
        ),
    )

    def visible(self, user: User) -> QuerySet[User]:
        return super().visible(user).filter(kind=User.Kind.PERSON)

    def rows(self, user: User) -> QuerySet[User]:
        rows = (
            super()
            .rows(user)
            .annotate(
                group_count=total(GroupMember.objects.all(), "user"),
                seen_at=Coalesce("last_login", Value(NEVER)),
            )
        )
        return rows.prefetch_related("member_of")

    def allows(self, user: User, verb: str, obj: User) -> bool:
        return (verb != "delete" or obj.is_active) and super().allows(user, verb, obj)

    def facts_of(self, request: HttpRequest, obj: User) -> Iterable[tuple[str, Any]]:
        yield "State", tables.user_state(obj)
        yield "Full name", obj.full_name
        yield "Email", obj.email
        yield "Groups", ", ".join(sorted(group.name for group in obj.member_of.all()))
        yield "Last sign-in", components.time_ago(obj.last_login) if obj.last_login else "never"

    def check(self, obj: User, *, actor: Actor | None, before: User | None) -> None:
        if before is not None:
            # Another name or address keeps somebody out as well.
            need_to_act_for(actor, obj)

    def snapshot(self, obj: User) -> dict[str, Any]:
        names = obj.memberships.values_list("group__name", flat=True).order_by("group__name")
        return {
            "username": obj.username,
            "full_name": obj.full_name,
            "email": obj.email,
            "groups": list(names),
        }

    def save_parts(self, obj: User, parts: Mapping[str, Any], *, actor: Actor | None) -> None:
        if "groups" in parts:
            set_groups(obj, parts["groups"], actor=actor)
        if "rule" in parts:
            give(actor=actor, user=obj, **parts["rule"])

    def delete(self, obj: User, *, actor: Actor | None) -> None:
        need_to_act_for(actor, obj)
        with an_administrator_stays():
            deactivate(obj)


class Groups(TenantWide[Group]):
    model = Group
    key = "group"
    path = "groups"
    lede = (
        "People who share the same roles. An access rule for a group applies to each of its "
        "members."
    )
    empty_text = "With a group, one access rule is enough for a whole team."
    form = "gangline.people.forms.GroupForm"
    nav = Nav(group="Access", icon="users", order=20)
    delete_text = "Its members keep the access they have through other rules."
    table = tables.GROUPS
    wire = Wire(
        path="groups",
        envelope="groups",
        serializer="gangline.people.serializers.GroupSerializer",
    )
    panels = (
        Panel(
            title="Members",
            template="people/members.html",
            context=lambda request, group: {
                "rows": [
                    (user, get("user").url(user)) for user in group.members.order_by("username")
                ]
            },
        ),
        Panel(
            title="What they may do",
            template="people/rules.html",
            context=lambda request, group: rules_panel(request, group.access_rules.all()),
        ),
    )

    def rows(self, user: User) -> QuerySet[Group]:
        return super().rows(user).annotate(member_count=total(GroupMember.objects.all(), "group"))

    def facts_of(self, request: HttpRequest, obj: Group) -> Iterable[tuple[str, Any]]:
        yield "From", obj.get_source_display()

    def snapshot(self, obj: Group) -> dict[str, Any]:
        names = obj.memberships.values_list("user__username", flat=True)
        return super().snapshot(obj) | {"members": sorted(names)}

    def save_parts(self, obj: Group, parts: Mapping[str, Any], *, actor: Actor | None) -> None:
        if "members" in parts:
            set_members(obj, parts["members"], actor=actor)

    def delete(self, obj: Group, *, actor: Actor | None) -> None:
        set_members(obj, (), actor=actor)
        obj.delete()


class Roles(TenantWide[CustomRole]):
    model = CustomRole
    key = "role"
    path = "roles"
    form = "gangline.people.forms.RoleForm"
    form_template = "people/role_form.html"
    lede = "A role is a set of permissions. Access rules give it to users and groups."
    list_template = "people/roles.html"
    nav = Nav(group="Access", icon="tag", order=30)
    table = tables.ROLE_TABLE
    wire = Wire(
        path="authorization/roles",
        serializer="gangline.people.serializers.RoleSerializer",
        viewset="gangline.people.api.RoleViewSet",
        methods=frozenset({"list", "create", "get", "put", "delete"}),
        is_paged=False,
    )
    panels = (
        Panel(
            title="What it allows",
            template="people/matrix.html",
            context=lambda request, role: {"rows": list(matrix(role.permissions))},
        ),
    )

    def look_at(self, rows: Sequence[CustomRole], user: User) -> None:
        given = times_given(user, [role.key for role in rows])
        for role in rows:
            role.rule_count = given.get(role.key, 0)  # type: ignore[attr-defined]

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        user = actor_user(request)
        if Permission.ROLE_VIEW not in held_anywhere(user):
            return {}
        given = times_given(user, ROLES)
        return {
            "built_in": [
                (role, tables.rules_link(role.key, given.get(role.key, 0)))
                for role in ROLES.values()
            ]
        }

    def facts_of(self, request: HttpRequest, obj: CustomRole) -> Iterable[tuple[str, Any]]:
        yield "Kind", "Created here"

    def check(self, obj: CustomRole, *, actor: Actor | None, before: CustomRole | None) -> None:
        obj.permissions = sorted(with_views(obj.permissions))
        if obj.name.casefold() in {role.label.casefold() for role in ROLES.values()}:
            raise ValidationError(
                {"name": ValidationError("A built-in role has this name.", "unique")}
            )
        if before is None:
            obj.key = _new_key(obj.name)
        else:
            need_to_change_role(actor, before, obj.permissions)

    def snapshot(self, obj: CustomRole) -> dict[str, Any]:
        return super().snapshot(obj) | {"permissions": list(obj.permissions)}

    def saved(self, obj: CustomRole, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        if "permissions" in changes:
            rights_changed(*subjects(AccessRule.objects.filter(role=obj.key)))


def times_given(user: User, keys: Iterable[str]) -> dict[str, int]:
    """How many rules that the person may see give each role."""
    rules = get("access_rule").visible(user).filter(role__in=list(keys))
    return dict(rules.order_by().values_list("role").annotate(n=Count("pk")))


def _new_key(name: str) -> str:
    """What rules name the role by: no other has had it."""
    base, number = slugify(name)[:36] or "role", 1
    key = base
    while key in ROLES or CustomRole.objects.filter(key=key).exists():
        number += 1
        key = f"{base}-{number}"
    return key


class AccessRules(Resource[AccessRule]):
    model = AccessRule
    key = "access_rule"
    path = "access-rules"
    name_field = "subject"
    lede = "Who has which role where. A rule applies to its place and everything below it."
    empty_text = "A rule gives a user or a group a role in one place and everything below it."
    verbs = frozenset({"view", "create", "delete"})
    form = "gangline.people.forms.AccessRuleForm"
    nav = Nav(group="Access", icon="lock", order=40)
    related = ("user", "group", "scope__parent__parent__parent", "created_by")
    delete_text = (
        "Those who have the role only through this rule lose it immediately. Running workloads are "
        "not affected."
    )
    links = (("Check access", "access-check", "info-circle"),)
    table = tables.ACCESS_RULES
    wire = Wire(
        path="authorization/access-rules",
        envelope="accessRules",
        serializer="gangline.people.serializers.AccessRuleSerializer",
        viewset="gangline.people.api.AccessRuleViewSet",
        methods=frozenset({"list", "count", "create", "get", "delete"}),
        is_paged=False,
    )

    def name_of(self, obj: AccessRule) -> str:
        return tables.rule_name(obj)

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"role": sorted(role_labels().items(), key=lambda one: one[1])}

    def rows(self, user: User) -> QuerySet[AccessRule]:
        return tables.described(super().rows(user))

    def facts_of(self, request: HttpRequest, obj: AccessRule) -> Iterable[tuple[str, Any]]:
        yield "Who", tables.subject_cell(obj)
        yield "Role", role_labels().get(obj.role, obj.role)
        yield "Where", obj.scope.title

    def check(self, obj: AccessRule, *, actor: Actor | None, before: AccessRule | None) -> None:
        if obj.role not in roles_by_key([obj.role]):
            raise ValidationError(
                {"role": ValidationError("There is no such role.", "unknown", {"value": obj.role})}
            )
        if obj.user is not None and not obj.user.is_active:
            raise ValidationError({"user": ValidationError("is deactivated.", "inactive")})
        need_to_give(actor, obj.role, obj.scope)
        obj.created_at, obj.created_by = db_now(), actor.user if actor else None

    def saved(self, obj: AccessRule, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        rights_changed(*subjects([obj]))

    def delete(self, obj: AccessRule, *, actor: Actor | None) -> None:
        need_to_give(actor, obj.role, obj.scope)
        with an_administrator_stays():
            rights_changed(*subjects([obj]))
            AccessRule.objects.filter(pk=obj.pk).delete()


for resource in (Users(), Groups(), Roles(), AccessRules()):
    register(resource)


def _rules(rules: QuerySet[AccessRule]) -> Uses:
    rule = get("access_rule")
    return Uses("access rule", rules, rule.visible, rule.url)


def _members(request: HttpRequest, node: TreeNode) -> dict[str, Any] | None:
    """Who has a role in a department or project; to who may see rules there."""
    user, scope = actor_user(request), node.scope
    if not can(user, Permission.ACCESS_RULE_VIEW, scope):
        return None
    rules = scope.access_rules.select_related("user", "group", "created_by").order_by("pk")
    labels = role_labels()
    may = can(user, Permission.ACCESS_RULE_CREATE, scope)
    return {
        "rows": [
            (rule, labels.get(rule.role, rule.role), get("access_rule").url(rule, "delete"))
            for rule in rules[:200]
        ],
        "may": may,
        "add": f"{reverse('access_rule-create')}?scope={scope.pk}&next={request.path}"
        if may
        else "",
    }


for key in ("department", "project"):
    register_panel(
        key, Panel(title="Members", template="people/place_members.html", context=_members)
    )
register_usage(Group, lambda group: _rules(group.access_rules.all()))
register_usage(CustomRole, lambda role: _rules(AccessRule.objects.filter(role=role.key)))
