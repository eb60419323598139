"""A resource: what is listed, shown, edited and served, declared once.

Pages, API, OpenAPI, CSV, permissions, audit and navigation follow from one subclass of `Resource`
that an app registers in its `resources.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from django.contrib.admin.utils import label_for_field
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.module_loading import import_string
from django.utils.text import capfirst
from rest_framework.serializers import ManyRelatedField

from gangline.access.actor import Actor
from gangline.access.grants import can, held_anywhere, held_everywhere, holds, holds_below
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.lib.problems import Problem
from gangline.scopes.models import Scope
from gangline.scopes.selectors import tenant_scope
from gangline.tables.columns import Column

from .models import TreeNode
from .tables import ResourceTable

M = TypeVar("M", bound=Model)
VERBS = ("view", "create", "edit", "delete")


@dataclass(frozen=True, kw_only=True)
class Wire:
    """How the API speaks of a resource (S4e)."""

    path: str
    """Below ``/api/v1/``."""
    serializer: str
    """Dotted name: serializers are loaded when the API is first used."""
    envelope: str = ""
    """Key of the list in its answer; empty: a bare array."""
    created: int = 201
    deleted: int = 204
    in_use: int = 409
    edited: int = 200
    """204: without a body."""
    is_paged: bool = True
    methods: frozenset[str] = frozenset({"list", "count", "create", "get", "put", "delete"})
    lookup: str = "pk"
    viewset: str = "gangline.resources.api.ResourceViewSet"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A part of a detail page: a template with what ``context`` gives it."""

    title: str
    template: str
    context: Any
    """Callable ``(request, obj) -> dict | None``; None: the panel is not shown."""
    tab: str = ""
    """Name of the tab that it stands on; empty: Overview."""
    allowed: Any = None
    """Callable ``(user, obj) -> bool``: without it, neither panel nor its tab is there."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """A button of a detail page that leads to an address of its own."""

    label: str
    icon: str
    url: Any
    """Callable ``(obj) -> str``."""
    verb: str = "edit"
    permission: Permission | None = None
    """Needed in the object's own scope instead of what the verb needs."""
    allowed: Any = None
    """Callable ``(user, obj) -> bool``: decides instead of both."""
    when: Any = None
    """Callable ``(obj) -> bool``: whether it makes sense now; None: always."""
    asks: bool = False
    is_harmful: bool = False


@dataclass(frozen=True, kw_only=True)
class Nav:
    """Where the navigation shows the list."""

    group: str
    icon: str
    order: int = 50


@dataclass(frozen=True, slots=True)
class Usage:
    """What uses an object: the words of the kind, those that may be named, how many may not."""

    noun: str
    shown: Sequence[tuple[str, str]]
    """Name and address."""
    hidden: int = 0


