"""Identity providers as a resource."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html

from gangline.access.actor import Actor
from gangline.access.models import Group
from gangline.access.services import an_administrator_stays
from gangline.accounts.services import rights_changed
from gangline.audit import actions
from gangline.clusters import trial_views, trials
from gangline.db.clock import db_now
from gangline.db.sealed import key_file
from gangline.lib.problems import Problem, Refused
from gangline.lib.sealing import CannotSeal
from gangline.people.resources import TenantWide
from gangline.resources.registry import register
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.tables import filters
from gangline.web import components

from .models import IdentityProvider
from .views import redirect_uri

SECRET = "client_secret"  # noqa: S105
"""The part that is written and never read."""


class IdentityProviders(TenantWide[IdentityProvider]):
    model = IdentityProvider
    key = "identity_provider"
    path = "identity-providers"
    lookup = "alias"
    seen_from_anywhere = False
    lede = "Let people sign in with their company account, through OpenID Connect."
    empty_text = (
        "With an identity provider, people sign in with their company account and bring their "
        "groups."
    )
    delete_text = (
        "People can no longer sign in with it. Users are kept; those without a password need a "
        "sign-in link. The groups it provided and their access rules are deleted."
    )
    confirm_by_name = True
    form = "gangline.identity.forms.IdentityProviderForm"
    nav = Nav(group="Access", icon="link", order=60)
    table = table(
        "identity_providers",
        name_column("identity_provider", "Name"),
        column("issuer", "Issuer", width="l"),
        column("state", "State"),
        time_column("created", "Created", "created_at", sort="created_at"),
        noun=("identity provider", "identity providers"),
        filters=(
            filters.dates("created", "Created", "created_at", wire="createdAt"),
            filters.for_clients("name", "name"),
        ),
    )
    wire = Wire(
        path="idps",
        serializer="gangline.identity.serializers.IdentityProviderSerializer",
        viewset="gangline.identity.serializers.IdentityProviderViewSet",
        is_paged=False,
        methods=frozenset({"list", "create", "get", "put", "patch", "delete"}),
        lookup="alias",
    )
    pages = MappingProxyType({trials.TEST: "gangline.identity.trials.TestView"})

    @property
    def panels(self) -> Any:  # type: ignore[override]
        return (trial_views.panel_of(self, lambda provider: True),)

    def facts_of(self, request: HttpRequest, obj: IdentityProvider) -> Iterator[tuple[str, Any]]:
        yield "State", obj.state
        yield "Redirect address", format_html("<code>{}</code>", redirect_uri(request, obj))
        yield "Issuer", format_html("<code>{}</code>", obj.issuer)
        yield "Client ID", format_html("<code>{}</code>", obj.client_id)
        yield (
            "Client secret",
            (
                format_html("stored, set {}", components.time_ago(obj.secret_at))
                if obj.secret_at
                else "none: a public client"
            ),
        )
        yield "Scopes", obj.scopes
        yield (
            "Who may sign in",
            ("Everyone with an account at the provider" if obj.makes_users else "Invited people"),
        )
        yield "User name", format_html("<code>{}</code>", obj.username_claim)
        yield "Email", format_html("<code>{}</code>", obj.email_claim)
        yield "Full name", format_html("<code>{}</code>", obj.name_claim)
        yield "Groups", format_html("<code>{}</code>", obj.groups_claim or "not used")
        yield "People", obj.identities.count()

    def snapshot(self, obj: IdentityProvider) -> dict[str, Any]:
        return super().snapshot(obj) | {"secret_at": str(obj.secret_at or "")}

    def check(
        self, obj: IdentityProvider, *, actor: Actor | None, before: IdentityProvider | None
    ) -> None:
        if before is not None and (before.issuer, before.alias) != (obj.issuer, obj.alias):
            name = "issuer" if before.issuer != obj.issuer else "alias"
            raise Refused([Problem("fixed", name)])

    def save_parts(
        self, obj: IdentityProvider, parts: Mapping[str, Any], *, actor: Actor | None
    ) -> None:
        if SECRET not in parts and obj.sealed:
            return
        given = parts.get(SECRET) or ""
        try:
            obj.sealed = key_file().keyring().seal(obj.context, given)
        except CannotSeal as why:
            raise Refused([Problem("sealed", SECRET, {"raw": str(why)})]) from None
        obj.secret_at = db_now() if given else None
        obj.save(update_fields=["sealed", "secret_at"])

    def delete(self, obj: IdentityProvider, *, actor: Actor | None) -> None:
        groups = Group.objects.filter(provided__provider=obj)
        with an_administrator_stays():
            people = list(groups.values_list("members", flat=True))
            groups.delete()
            obj.delete()
            rights_changed(*{pk for pk in people if pk})


resource: Resource[IdentityProvider] = IdentityProviders()
register(resource)
trials.register(resource)
actions.register(resource.key, ("connect",), "identity provider")
