"""The API about oneself: what one may do where, one's own rules and password."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import actor_of
from gangline.access.grants import rules_of, visible_scopes
from gangline.access.models import AccessRule
from gangline.access.permissions import Permission
from gangline.accounts import services as accounts
from gangline.accounts.models import User
from gangline.api.paging import known_only, page_of
from gangline.api.schema import component, errors
from gangline.audit import actions
from gangline.audit.services import record
from gangline.lib.problems import Problem, Refused
from gangline.resources.services import problems_of

from .tables import described
from .wire import ACTIONS, RESOURCE_TYPES, wire_ids, wire_permissions, wire_rule

ME = component(
    "Me",
    {
        "type": "object",
        "required": ["id", "username", "email", "fullName", "kind"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            **{name: {"type": "string"} for name in ("username", "email", "fullName")},
            "kind": {"type": "string", "enum": User.Kind.values},
        },
    },
)


class Me(APIView):
    """The caller."""

    @extend_schema(operation_id="getMe", responses={200: ME, **errors()})
    def get(self, request: Request) -> Response:
        """Who the token or the session belongs to."""
        user = caller(request)
        return Response(
            {
                "id": user.uid,
                "username": user.username,
                "email": user.email,
                "fullName": user.get_full_name(),
                "kind": user.kind,
            }
        )


class Permissions(APIView):
    """What roles can allow."""

    @extend_schema(operation_id="listPermissions", responses={200: None, **errors()})
    def get(self, request: Request) -> Response:
        return Response(wire_permissions(Permission))


class PermittedScopes(APIView):
    """Where the caller may do something with a kind of thing."""

    @extend_schema(
        operation_id="permittedScopes", request=None, responses={200: None, **errors(400)}
    )
    def post(self, request: Request) -> Response:
        kinds = {kind: entity for kind, (entity, _) in RESOURCE_TYPES.items()}
        given = request.data if isinstance(request.data, dict) else {}
        entity = kinds.get(str(given.get("resourceType")))
        if entity is None:
            raise Refused(
                [Problem("unknown:one_of", "resourceType", {"accepted": ", ".join(kinds)})]
            )
        known = {(one.entity, ACTIONS.get(one.verb)): one for one in Permission}
        user = caller(request)
        return Response(
            {
                action: _places(user, known.get((entity, action)))
                for action in ("create", "read", "update", "delete")
            }
        )


def _places(user: User, permission: Permission | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "system": False,
        "tenants": [],
        "clusters": [],
        "departments": [],
        "projects": [],
    }
    if permission is None:
        return found
    scopes = list(visible_scopes(user, permission))
    ids = wire_ids(scopes)
    for scope in scopes:
        found[f"{scope.kind}s"].append(ids[scope.pk][0])
    return found


class OwnRules(APIView):
    """What the caller has, directly and by groups."""

    @extend_schema(operation_id="listOwnAccessRules", responses={200: None, **errors(400)})
    def get(self, request: Request) -> Response:
        known_only(request, frozenset({"limit", "offset", "search"}))
        rows = _own_rules(request)
        page = page_of(request)
        found = list(rows[page.offset : page.offset + page.limit])
        ids = wire_ids(rule.scope for rule in found)
        listed = {
            "totalRecords": _own_rules(request, is_searched=False).count(),
            "displayRecords": rows.count(),
            "accessRules": [wire_rule(rule, ids) for rule in found],
        }
        return Response({"accessRules": listed})


class OwnRulesCount(APIView):
    """How many those are."""

    @extend_schema(operation_id="countOwnAccessRules", responses={200: None, **errors(400)})
    def get(self, request: Request) -> Response:
        known_only(request, frozenset({"search"}))
        return Response({"count": _own_rules(request).count()})


def _own_rules(request: Request, *, is_searched: bool = True) -> QuerySet[AccessRule]:
    rows = described(rules_of(caller(request)))
    rows = rows.select_related("user", "group", "scope", "created_by")
    search = request.query_params.get("search", "")[:100]
    return (
        rows.filter(scope__name__icontains=search) if search and is_searched else rows
    ).order_by("pk")


class _Passwords(serializers.Serializer[Any]):
    currentPassword = serializers.CharField(max_length=256, trim_whitespace=False)  # noqa: N815
    newPassword = serializers.CharField(max_length=256, trim_whitespace=False)  # noqa: N815


class OwnPassword(APIView):
    """Another password for oneself; it takes the one of now."""

    @extend_schema(
        operation_id="changeOwnPassword",
        request=_Passwords,
        responses={200: None, **errors(400, 429)},
    )
    def post(self, request: Request) -> Response:
        given = _Passwords(data=request.data)
        if not given.is_valid():
            raise Refused(
                [
                    Problem("required", str(name), {"raw": str(text[0])})
                    for name, text in given.errors.items()
                ]
            )
        user, data = caller(request), given.validated_data
        if not accounts.is_password(request._request, user, data["currentPassword"]):
            raise Refused([Problem("wrong", "currentPassword")])
        try:
            accounts.check_password(data["newPassword"], user)
        except ValidationError as error:
            raise Refused(
                [Problem(one.code, "newPassword", one.params) for one in problems_of(error)]
            ) from None
        with transaction.atomic():
            accounts.set_password(user, data["newPassword"])
            record(
                actor=actor_of(request, "api"),
                action=actions.PASSWORD_CHANGE,
                object_type="user",
                object_id=str(user.uid),
                object_name=user.username,
            )
        return Response({})


def caller(request: Request) -> User:
    if not isinstance(request.user, User):
        raise Http404
    return request.user
