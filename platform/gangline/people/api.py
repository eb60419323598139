"""The API of users, roles, access rules and oneself, where it differs from that of a resource."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import uuid4

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.access.grants import (
    custom_role,
    held_anywhere,
    held_permissions,
)
from gangline.access.models import AccessRule, CustomRole, Group
from gangline.access.permissions import Permission
from gangline.access.refusals import NotVisible
from gangline.access.roles import ROLES
from gangline.accounts import services as accounts
from gangline.accounts.models import User
from gangline.api import filtering
from gangline.api.each import on_each
from gangline.api.paging import MAX_LIMIT, BadQuery, flag, known_only, page_of, sorting
from gangline.api.schema import component, errors
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.lib.texts import whole
from gangline.resources import services as resources
from gangline.resources.api import LIST, ExtraRoute, ResourceViewSet
from gangline.scopes.models import ScopeKind

from . import services
from .selectors import all_roles
from .tables import described
from .wire import scope_of, wire_ids, wire_role, wire_rule


class UserViewSet(ResourceViewSet):
    """A new user gets a temporary password, which this answer alone shows."""

    extra_routes = (
        ExtraRoute("{id}/password", {"post": "password"}),
        ExtraRoute("{id}/logout", {"post": "logout"}),
    )
    extra_parameters = frozenset({"filter"})

    def base_rows(self) -> QuerySet[Any]:
        """For clients a deactivated user is deleted."""
        return super().base_rows().filter(is_active=True)

    def present(self, obj: User, saved: resources.Saved[Any] | None = None) -> dict[str, Any]:
        found = super().present(obj, saved)
        del found["tempPassword"]
        return found

    def sorts(self) -> dict[str, str]:
        return super().sorts() | {"type": "kind"}

    def create(self, request: Request, **kwargs: Any) -> Response:
        values, _ = self.read(request.data)
        is_temporary = bool(values.pop("reset_password", False))
        if values.pop("notify", False):
            raise Refused([Problem("unsupported:mail", "notify")])
        values |= {"username": values["email"], "password": make_password(None)}
        with transaction.atomic():
            saved = resources.create(self.resource, actor=self.actor, values=values)
            password = accounts.temporary_password(saved.obj, is_temporary=is_temporary)
        found = self.present(saved.obj, saved) | {"tempPassword": password}
        return Response(found, status=201, headers={"Cache-Control": "no-store"})

    @extend_schema(
        operation_id="resetUserPassword", request=None, responses={200: None, **errors(403, 404)}
    )
    def password(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        password = services.reset_password(self.object(pk), actor=self.actor)
        return Response({"tempPassword": password}, headers={"Cache-Control": "no-store"})

    @extend_schema(
        operation_id="logoutUser", request=None, responses={200: None, **errors(403, 404)}
    )
    def logout(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        services.sign_out(self.object(pk), actor=self.actor)
        return Response({})


ROLE_SORTS = ("id", "name", "createdAt", "updatedAt", "createdBy")


class RoleViewSet(ResourceViewSet):
    """The built-in roles, and those that were made here."""

    def list(self, request: Request, **kwargs: Any) -> Response:
        known_only(request, LIST)
        if self.resource.permission("view") not in held_anywhere(self.user):
            return Response([])
        filtering.conditions(request.query_params.getlist("filterBy"), {})
        column, descending = sorting(request, {name: name for name in ROLE_SORTS}, "id")
        page = page_of(request, default_limit=MAX_LIMIT)
        search = request.query_params.get("search", "").casefold()
        rows = {row.pk: row for row in self.base_rows()}
        found = [
            wire_role(role, rows.get(role.id))
            for role in all_roles()
            if search in role.label.casefold()
        ]
        found.sort(key=lambda one: one[column], reverse=descending)
        return Response(found[page.offset : page.offset + page.limit])

    def retrieve(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        built_in = next((role for role in ROLES.values() if role.id == pk), None)
        if built_in and self.resource.permission("view") in held_anywhere(self.user):
            return Response(wire_role(built_in, None))
        return super().retrieve(request, pk)

    def present(self, obj: CustomRole, saved: resources.Saved[Any] | None = None) -> dict[str, Any]:
        return wire_role(custom_role(obj), obj)

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        values, parts = super().read(data, obj, partial=partial)
        if "allows" in values:
            values["permissions"] = values.pop("allows")
        return values, parts


MOST_AT_ONCE = 500
_LIST = {"type": "array", "items": {"type": "object", "additionalProperties": True}}
_DELETION = component(
    "AccessRulesBatch",
    {
        "type": "object",
        "required": ["ids", "action"],
        "properties": {
            "ids": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_AT_ONCE},
            "action": {"type": "string", "enum": ["delete", "validate_delete"]},
        },
        "additionalProperties": False,
    },
)
_CREATION = component(
    "AccessRulesBatchCreate",
    {
        "type": "object",
        "required": ["payload"],
        "properties": {
            "payload": {
                "type": "object",
                "required": ["roleId", "subjects", "scopes"],
                "properties": {
                    "roleId": {"type": "integer"},
                    "clusterId": {"type": "string"},
                    "subjects": _LIST,
                    "scopes": _LIST,
                },
            }
        },
        "additionalProperties": False,
    },
)
_BATCH_RESULT = component(
    "AccessRulesBatchResult",
    {"type": "object", "properties": {"succeeded": {"type": "array"}, "failed": _LIST}},
)


class AccessRuleViewSet(ResourceViewSet):
    extra_routes: ClassVar[tuple[ExtraRoute, ...]] = (
        ExtraRoute("batch", {"post": "batch"}),
        ExtraRoute("batch-create", {"post": "batch_create"}),
    )

    @extend_schema(
        operation_id="batchAccessRules",
        request={"application/json": _DELETION},
        responses={200: _BATCH_RESULT, **errors(400)},
    )
    def batch(self, request: Request) -> Response:
        """Take many back; ``validate_delete`` says what would be refused, and takes none."""
        action, ids = _asked(request.data, ("action", "ids"))
        if action not in ("delete", "validate_delete"):
            accepted = {"accepted": "delete, validate_delete"}
            raise Refused([Problem("unknown:one_of", "action", accepted)])
        keys = list(dict.fromkeys(map(str, _listed(ids, "ids"))))

        def take_back(key: str) -> None:
            pk = whole(key)
            with transaction.atomic():
                rule = self.base_rows().filter(pk=pk).first() if pk is not None else None
                if rule is None:
                    raise NotVisible
                resources.delete(self.resource, actor=self.actor, obj=rule, version=None)
                transaction.set_rollback(action != "delete")

        done, refused = on_each(keys, take_back)
        return Response(
            {
                "id": uuid4(),
                "succeeded": [key for key, _ in done],
                "failed": [{"id": k, "code": code, "message": says} for k, code, says in refused],
            }
        )

    @extend_schema(
        operation_id="batchCreateAccessRules",
        request={"application/json": _CREATION},
        responses={200: _BATCH_RESULT, **errors(400)},
    )
    def batch_create(self, request: Request) -> Response:
        """Give a role to every subject in every scope."""
        (payload,) = _asked(request.data, ("payload",))
        role, subjects, scopes, cluster = _asked(
            payload, ("roleId", "subjects", "scopes", "clusterId"), "payload"
        )
        wanted = [
            {"roleId": role, "clusterId": cluster, **subject, **scope}
            for subject in _listed(subjects, "payload.subjects", dict)
            for scope in _listed(scopes, "payload.scopes", dict)
        ]
        if len(wanted) > MOST_AT_ONCE:
            accepted = {"accepted": f"at most {MOST_AT_ONCE} rules at once"}
            raise Refused([Problem("type", "payload", accepted)])

        def give(body: dict[str, Any]) -> dict[str, Any]:
            values, parts = self.read(body)
            with transaction.atomic():
                saved = resources.create(
                    self.resource, actor=self.actor, values=values, parts=parts
                )
                return self.present(saved.obj, saved)

        done, refused = on_each(wanted, give)
        return Response(
            {
                "succeeded": [rule for _, rule in done],
                "failed": [{"payload": b, "code": c, "message": says} for b, c, says in refused],
            }
        )

    extra_parameters = frozenset(
        {"subjectType", "subjectIdFilter", "subjectIds", "lastUpdated", "includeDeleted",
         "clusterId", "scopeType", "scopeId", "roleId"}
    )  # fmt: skip

    def list(self, request: Request, **kwargs: Any) -> Response:
        known_only(request, LIST | self.extra_parameters)
        column, descending = self._sorting(request)
        rows = self._narrowed(request, self.filtered(request))
        page = page_of(request)
        ordered = rows.order_by(f"-{column}" if descending else column, "pk")
        found = [*ordered[page.offset : page.offset + page.limit]]
        ids = wire_ids(rule.scope for rule in found)
        body = {
            "totalRecords": self.resource.visible(self.user).count(),
            "displayRecords": rows.count(),
            "accessRules": [wire_rule(rule, ids) for rule in found],
        }
        return Response(body)

    def count(self, request: Request, **kwargs: Any) -> Response:
        known_only(request, frozenset({"filterBy", "search", "includeDeleted"}))
        return Response({"count": self.filtered(request).count()})

    def present(self, obj: AccessRule, saved: resources.Saved[Any] | None = None) -> dict[str, Any]:
        row = self.base_rows().filter(pk=obj.pk).first()
        if row is None:
            row = described(AccessRule.objects.filter(pk=obj.pk)).get()
        return wire_rule(row, wire_ids([row.scope]))

    def sorts(self) -> dict[str, str]:
        return super().sorts() | {"scopeName": "scope__name", "id": "pk"}

    def _sorting(self, request: Request) -> tuple[str, bool]:
        return sorting(request, self.sorts(), "id")

    def _narrowed(self, request: Request, rows: QuerySet[Any]) -> QuerySet[Any]:
        """By the parameters that this list alone has."""
        query = request.query_params
        flag(request, "includeDeleted")  # There are none: a deleted rule leaves an audit entry.
        if kind := query.get("subjectType"):
            rows = rows.filter(subject_kind="service-account" if kind == "app" else kind)
        for name in ("subjectIdFilter", "subjectIds"):
            if given := query.get(name):
                rows = rows.filter(subject_name__in=given.split(",")[:100])
        if given := query.get("roleId"):
            rows = rows.filter(role_id=_whole(given, "roleId"))
        kind = query.get("scopeType", "")
        if kind:
            rows = rows.filter(scope__kind="tenant" if kind == "system" else kind)
        if given := query.get("scopeId"):
            scope = scope_of(kind, given) if kind else None
            if not kind:
                raise BadQuery("scopeId needs scopeType.")
            rows = rows.filter(scope=scope) if scope else rows.none()
        if given := query.get("clusterId"):
            scope = scope_of(ScopeKind.CLUSTER, given)
            rows = rows.filter(scope=scope) if scope else rows.none()
        return rows

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        given, parts = super().read(data, obj, partial=partial)
        return self._values(given), parts

    def _values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The subject, the role and the scope, as far as the caller can see them."""
        problems: list[Problem] = []
        values: dict[str, Any] = {}

        def unknown(path: str, value: Any, code: str, kind: str = "") -> None:
            problems.append(Problem(code, path, {"value": value, "kind": kind}))

        held = held_anywhere(self.user)
        if given["subject_type"] == "group":
            groups = Group.objects.filter(name=given["subject_id"])
            values["group"] = groups.first() if Permission.GROUP_VIEW in held else None
        else:
            kind = User.Kind.PERSON if given["subject_type"] == "user" else User.Kind.SERVICE
            users = User.objects.filter(username=given["subject_id"], kind=kind, is_active=True)
            values["user"] = users.first() if Permission.USER_VIEW in held else None
        if not any(values.values()):
            unknown("subjectId", given["subject_id"], "unknown:subject", given["subject_type"])
        role = next((role for role in all_roles() if role.id == given["role_id"]), None)
        if role is None:
            unknown("roleId", given["role_id"], "unknown:object", "role")
        scope = scope_of(given["scope_type"], given["scope_id"])
        if scope is None or not held_permissions(self.user, scope):
            unknown("scopeId", given["scope_id"], "unknown:object", given["scope_type"])
        elif given.get("cluster_id") not in (None, wire_ids([scope])[scope.pk][1]):
            unknown("clusterId", given["cluster_id"], "unknown:cluster")
        if problems or role is None:
            raise Refused(problems)
        return values | {"role": role.key, "scope": scope}


def _asked(body: Any, names: tuple[str, ...], at: str = "") -> tuple[Any, ...]:
    """The values of an object by their names, and None for what it has not; raises Refused."""
    if not isinstance(body, Mapping):
        raise Refused([Problem("type", at, {"accepted": "an object"})])
    if unknown := unknown_fields(body, names, at):
        raise Refused(unknown)
    return tuple(body.get(name) for name in names)


def _listed(given: Any, path: str, kind: type | None = None) -> list[Any]:
    """A list of some things, all of one kind; raises Refused."""
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_AT_ONCE:
        raise Refused([Problem("type", path, {"accepted": f"a list of 1 to {MOST_AT_ONCE}"})])
    if kind is not None and not all(isinstance(one, kind) for one in given):
        raise Refused([Problem("type", path, {"accepted": "a list of objects"})])
    return given


def _whole(text: str, name: str) -> int:
    found = whole(text)
    if found is None:
        raise BadQuery(f"{name} must be a whole number.")
    return found
