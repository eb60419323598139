"""Credentials as resources: those of scopes, and one's own."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join

from assets.credentials import copies, store
from assets.credentials.types import EXISTING, TYPES, ExistingSecret
from assets.models import Credential, PersonalCredential
from assets.scopes import scope_choices
from assets.trial_views import panel_of
from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.clusters import trials
from gangline.clusters.models import Cluster
from gangline.lib.problems import Problem, Refused
from gangline.lib.sealing import CannotSeal
from gangline.resources.registry import register
from gangline.resources.resource import Action, M, Nav, Panel, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.scopes.selectors import scopes_to
from gangline.spec.environment import object_name_problem
from gangline.tables import filters
from gangline.web import components

OF_ALL_TYPES = Wire(
    path="asset/credentials",
    envelope="entries",
    serializer="assets.credentials.serializers.CredentialSerializer",
    viewset="assets.credentials.serializers.CredentialViewSet",
    created=202,
    edited=202,
    deleted=202,
    in_use=412,
)


class CredentialResource(Resource[M]):
    """What both have: values that are sealed, a type, a Secret on clusters."""

    secret = frozenset({"values"})
    can_copy = True
    form_template = "assets/credential_form.html"
    pages = MappingProxyType(
        {
            "values": "assets.credentials.views.RotateView",
            trials.TEST: "assets.trial_views.TestView",
        }
    )
    delete_text = (
        "Its copies on clusters are deleted too. A Secret that is managed elsewhere is kept."
    )

    @property
    def actions(self) -> tuple[Action, ...]:  # type: ignore[override]
        url = partial(self.url, page="values")
        is_ours = attrgetter("is_ours")
        return (Action(label="Replace values", icon="refresh", url=url, when=is_ours),)

    @property
    def panels(self) -> tuple[Panel, ...]:  # type: ignore[override]
        context = copies.panel
        copied = Panel(title="On clusters", template="assets/copies.html", context=context)
        return (panel_of(self), copied)

    def check(self, obj: Any, *, actor: Actor | None, before: Any) -> None:
        for name in ("scope_id", "kind", "owner_id") if before is not None else ():
            if getattr(before, name) != getattr(obj, name):
                path = name.removesuffix("_id")
                raise ValidationError({path: ValidationError("cannot be changed.", "fixed")})
        if obj.kind not in TYPES:
            raise ValidationError({"kind": ValidationError("is not a type.", "choice")})
        if before is None:
            obj.object_name = obj.new_object_name()
        if obj.given is None and before is not None:
            return
        values = store.read(obj.type, obj.given or {})
        existing = values.existing_secret_name if isinstance(values, ExistingSecret) else ""
        if before is None and existing:
            self._check_place(obj)
        if before is not None and existing != ("" if before.is_ours else before.object_name):
            raise Refused([Problem("fixed:secret", EXISTING)])
        try:
            store.keep(obj, values)
        except CannotSeal as why:
            raise Refused([Problem("sealing", "", {"said": str(why)})]) from why
        if before is not None and obj.is_ours:
            obj.rotations = before.rotations + 1

    def _check_place(self, obj: Any) -> None:
        """Only Kubernetes has Secrets of others; above all clusters, those that have them count."""
        line = [scope.pk for scope in scopes_to(obj.scope)]
        cluster = Cluster.objects.filter(scope__in=line).first()
        if cluster is not None and not cluster.engine.keeps_secrets:
            raise Refused([Problem("existing:engine", EXISTING, {"cluster": cluster.name})])

    def snapshot(self, obj: Any) -> dict[str, Any]:
        own = ("name", "description", "kind", "object_name", "is_ours")
        found = {name: getattr(obj, name) for name in own}
        return found | {"scope": obj.scope_id, **obj.shown, "values": obj.sealed}

    def saved(self, obj: Any, *, actor: Actor | None, changes: Mapping[str, Any]) -> None:
        if "values" in changes or not (changes or obj.is_ours):
            copies.keep(obj)

    def delete(self, obj: Any, *, actor: Actor | None) -> None:
        copies.remove(obj)
        obj.delete()

    def facts_of(self, request: HttpRequest, obj: Any) -> Iterable[tuple[str, Any]]:
        yield "Type", obj.get_kind_display()
        if obj.owner_id is None:
            yield "Scope", obj.scope.title
        yield "Kubernetes name", format_html("<code>{}</code>", obj.object_name)
        if url := obj.shown.get("url"):
            yield "Registry", url
        if obj.keys:
            yield "Keys", format_html_join(", ", "<code>{}</code>", ((key,) for key in obj.keys))
        set_at = format_html("Set {}", components.time_ago(obj.rotated_at))
        yield "Values", set_at if obj.is_ours else "In the Secret, managed elsewhere"


def _columns(key: str) -> tuple[Any, ...]:
    return (
        name_column(key, "Credential"),
        column("kind", "Type", "type.label", sort="kind", width="m"),
    )


_TAIL = (
    column("object_name", "Kubernetes name", width="l"),
    time_column("rotated", "Values set", "rotated_at"),
)
_CREATED = time_column("created", "Created", "created_at", sort="created_at")
_FILTERS = (
    filters.choice(
        "kind", "Type", "kind", choices=[(t.key, t.label) for t in TYPES.values()], wire="kind"
    ),
    filters.dates("created", "Created", "created_at", wire="createdAt"),
    filters.for_clients("name", "name"),
)


class Credentials(CredentialResource[Credential]):
    model = Credential
    key = "credential"
    path = "credentials"
    related = ("scope__parent__parent__parent", "created_by", "updated_by")
    seen_from_below = True
    lede = "Logins, keys and tokens that workloads use by name. Values are never shown again."
    empty_text = "With a credential, a workload can pull a private image or read a token."
    form = "assets.credentials.forms.CredentialForm"
    nav = Nav(group="Assets", icon="key", order=60)
    links = (("My credentials", "personal_credential-list", "key"),)
    table = table(
        "credentials",
        *_columns("credential"),
        column("scope", "Scope", cell=lambda row: row.scope.title, sort="scope_name"),
        *_TAIL,
        column("creator", "Created by", "created_by", width="m"),
        _CREATED,
        noun=("credential", "credentials"),
        search=("name", "description", "object_name"),
        filters=(filters.choice("scope", "Scope", "scope_id"), *_FILTERS),
    )
    wire = OF_ALL_TYPES

    def visible(self, user: User) -> QuerySet[Credential]:
        return super().visible(user).filter(owner=None)

    def rows(self, user: User) -> QuerySet[Credential]:
        return super().rows(user).annotate(scope_name=F("scope__name"))

    def choices(self, user: User) -> Any:
        return {"scope": scope_choices(self.visible(user))}


class PersonalCredentials(CredentialResource[PersonalCredential]):
    model = PersonalCredential
    key = "personal_credential"
    path = "my-credentials"
    scope_path = ""
    own_path = "owner"
    related = ("scope", "created_by", "updated_by")
    lede = "Only you see them, and only your workloads can use them."
    empty_text = (
        "Store your own tokens for variables of your workloads, and logins to pull their images. "
        "Git and buckets need a credential of the project."
    )
    form = "assets.credentials.forms.PersonalCredentialForm"
    nav = Nav(group="Settings", icon="key", order=15)
    table = table(
        "personal_credentials",
        *_columns("personal_credential"),
        *_TAIL[1:],
        _CREATED,
        noun=("credential", "credentials"),
        filters=_FILTERS,
    )
    wire = replace(
        OF_ALL_TYPES,
        path="user-credentials",
        serializer="assets.credentials.serializers.PersonalCredentialSerializer",
        viewset="assets.credentials.serializers.PersonalCredentialViewSet",
    )

    @property
    def labels(self) -> str:
        return "My credentials"

    @property
    def label(self) -> str:
        return "Credential"

    @property
    def empty_title(self) -> str:
        return "No credentials of your own yet"

    def check(self, obj: Any, *, actor: Actor | None, before: Any) -> None:
        if (problem := object_name_problem(obj.name)) is not None:
            raise ValidationError({"name": ValidationError(f"It {problem}.", "format")})
        if (obj.given or {}).get(EXISTING):
            raise Refused([Problem("existing:personal", EXISTING)])
        super().check(obj, actor=actor, before=before)


class CredentialsOfType(Credentials):
    """The credentials of one type, at the address that clients know."""

    entity = "credential"

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.of_type = TYPES[kind]
        self.key = f"{kind}_credential"
        self.wire = replace(
            OF_ALL_TYPES,
            path=f"asset/credentials/{self.of_type.path}",
            serializer="assets.credentials.serializers.CredentialOfTypeSerializer",
            viewset="assets.credentials.serializers.CredentialOfTypeViewSet",
            deleted=self.of_type.deleted,
        )

    @property
    def labels(self) -> str:
        return f"{self.of_type.label.replace(' & ', ' and ')} credentials"


for _resource in (Credentials(), PersonalCredentials()):
    register(_resource)
    trials.register(_resource)
