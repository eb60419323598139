"""Logins at registries as clients know them at ``asset/registries``, and what these hold.

They are the credentials of type ``dockerRegistry``; only names and codes differ.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assets import trials
from assets.credentials.resources import CredentialsOfType
from assets.credentials.serializers import CredentialOfTypeSerializer, CredentialOfTypeViewSet
from assets.models import Credential
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.api.errors import Answer, TooMany, answers
from gangline.api.paging import BadQuery, known_only
from gangline.api.schema import errors
from gangline.drivers.trials.places import Outcome
from gangline.drivers.trials.registries import REPOSITORY
from gangline.lib.answers import error_body
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.resources.api import ExtraRoute

HIDDEN = "$encrypted$"
"""What clients are given for values that are never shown, and cannot give back."""
_KIND, _PASSWORD, _SEARCH, _NAME = "credentialKind", "password", "searchName", "repository"
_SPEC = ("url", _KIND, "user", _PASSWORD)
_PAUSE = 2.0


class Unreadable(Exception):
    """A registry does not tell what it holds; ``outcome`` says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


@answers(Unreadable)
def _unreadable(error: Unreadable) -> Answer:
    code = 404 if error.outcome.code == "no_repository" else 503
    return code, error_body(code, error.outcome.problem.told)


class RegistrySpecSerializer(serializers.Serializer[Any]):
    """A login. Answers hide user and password."""

    url = serializers.CharField()
    credentialKind = serializers.ChoiceField(  # noqa: N815  of the wire
        choices=[_PASSWORD], required=False
    )
    user = serializers.CharField()
    password = serializers.CharField()


class RegistrySerializer(CredentialOfTypeSerializer):
    """A registry of images, and a login there."""

    spec = RegistrySpecSerializer(required=False)  # type: ignore[assignment]

    def to_representation(self, obj: Credential) -> dict[str, Any]:
        found = super().to_representation(obj)
        hidden = {_KIND: _PASSWORD, "user": HIDDEN, "password": HIDDEN}
        spec = {"url": obj.shown.get("url", ""), **hidden}
        return {"meta": {**found["meta"], "kind": "registry"}, "spec": spec}


@extend_schema_serializer(component_name="Repositories")
class RepositoriesSerializer(serializers.Serializer[Any]):
    """Repositories of a registry."""

    repositories = serializers.ListField(child=serializers.CharField())


@extend_schema_serializer(component_name="RepositoryTags")
class TagsSerializer(serializers.Serializer[Any]):
    """Tags of a repository."""

    name = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())


class RegistryViewSet(CredentialOfTypeViewSet):
    """Those whose login is stored here: of another's Secret nothing is known to sign in with."""

    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("{id}/repositories", {"get": "repositories"}),
        ExtraRoute("{id}/repositories/tags", {"get": "tags"}),
    )

    def get_serializer_class(self) -> Any:
        return RegistrySerializer

    def base_rows(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().base_rows()
        return rows.filter(is_ours=True)

    def create(self, request: Request, **kwargs: Any) -> Response:
        return Response(super().create(request).data, status=201)

    def update(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        return Response(super().update(request, pk).data)

    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        super().destroy(request, pk)
        return Response(status=204)

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        spec = data.get("spec") if isinstance(data, Mapping) else None
        if isinstance(spec, Mapping):
            if strange := unknown_fields(spec, _SPEC, "spec"):
                raise Refused(strange)
            if spec.get(_KIND) not in (None, _PASSWORD):
                params = {"value": str(spec[_KIND])[:60], "accepted": _PASSWORD}
                raise Refused([Problem("options", f"spec.{_KIND}", params)])
            spec = {name: value for name, value in spec.items() if name != _KIND}
            data = {**data, "spec": spec}
        return super().read(data, obj, partial=partial)

    @extend_schema(
        operation_id="listRepositories",
        parameters=[OpenApiParameter(_SEARCH, OpenApiTypes.STR)],
        responses={200: RepositoriesSerializer, **errors(400, 403, 404, 503)},
    )
    def repositories(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """The repositories of a registry, as it tells them to this login."""
        known_only(request, frozenset({_SEARCH}))
        return Response({"repositories": self._listed(pk, "")})

    @extend_schema(
        operation_id="listRepositoryTags",
        parameters=[
            OpenApiParameter(_NAME, OpenApiTypes.STR, required=True),
            OpenApiParameter(_SEARCH, OpenApiTypes.STR),
        ],
        responses={200: TagsSerializer, **errors(400, 403, 404, 503)},
    )
    def tags(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """The tags of a repository."""
        known_only(request, frozenset({_NAME, _SEARCH}))
        name = request.query_params.get(_NAME, "")
        if len(name) > 255 or not REPOSITORY.fullmatch(name):
            raise BadQuery(f"{_NAME} must be the name of a repository such as team/image.")
        return Response({"name": name, "tags": self._listed(pk, name)})

    def _listed(self, pk: Any, name: str) -> list[str]:
        """Names as the registry has them; only for who could have a workload pull from there."""
        obj = self.object(pk)
        if not can(self.user, Permission.WORKLOAD_CREATE, obj.scope):
            raise NotAllowed(Permission.WORKLOAD_CREATE, obj.scope)
        outcome = trials.listed(self.actor, self.resource, obj, name)
        if outcome.code == "busy":
            raise TooMany(_PAUSE, outcome.problem.told)
        if outcome.code != "registry":
            raise Unreadable(outcome)
        search = self.request.query_params.get(_SEARCH, "").lower()
        return [one for one in outcome.names if search in one.lower()]


class Registries(CredentialsOfType):
    """Logins at registries, at the address that clients know."""

    def __init__(self) -> None:
        super().__init__("dockerRegistry")
        self.key = "registry"
        self.wire = replace(
            self.wire,
            path="asset/registries",
            serializer="assets.credentials.registry_api.RegistrySerializer",
            viewset="assets.credentials.registry_api.RegistryViewSet",
            created=201,
            edited=200,
            deleted=204,
        )

    @property
    def labels(self) -> str:
        return "Registries"