class Resource(Generic[M]):
    """Subclass, set the attributes, override what differs, and `register` an instance."""

    model: type[M]
    key: str = ""
    """``department``: begins its audit actions, names its addresses."""
    entity: str = ""
    """What its permissions begin with; the key unless set."""
    path: str = ""
    """Below ``/``: ``departments``."""
    lede: str = ""
    """One sentence below the title of the list."""
    list_template: str = "resources/list.html"
    empty_text: str = ""
    delete_text: str = ""
    """What deletion brings with it."""
    verbs: frozenset[str] = frozenset(VERBS)
    scope_path: str = "scope"
    """From a row to its scope; empty: everything belongs to the tenant."""
    seen_from_anywhere: bool = False
    """Who may view such things in one place sees all of them: people, groups, roles."""
    seen_from_below: bool = False
    """Who may view such things in a project sees those of every scope above it too."""
    own_path: str = ""
    """The field that names whose an object is: the owner needs no permission, others do."""
    table: ResourceTable
    form: str = ""
    """Dotted name of a `ResourceForm`."""
    wire: Wire | None = None
    nav: Nav | None = None
    panels: tuple[Panel, ...] = ()
    actions: tuple[Action, ...] = ()
    pages: Mapping[str, str] = MappingProxyType({})
    """Further pages of an object: the end of their address, and the dotted name of the view."""
    secret: frozenset[str] = frozenset()
    """Fields whose values stand in no page, answer, export, log or audit entry."""
    related: tuple[str, ...] = ("scope",)
    """Foreign keys that rows are drawn with."""
    facts: tuple[str, ...] = ()
    """Fields that the detail page lists; empty: the columns of the table."""
    names_users: bool = True
    """The detail page lists what uses the object; False where a panel shows it."""
    confirm_by_name: bool = False
    """Deletion takes the name, typed."""
    can_copy: bool = False
    shows_yaml: bool = False
    """The detail page has a tab with the body that makes such an object."""
    detail_template: str = "resources/detail.html"
    delete_template: str = "resources/delete.html"

    def __init__(self) -> None:
        self.annotations: dict[str, Any] = {}

    def extend(self, *columns: Column[Any], **annotations: Any) -> None:
        """Let a higher app add columns to the list, and what of the database they draw."""
        self.table = replace(self.table, columns=(*self.table.columns, *columns))
        self.annotations |= annotations

    lookup: str = "pk"
    """What stands in the addresses of its pages."""
    name_field: str = "name"
    """Beside which it is told that the name is taken."""
    form_template: str = "resources/form.html"
    delete_word: str = "Delete"
    deleted_word: str = "was deleted"
    links: tuple[tuple[str, str, str], ...] = ()
    """Label, name of the address and icon of what stands beside New above the list."""

    # Words

    @property
    def label(self) -> str:
        return capfirst(str(self.model._meta.verbose_name))

    @property
    def labels(self) -> str:
        return capfirst(str(self.model._meta.verbose_name_plural))

    @property
    def create_label(self) -> str:
        return f"New {self.label.lower()}"

    @property
    def submit_label(self) -> str:
        return f"Create {self.label.lower()}"

    @property
    def empty_title(self) -> str:
        return f"No {self.labels.lower()} yet"

    def name_of(self, obj: M) -> str:
        return str(obj)

    def id_of(self, obj: M) -> str:
        return str(getattr(obj, self.lookup))

    # Addresses

    def list_url(self) -> str:
        return reverse(f"{self.key}-list")

    def url(self, obj: M, page: str = "detail") -> str:
        return reverse(f"{self.key}-{page}", args=[self.id_of(obj)])

    # Access

    def permission(self, verb: str) -> Permission:
        return Permission(f"{self.entity or self.key}.{verb}")

    def is_governed(self, verb: str) -> bool:
        """Whether there is a permission for it: to what is one's own, others may lack any."""
        return f"{self.entity or self.key}.{verb}" in set(Permission)

    def scope_of(self, obj: M) -> Scope:
        """Where the object is held."""
        found: Any = obj
        for step in self.scope_path.split("__") if self.scope_path else ():
            found = getattr(found, step)
        return found if self.scope_path else tenant_scope()

    def place(self, obj: M, verb: str) -> Scope:
        """The scope in which ``verb`` is needed: of a tree node the one above, but to view it."""
        scope = self.scope_of(obj)
        if isinstance(obj, TreeNode) and verb != "view" and scope.parent is not None:
            return scope.parent
        return scope

    def is_own(self, user: User, obj: M) -> bool:
        return bool(self.own_path) and getattr(obj, f"{self.own_path}_id") == user.pk

    def permits(self, user: User, verb: str, obj: M, scope: Scope) -> bool:
        """Whether ``user`` may do it to the object in ``scope``."""
        if self.is_own(user, obj):
            return user.is_active
        return self.is_governed(verb) and can(user, self.permission(verb), scope)

    def allows(self, user: User, verb: str, obj: M) -> bool:
        return verb in self.verbs and self.permits(user, verb, obj, self.place(obj, verb))

    def offers(self, user: User, action: Action, obj: M) -> bool:
        if action.allowed is not None:
            may = bool(action.allowed(user, obj))
        elif action.permission is None:
            may = self.allows(user, action.verb, obj)
        else:
            may = can(user, action.permission, self.scope_of(obj))
        return may and (action.when is None or bool(action.when(obj)))

    def visible(self, user: User) -> QuerySet[M]:
        """Every object that the person may see."""
        rows: QuerySet[M] = self.model._default_manager.all()
        if self.seen_from_anywhere:
            return rows if self.permission("view") in held_anywhere(user) else rows.none()
        if not self.scope_path:
            if self.is_governed("view") and held_everywhere(user, self.permission("view")):
                return rows
            return rows.filter(**{self.own_path: user}) if self.own_path else rows.none()
        within = holds_below if self.seen_from_below else holds
        return rows.filter(within(user, self.permission("view"), self.scope_path))

    def rows(self, user: User) -> QuerySet[M]:
        """The same with what the table draws."""
        rows = self.visible(user).select_related(*self.related)
        return rows.annotate(**self.annotations) if self.annotations else rows

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Choices of the table's filters that depend on who looks."""
        return {}

    def look_at(self, rows: Sequence[M], user: User) -> None:
        """Note on the rows of a page what their cells draw that depends on who looks."""

    # Writing: called by `resources.services`, in its transaction

    def check(self, obj: M, *, actor: Actor | None, before: M | None) -> None:
        """Rules that need the database or the actor; raise ValidationError with codes."""

    def snapshot(self, obj: M) -> dict[str, Any]:
        """What a change is measured and audited by: field → value as JSON."""
        found = {}
        for one in self.model._meta.concrete_fields:
            if one.editable and not one.primary_key:
                found[one.name] = _as_json(one.value_from_object(obj))
        return found

    def save_parts(self, obj: M, parts: Mapping[str, Any], *, actor: Actor | None) -> None:
        """Store the rows that belong to the object."""

    def shown_once(self, obj: M) -> str:
        """A secret that has just been made: shown in the answer to the request, and never again."""
        return ""

    def saved(self, obj: M, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        """After an object was stored; ``changes`` is empty for a new one."""

    def delete(self, obj: M, *, actor: Actor | None) -> None:
        """Remove the object. What merely ends overrides this (users are deactivated)."""
        scope = obj.scope if isinstance(obj, TreeNode) else None
        obj.delete()
        if scope is not None:
            scope.delete()

    def kept_because(self, obj: M) -> Problem | None:
        """Why this object cannot be deleted at all; None: it can."""
        return None

    def notice(self, obj: M, *, actor: Actor | None) -> str:
        """A sentence about what a change brings with it, shown after saving; may be empty."""
        return ""

    # Loaded late

    @cached_property
    def form_class(self) -> Any:
        return import_string(self.form)

    @cached_property
    def serializer_class(self) -> Any:
        if self.wire is None:
            raise LookupError(f"{self.key} has no API")
        return import_string(self.wire.serializer)

    @cached_property
    def written_lists(self) -> tuple[str, ...]:
        """Relations to many that the API writes with each object."""
        fields = self.serializer_class().fields.values()
        return tuple(str(one.source) for one in fields if isinstance(one, ManyRelatedField))

    def detail_context(self, request: HttpRequest, obj: M) -> dict[str, Any]:
        """What a template of its own needs beside the usual."""
        return {}

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """The same for its list."""
        return {}

    def facts_of(self, request: HttpRequest, obj: M) -> Iterable[tuple[str, Any]]:
        """Label and value of what the detail page lists; an object becomes a link."""
        for name in self.facts:
            yield capfirst(str(label_for_field(name, self.model))), getattr(obj, name)


def _as_json(value: Any) -> Any:
    return (
        value if value is None or isinstance(value, bool | int | str | list | dict) else str(value)
    )
