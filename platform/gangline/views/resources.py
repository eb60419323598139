"""Saved views as a resource: everybody has their own, and shows them to others."""

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from gangline.access.actor import Actor
from gangline.access.grants import can, visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.resources.registry import register
from gangline.resources.resource import Action, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import tenant_scope
from gangline.tables import filters, saved
from gangline.tables.models import SavedView, SharedWith


def _table_link(view: SavedView) -> SafeString:
    return format_html('<a href="{}">{}</a>', saved.address_of(view), saved.title_of(view.table))


def audience(view: SavedView) -> str:
    return view.scope.name if view.scope else view.get_shared_display()


class SavedViews(Resource[SavedView]):
    model = SavedView
    key = "saved_view"
    path = "views"
    own_path = "owner"
    scope_path = ""
    lede = "What tables show, by name: your own views, and those that others share."
    empty_text = "Views in the toolbar of a table saves columns, filters, order and density."
    form = "gangline.views.forms.SavedViewForm"
    related = ("scope__project", "owner")
    actions = (Action(label="Open", icon="external-link", url=saved.address_of, verb="view"),)
    table = table(
        "saved_views",
        name_column("saved_view", "View"),
        column("table", "Table", cell=_table_link, sort="table", width="m"),
        column("shared", "Who sees it", cell=audience, text=audience, width="m"),
        column("owner", "Owner", "owner.username", sort="owner__username", width="m"),
        time_column("updated", "Last change", "updated_at", sort="updated_at"),
        noun=("view", "views"),
        search=("name", "description", "owner__username"),
        filters=(
            filters.for_clients("id", "id"),
            filters.for_clients("name", "name"),
            filters.for_clients("table", "table"),
            filters.for_clients("shared", "shared"),
            filters.for_clients("owner", "owner__username"),
        ),
    )
    wire = Wire(
        path="views", envelope="views", serializer="gangline.views.serializers.SavedViewSerializer"
    )

    def visible(self, user: User) -> QuerySet[SavedView]:
        """One's own, those for everyone and those of projects that one sees; of tables that are
        there: one of a table that an upgrade took away has no page.
        """
        scopes = visible_scopes(user, Permission.PROJECT_VIEW)
        shared = Q(shared=SharedWith.EVERYONE) | Q(shared=SharedWith.PROJECT, scope__in=scopes)
        return SavedView.objects.filter(Q(owner=user) | shared, table__in=saved.names())

    def permits(self, user: User, verb: str, obj: SavedView, scope: Scope) -> bool:
        if verb == "view":
            return self.visible(user).filter(pk=obj.pk).exists()
        return super().permits(user, verb, obj, scope)

    def scope_of(self, obj: SavedView) -> Scope:
        return obj.scope or tenant_scope()

    def check(self, obj: SavedView, *, actor: Actor | None, before: SavedView | None) -> None:
        one = saved.table_of(obj.table)
        if one is None:
            accepted = ", ".join(saved.names())
            params = {"value": obj.table, "accepted": f"one of {accepted}"}
            raise ValidationError(
                {"table": ValidationError("There is no such table.", "choice", params)}
            )
        address = QueryDict(obj.query)
        known = saved.parameters(one)
        if strange := [name for name in address if name not in known]:
            message = f"{strange[0][:40]} is nothing that this table shows. Use {', '.join(known)}."
            raise ValidationError({"query": ValidationError(message, "unknown")})
        obj.query = saved.text_of(one, address)
        is_new_place = before is None or before.scope_id != obj.scope_id
        if obj.scope and is_new_place:
            is_seen = actor is None or can(actor.user, Permission.PROJECT_VIEW, obj.scope)
            if obj.scope.kind != ScopeKind.PROJECT or not is_seen:
                raise ValidationError(
                    {"scope": ValidationError("There is no such project.", "not_there:project")}
                )

    def facts_of(self, request: HttpRequest, obj: SavedView) -> Iterator[tuple[str, Any]]:
        yield "Table", _table_link(obj)
        yield "Who sees it", audience(obj)
        yield "Owner", obj.owner.username
        yield "Shows", format_html("<code>{}</code>", obj.query) if obj.query else "all"


register(SavedViews())
