"""The tables of users, groups, roles and access rules."""

from typing import Any

from django.db.models import (
    Case,
    CharField,
    F,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.access.models import AccessRule, CustomRole
from gangline.access.roles import ROLES
from gangline.accounts.models import User
from gangline.resources.registry import get
from gangline.resources.tables import Filter, name_link, table
from gangline.tables.columns import Column
from gangline.web import components

from .selectors import KINDS, place_words, role_labels


def user_state(user: User) -> SafeString:
    if not user.is_active:
        return components.chip("Deactivated")
    if not user.has_usable_password() and user.last_login is None:
        return components.chip("Invited", "info")
    return components.chip("Active", "good")


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
    """``dana: Viewer in Project vision``."""
    role = getattr(rule, "role_name", None) or role_labels().get(rule.role, rule.role)
    return f"{rule.subject}: {role} in {place_words(rule.scope)}"


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


USERS = table(
    "users",
    (
        Column("username", "User", user_cell, sort="username"),
        Column("state", "State", user_state),
        Column("email", "Email", lambda row: row.email or "–", sort="email"),
        Column(
            "groups",
            "Groups",
            lambda row: str(row.group_count),
            sort="group_count",
            right=True,
        ),
        Column(
            "seen",
            "Last sign-in",
            lambda row: components.time_ago(row.last_login) if row.last_login else "never",
            sort="last_login",
        ),
        Column(
            "created",
            "Created",
            lambda row: components.time_ago(row.created_at),
            sort="created_at",
        ),
    ),
    search=("username", "full_name", "email"),
    filters=(
        Filter(name="username", column="username"),
        Filter(name="createdBy", column="created_by__username"),
        Filter(name="lastLogin", column="last_login", kind="time"),
        Filter(name="creationTime", column="created_at", kind="time"),
        Filter(name="lastUpdated", column="updated_at", kind="time"),
        Filter(
            name="active",
            column="is_active",
            label="State",
            kind="integer",
            choices=lambda user: [("1", "Active"), ("0", "Deactivated")],
        ),
    ),
)


GROUPS = table(
    "groups",
    (
        Column("name", "Group", lambda row: name_link(row, "group"), sort="name"),
        Column(
            "members",
            "Members",
            lambda row: str(row.member_count),
            sort="member_count",
            right=True,
        ),
        Column("source", "From", lambda row: row.get_source_display(), sort="source"),
        Column(
            "created",
            "Created",
            lambda row: components.time_ago(row.created_at),
            sort="created_at",
        ),
    ),
    search=("name", "description"),
    filters=(
        Filter(name="name", column="name"),
        Filter(name="createdAt", column="created_at", kind="time"),
    ),
)


ROLE_TABLE = table(
    "roles",
    (Column("name", "Role", lambda row: name_link(row, "role"), sort="name"),),
    search=("name", "description"),
)


ACCESS_RULES = table(
    "access-rules",
    (
        Column("subject", "Who", subject_cell, sort="subject_name"),
        Column("role", "Role", lambda row: row.role_name, sort="role_name"),
        Column("scope", "Where", lambda row: place_words(row.scope), sort="scope__name"),
        Column(
            "created",
            "Given",
            lambda row: components.time_ago(row.created_at),
            sort="created_at",
        ),
        Column("by", "By", lambda row: str(row.created_by or "the system")),
        Column("more", "Actions", _delete_link, hidden_label=True),
    ),
    search=("user__username", "user__full_name", "group__name", "scope__name"),
    filters=(
        Filter(
            name="role",
            column="role",
            label="Role",
            kind="choice",
            choices=lambda user: sorted(role_labels().items(), key=lambda one: one[1]),
        ),
        Filter(
            name="scopeType",
            column="scope__kind",
            label="Where",
            kind="choice",
            choices=lambda user: [(str(kind), word) for kind, word in KINDS.items()],
        ),
        Filter(
            name="subjectType",
            column="subject_kind",
            label="Who",
            kind="choice",
            choices=lambda user: [("user", "Users"), ("group", "Groups")],
        ),
        Filter(name="subjectId", column="subject_name"),
        Filter(name="scopeName", column="scope__name"),
        Filter(name="createdAt", column="created_at", kind="time"),
        Filter(name="createdBy", column="created_by__username"),
    ),
)
