"""Service accounts and access keys as resources."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html

from gangline.access.actor import Actor
from gangline.access.grants import rules_of
from gangline.access.services import need_to_act_for
from gangline.accounts.areas import labels
from gangline.accounts.models import ClientSecret, TokenSession, User
from gangline.accounts.services import deactivate, reactivate
from gangline.db.clock import db_now
from gangline.people.resources import rules_panel
from gangline.resources.registry import register
from gangline.resources.resource import Action, Nav, Panel, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.tables import filters
from gangline.tables.columns import Column
from gangline.web import components

from .models import AccessKey, ServiceAccount

S = TypeVar("S", bound=ClientSecret)
ACCESS_KEYS_MAX = 20
"""Of one person."""

SERVICE_ACCOUNTS = Wire(
    path="service-accounts",
    serializer="gangline.programs.serializers.ServiceAccountSerializer",
    viewset="gangline.programs.viewsets.ServiceAccountViewSet",
    is_paged=False,
    methods=frozenset({"list", "create", "get", "patch", "delete"}),
)
ACCESS_KEYS = Wire(
    path="access-keys",
    envelope="accessKeys",
    serializer="gangline.programs.serializers.AccessKeySerializer",
    viewset="gangline.programs.viewsets.AccessKeyViewSet",
    is_paged=False,
    methods=frozenset({"list", "create", "get", "delete"}),
)


class ClientSecrets(Resource[S]):
    """What both have: a name, a secret that is shown once, and who used it last."""

    scope_path = ""
    secret = frozenset({"secret_hash"})
    related = ("user", "created_by")
    pages = MappingProxyType({"secret": "gangline.programs.views.RenewView"})

    @property
    def actions(self) -> tuple[Action, ...]:  # type: ignore[override]
        url = partial(self.url, page="secret")
        return (Action(label="New secret", icon="refresh", url=url, asks=True),)

    def shown_once(self, obj: S) -> str:
        return obj.secret

    def saved(self, obj: S, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        if "secret_hash" in changes:
            TokenSession.objects.filter(client=obj.pk).delete()

    def delete(self, obj: S, *, actor: Actor | None) -> None:
        """The row stays: workloads and the audit log name it."""
        TokenSession.objects.filter(client=obj.pk).delete()
        ClientSecret.objects.filter(pk=obj.pk).update(revoked_at=db_now())

    def facts_of(self, request: HttpRequest, obj: S) -> Iterator[tuple[str, Any]]:
        yield "Client ID", format_html("<code>{}</code>", obj.pk)
        yield "Last used", used(obj)
        yield "Ends", components.time_ago(obj.expires_at) if obj.expires_at else "never"
        yield "Allowed addresses", obj.addresses or "any"
        yield "May", "read only" if obj.is_read_only else "everything its owner may do"
        yield "Limited to", labels(obj.areas) or "not limited: the whole API"
        if obj.rotated_at:
            yield "Secret changed", components.time_ago(obj.rotated_at)


def used(row: ClientSecret) -> str:
    return components.time_ago(row.last_used_at) if row.last_used_at else "Never"


def _columns(key: str) -> tuple[Column[Any], ...]:
    return (
        name_column(key, "Name"),
        column("used", "Last used", "last_used_at", cell=used, width="m"),
        time_column("created", "Created", "created_at", sort="created_at"),
    )


_FILTERS = (
    filters.dates("created", "Created", "created_at", wire="createdAt"),
    filters.for_clients("name", "name"),
)


class ServiceAccounts(ClientSecrets[ServiceAccount]):
    model = ServiceAccount
    key = "service_account"
    path = "service-accounts"
    lede = "Users for scripts and other programs. Access rules give them roles."
    empty_text = "A script that signs in with a service account does not depend on one person."
    delete_text = (
        "Programs that use it are signed out immediately, and its access rules are removed."
    )
    form = "gangline.programs.forms.ServiceAccountForm"
    nav = Nav(group="Access", icon="code", order=50)
    panels = (
        Panel(
            title="What it may do",
            template="people/rules.html",
            context=lambda request, account: rules_panel(request, rules_of(account.user)),
        ),
    )
    table = table(
        "service_accounts",
        *_columns("service_account"),
        column("status", "Status"),
        noun=("service account", "service accounts"),
        filters=_FILTERS,
    )
    wire = SERVICE_ACCOUNTS

    def check(self, obj: ServiceAccount, *, actor: Actor | None, before: Any) -> None:
        if before is None:
            obj.created_by = actor.user if actor else None
            if User.objects.filter(username__iexact=obj.name).exists():
                raise ValidationError({"name": ValidationError("This name is taken.", "unique")})
        else:
            # Who has its secret has what it may do.
            need_to_act_for(actor, obj.user)

    def snapshot(self, obj: ServiceAccount) -> dict[str, Any]:
        is_active = User.objects.values_list("is_active", flat=True).get(pk=obj.user_id)
        return super().snapshot(obj) | {"enabled": is_active}

    def save_parts(self, obj: Any, parts: Mapping[str, Any], *, actor: Actor | None) -> None:
        wanted = parts.get("enabled", obj.user.is_active)
        if wanted != obj.user.is_active:
            (reactivate if wanted else deactivate)(obj.user)
            obj.user.refresh_from_db()

    def delete(self, obj: ServiceAccount, *, actor: Actor | None) -> None:
        need_to_act_for(actor, obj.user)
        super().delete(obj, actor=actor)
        obj.user.access_rules.all().delete()
        deactivate(obj.user)
        # Somebody else may have the name now.
        former = f"{obj.name} ({obj.pk.hex[:8]})"
        User.objects.filter(pk=obj.user_id).update(username=former)

    def facts_of(self, request: HttpRequest, obj: ServiceAccount) -> Iterator[tuple[str, Any]]:
        yield "Status", obj.status
        yield from super().facts_of(request, obj)


class AccessKeys(ClientSecrets[AccessKey]):
    model = AccessKey
    key = "access_key"
    path = "access-keys"
    own_path = "user"
    lede = "Let your own scripts sign in with your permissions."
    empty_text = "A script that signs in with an access key may do what you may do."
    delete_text = "Programs that use it are signed out immediately."
    form = "gangline.programs.forms.AccessKeyForm"
    nav = Nav(group="Settings", icon="key", order=10)
    table = table(
        "access_keys",
        *_columns("access_key"),
        column("user", "User", "user.username"),
        noun=("access key", "access keys"),
        filters=_FILTERS,
    )
    wire = ACCESS_KEYS

    def check(self, obj: AccessKey, *, actor: Actor | None, before: Any) -> None:
        if before is not None:
            return
        obj.created_by = actor.user if actor else None
        if obj.user.kind != User.Kind.PERSON:
            raise ValidationError("Only people have access keys.", "person")
        if AccessKey.objects.filter(user=obj.user).count() >= ACCESS_KEYS_MAX:
            raise ValidationError(f"You have {ACCESS_KEYS_MAX} access keys already.", "max")


class Applications(ServiceAccounts):
    """Service accounts at the address that they had before."""

    key = "application"
    labels = "Applications"
    wire = replace(
        SERVICE_ACCOUNTS, path="apps", viewset="gangline.programs.viewsets.ApplicationViewSet"
    )


class OwnApplications(AccessKeys):
    """One's own access keys at the address that they had before."""

    key = "user_application"
    labels = "User applications"
    wire = replace(
        ACCESS_KEYS,
        path="user-applications",
        envelope="",
        viewset="gangline.programs.viewsets.OwnApplicationViewSet",
    )


class AccessKeysOfAll(AccessKeys):
    """The keys of everybody, for who may see those."""

    key = "access_key_of_all"
    labels = "All access keys"
    wire = replace(
        ACCESS_KEYS,
        path="administration/access-keys",
        viewset="gangline.programs.viewsets.AccessKeysOfAllViewSet",
        methods=frozenset({"list", "delete"}),
    )


class OwnApplicationsOfAll(AccessKeys):
    """The same keys at the address that they had before."""

    key = "user_application_of_all"
    labels = "All user applications"
    wire = replace(
        ACCESS_KEYS,
        path="administration/user-applications",
        envelope="",
        viewset="gangline.programs.viewsets.OwnApplicationsOfAllViewSet",
        methods=frozenset({"list", "delete"}),
    )


register(ServiceAccounts())
register(AccessKeys())
