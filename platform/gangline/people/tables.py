"""The tables of users, groups, roles and access rules."""

from typing import Any

from django.db.models import (
    Case,
    CharField,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.access.models import AccessRule, CustomRole, Group
from gangline.access.roles import ROLES
from gangline.accounts.models import User
from gangline.resources.registry import get
from gangline.resources.tables import column, name_column, table, time_column
from gangline.scopes.models import ScopeKind
from gangline.tables import filters
from gangline.tables.columns import Column
from gangline.tables.filters import Kind
from gangline.web import components

from .selectors import role_labels


def state_word(user: User) -> str:
    """``Active``, ``Invited`` (has not come yet) or ``Deactivated``."""
    if not user.is_active:
        return "Deactivated"
    is_new = not user.has_usable_password() and user.last_login is None
    return "Invited" if is_new else "Active"


def user_state(user: User) -> SafeString:
    word = state_word(user)
    return components.chip(word, {"Active": "good", "Invited": "info"}.get(word, ""))


def user_cell(user: User) -> SafeString:
    url = get("user").url(user)
    sub = format_html('<span class="sub">{}</span>', user.full_name) if user.full_name else ""
    return format_html('<a class="name" href="{}">{}</a>{}', url, user.username, sub)


def described(rules: QuerySet[AccessRule]) -> QuerySet[AccessRule]:
    """With the subject's kind and name and the role's id and name as columns."""
    custom = CustomRole.objects.filter(key=OuterRef("role"))
    return rules.annotate(
        subject_name=Coalesce(F("user__username"), F("group__name")),
        subject_kind=Case(
            When(group__isnull=False, then=Value("group")),
            When(user__kind=User.Kind.SERVICE, then=Value("service-account")),
            default=Value("user"),
        ),
        role_id=_of_role("id", "id", custom, IntegerField()),
        role_name=_of_role("label", "name", custom, CharField()),
    )


def _of_role(attribute: str, column: str, custom: QuerySet[CustomRole], kind: Any) -> Any:
    """An attribute of a rule's role, built in or not, as a column."""
    built_in = (When(role=key, then=Value(getattr(role, attribute))) for key, role in ROLES.items())
    return Coalesce(
        Case(*built_in, default=None, output_field=kind),
        Subquery(custom.values(column)[:1]),
        output_field=kind,
    )


def rule_name(rule: Any) -> str:
    """``dana: Viewer in project vision``."""
    role = getattr(rule, "role_name", None) or role_labels().get(rule.role, rule.role)
    return f"{rule.subject}: {role} in {rule.scope.label}"


def subject_cell(rule: AccessRule) -> SafeString:
    if rule.group is not None:
        return format_html(
            '<a class="name" href="{}">{}</a><span class="sub">Group</span>',
            get("group").url(rule.group),
            rule.group.name,
        )
    if rule.user is not None and rule.user.kind == User.Kind.PERSON:
        return user_cell(rule.user)
    return format_html(
        '<span class="name">{}</span><span class="sub">Service account</span>', rule.subject
    )


def _delete_link(rule: AccessRule) -> SafeString:
    return format_html(
        '<a class="button ghost small" href="{}" data-dialog aria-label="Delete {}">{}</a>',
        get("access_rule").url(rule, "delete"),
        rule_name(rule),
        components.icon("trash"),
    )


def _seen(user: User) -> SafeString | str:
    return components.time_ago(user.last_login) if user.last_login else "never"


USERS = table(
    "users",
    Column(
        "name", "User", user_cell, sort="username", text=lambda row: row.username, is_fixed=True
    ),
    Column("state", "State", user_state, text=state_word, width="s"),
    column("email", "Email", sort="email"),
    column("groups", "Groups", "group_count", sort="group_count", right=True, width="s"),
    Column(
        "seen",
        "Last sign-in",
        _seen,
        sort="seen_at",
        text=lambda row: row.last_login,
        descends_first=True,
        width="m",
        is_named=True,
    ),
    time_column("created", "Created", "created_at", sort="created_at", drops=3),
    noun=("user", "users"),
    search=("username", "full_name", "email"),
    search_hint="Name or email",
    filters=(
        filters.choice(
            "state",
            "State",
            choices=(("active", "Active"), ("deactivated", "Deactivated")),
            where=lambda values, _: Q(is_active__in=[value == "active" for value in values]),
        ),
        filters.dates("created", "Created", "created_at", wire="creationTime"),
        filters.for_clients("username", "username"),
        filters.for_clients("createdBy", "created_by__username"),
        filters.for_clients("lastLogin", "last_login", Kind.DATES),
        filters.for_clients("lastUpdated", "updated_at", Kind.DATES),
    ),
)

GROUPS = table(
    "groups",
    name_column("group", "Group"),
    column("members", "Members", "member_count", sort="member_count", right=True, width="s"),
    Column(
        "source", "From", Group.get_source_display, text=Group.get_source_display, is_named=True
    ),
    time_column("created", "Created", "created_at", sort="created_at"),
    noun=("group", "groups"),
    search=("name", "description"),
    filters=(
        filters.dates("created", "Created", "created_at", wire="createdAt"),
        filters.for_clients("name", "name"),
    ),
)


def rules_link(key: str, count: int) -> SafeString:
    """How often a role is given, with the rules that do."""
    if not count:
        return SafeString("0")
    return format_html('<a href="{}?role={}">{}</a>', reverse("access_rule-list"), key, count)


def rules_cell(role: Any) -> SafeString:
    return rules_link(role.key, role.rule_count)


ROLE_TABLE = table(
    "roles",
    name_column("role", "Role"),
    Column("rules", "Access rules", rules_cell, text=None, is_named=True, right=True, width="m"),
    time_column("created", "Created", "created_at", sort="created_at"),
    noun=("role", "roles"),
    search=("name", "description"),
    filters=(filters.dates("created", "Created", "created_at"),),
)

ACCESS_RULES = table(
    "access-rules",
    Column(
        "name",
        "Who",
        subject_cell,
        sort="subject_name",
        text=lambda row: row.subject,
        is_fixed=True,
    ),
    column("role", "Role", "role_name", sort="role_name"),
    Column(
        "scope",
        "Where",
        lambda row: row.scope.title,
        sort="scope__name",
        text=lambda row: row.scope.title,
    ),
    time_column("created", "Given", "created_at", sort="created_at", drops=1),
    column("by", "By", "created_by", is_default=False),
    Column("more", "Actions", _delete_link, hidden_label=True, is_fixed=True, width="s"),
    noun=("access rule", "access rules"),
    search=("user__username", "user__full_name", "group__name", "scope__name"),
    search_hint="User, group or place",
    filters=(
        filters.choice("role", "Role", "role"),
        filters.choice(
            "place",
            "Where",
            "scope__kind",
            wire="scopeType",
            choices=[(str(kind), kind.label) for kind in ScopeKind],
        ),
        filters.choice(
            "who",
            "Who",
            "subject_kind",
            wire="subjectType",
            choices=(
                ("user", "Users"),
                ("group", "Groups"),
                ("service-account", "Service accounts"),
            ),
        ),
        filters.dates("created", "Given", "created_at", wire="createdAt", is_main=False),
        filters.for_clients("subjectId", "subject_name"),
        filters.for_clients("scopeName", "scope__name"),
        filters.for_clients("createdBy", "created_by__username"),
        filters.for_clients("roleId", "role_id", Kind.NUMBERS),
        filters.for_clients("roleName", "role_name"),
    ),
)
