"""The settings and the audit log for programs, in the shapes that Run:ai's clients read."""

import csv
import io
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import acting
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.api import filtering
from gangline.api.paging import BadQuery, known_only, sorting, whole_number
from gangline.api.schema import errors
from gangline.audit import actions
from gangline.audit.models import AuditEntry
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.resources import api as _answers  # noqa: F401  registers how Refused is answered
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import installation
from gangline.settings.catalogue import Declared, declared, get
from gangline.settings.values import origin_of, value_of
from gangline.tables.export import plain

from . import services
from .resources import LOG, changes

TYPES: Mapping[type, str] = {bool: "Boolean", int: "Integer", str: "String"}
LONGEST = timedelta(days=30)
MOST_SAMPLES, SAMPLES = 1000, 20


# Settings


class SettingSerializer(serializers.Serializer):  # type: ignore[type-arg]
    key = serializers.CharField()
    value = serializers.CharField()
    type = serializers.ChoiceField(choices=list(TYPES.values()))
    category = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    description = serializers.CharField()
    stage = serializers.CharField()
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=["default", "saved", "environment"]
    )
    active = serializers.BooleanField()


class SettingBody(serializers.Serializer):  # type: ignore[type-arg]
    key = serializers.CharField()
    value = serializers.JSONField()


class SettingAnswer(serializers.Serializer):  # type: ignore[type-arg]
    msg = serializers.CharField()


class SettingsView(APIView):
    @extend_schema(
        operation_id="listSettings", responses={200: SettingSerializer(many=True), **errors(403)}
    )
    def get(self, request: Request) -> Response:
        """Every setting with its value; values are texts here."""
        services.need(acting(request), Permission.SETTING_VIEW)
        return Response([_setting(one) for one in declared()])

    @extend_schema(
        operation_id="updateSetting",
        request=SettingBody,
        responses={200: SettingAnswer, **errors(400, 403, 404, 415)},
    )
    def put(self, request: Request) -> Response:
        """Change one setting: its value by type, or as the text that the list has for it."""
        actor = acting(request)
        services.need(actor, Permission.SETTING_EDIT)
        body = request.data
        if not isinstance(body, Mapping) or not isinstance(body.get("key"), str):
            raise Refused([Problem("type", "key", {"accepted": "the key of a setting"})])
        if unknown := unknown_fields(body, ("key", "value")):
            raise Refused(unknown)
        setting = _known(body["key"])
        value = setting.from_text(body.get("value"))
        services.change(actor, [services.Wanted(setting, value)])
        return Response({"msg": f"{setting.key} was saved."})


class SettingView(APIView):
    @extend_schema(
        operation_id="getSetting",
        responses={200: OpenApiTypes.ANY, **errors(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """The value alone: true or false, a number or a text."""
        services.need(acting(request), Permission.SETTING_VIEW)
        return Response(value_of(_known(key)))


def _known(key: str) -> Declared[Any]:
    if (setting := get(key)) is None:
        raise Http404
    return setting


def _setting(one: Declared[Any]) -> dict[str, Any]:
    value = value_of(one)
    return {
        "key": one.key,
        "value": one.as_text(value),
        "type": TYPES[one.kind],
        "category": one.category,
        "label": one.label,
        "description": one.help,
        "stage": "GA",
        "source": origin_of(one).source,
        "active": True,
    }


# Audit log

_UPDATE, _SIGN_IN = "update", "sign-in"
_WIRE_VERBS = {
    "create": "create",
    "delete": "delete",
    "revoke": "delete",
    "sign_in": _SIGN_IN,
    "sign_in_failed": _SIGN_IN,
    "locked_out": _SIGN_IN,
    "sign_out": "sign-out",
    "reset_password": "reset-password",
}
"""What is not here is an update."""


def wire_action(action: str) -> str:
    return _WIRE_VERBS.get(action.partition(".")[2], _UPDATE)


def _acts(word: str) -> Q:
    return Q(action__in=[one for one in actions.known() if wire_action(one) == word])


def _results(word: str) -> Q:
    return Q(result="ok") if word == "Succeeded" else ~Q(result="ok")


def _subjects(word: str) -> Q:
    person = Q(actor__kind=User.Kind.PERSON)
    return ~person if word == "App" else person


def _in_cluster(name: str) -> Q:
    found = Q(pk__in=[])
    for n in range(3):
        path = "__".join(["scope", *["parent"] * n])
        found |= Q(**{f"{path}__kind": ScopeKind.CLUSTER, f"{path}__name": name})
    return found


FIELDS: Mapping[str, filtering.Filter] = {
    "timestamp": filtering.time("at"),
    "subject": filtering.Filter("actor_name"),
    "subject_type": filtering.Filter("actor", is_text=False, where=_subjects),
    "source_ip": filtering.Filter("address"),
    "action": filtering.Filter("action", is_text=False, where=_acts),
    "result": filtering.Filter("result", is_text=False, where=_results),
    "entity_type": filtering.Filter("object_type"),
    "entity_name": filtering.Filter("object_name"),
    "cluster_name": filtering.Filter("scope", is_text=False, where=_in_cluster),
}
SORTS = {
    "timestamp": "at",
    "subject": "actor_name",
    "source_ip": "address",
    "action": "action",
    "result": "result",
    "entity_type": "object_type",
    "entity_name": "object_name",
    "entity_id": "object_id",
}


class AuditLogSerializer(serializers.Serializer):  # type: ignore[type-arg]
    id = serializers.UUIDField()
    timestamp = serializers.DateTimeField()
    tenant_id = serializers.CharField()
    subject = serializers.CharField()
    subject_type = serializers.ChoiceField(choices=["User", "App"])
    source_ip = serializers.CharField(required=False)
    action = serializers.ChoiceField(choices=sorted({_UPDATE, *_WIRE_VERBS.values()}))
    entity_type = serializers.CharField()
    entity_name = serializers.CharField()
    entity_id = serializers.CharField()
    result = serializers.ChoiceField(choices=["Succeeded", "Failed"])
    cluster_name = serializers.CharField(required=False)
    request_id = serializers.CharField(required=False)
    metadata = serializers.DictField(child=serializers.CharField())


class AuditLogPage(serializers.Serializer):  # type: ignore[type-arg]
    total = serializers.IntegerField()
    next = serializers.IntegerField(required=False)
    audit_logs = AuditLogSerializer(many=True)


_RANGE = [
    OpenApiParameter("start", OpenApiTypes.DATETIME, required=True),
    OpenApiParameter("end", OpenApiTypes.DATETIME, required=True),
    OpenApiParameter("numberOfSamples", {"type": "integer", "minimum": 0, "maximum": MOST_SAMPLES}),
    OpenApiParameter("filterBy", OpenApiTypes.STR, description="Conditions joined by commas."),
]
_ORDER = [
    OpenApiParameter("offset", {"type": "integer", "minimum": 0, "maximum": 10_000}),
    OpenApiParameter("sortBy", OpenApiTypes.STR, enum=list(SORTS)),
    OpenApiParameter("sortOrder", OpenApiTypes.STR, enum=["asc", "desc"]),
]
_ASKED = frozenset({"start", "end", "numberOfSamples", "filterBy"})


class AuditLogView(APIView):
    @extend_schema(
        operation_id="listAuditLogs",
        parameters=[*_RANGE, *_ORDER],
        responses={200: AuditLogPage, **errors(400)},
    )
    def get(self, request: Request) -> Response:
        """Entries between two moments, at most 30 days apart; the newest first."""
        known_only(request, _ASKED | {"offset", "sortBy", "sortOrder"})
        rows = _entries(request)
        column, descending = sorting(request, SORTS, "-at")
        offset = whole_number(request.query_params.get("offset"), "offset", 0, 0, 10_000)
        size = _samples(request, SAMPLES)
        sign = "-" if descending else ""
        ordered = rows.order_by(f"{sign}{column}", f"{sign}pk")[offset : offset + size]
        tenant = str(installation().pk)
        total = rows.count()
        body: dict[str, Any] = {
            "total": total,
            "audit_logs": [_row(one, tenant) for one in ordered],
        }
        if offset + size < total and size:
            body["next"] = offset + size
        return Response(body)


class AuditLogFileView(APIView):
    @extend_schema(
        operation_id="downloadAuditLogs",
        parameters=[*_RANGE, OpenApiParameter("file_type", OpenApiTypes.STR, enum=["CSV", "JSON"])],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **errors(400)},
    )
    def get(self, request: Request) -> HttpResponse:
        """The same as a file of at most 1000 entries."""
        known_only(request, _ASKED | {"file_type", "fileType"})
        query = request.query_params
        kind = (query.get("file_type") or query.get("fileType") or "CSV").upper()
        if kind not in ("CSV", "JSON"):
            raise BadQuery("file_type must be CSV or JSON.")
        found = _entries(request).order_by("-at", "-pk")[: _samples(request, MOST_SAMPLES)]
        tenant = str(installation().pk)
        rows = [_row(one, tenant) for one in found]
        text = json.dumps(rows, default=str) if kind == "JSON" else _csv(rows)
        name = f"audit_log.{kind.lower()}"
        return HttpResponse(
            text,
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def _entries(request: Request) -> QuerySet[AuditEntry]:
    start, end = (_moment(request, name) for name in ("start", "end"))
    if not start <= end:
        raise BadQuery("start must not be after end.")
    if end - start > LONGEST:
        raise BadQuery("start and end can be at most 30 days apart.")
    if not isinstance(request.user, User):
        raise Http404
    conditions = filtering.conditions(request.query_params.getlist("filterBy"), FIELDS)
    rows = LOG.visible(request.user).filter(at__gte=start, at__lte=end)
    return rows.filter(conditions).select_related("actor", "scope__parent__parent__parent")


def _moment(request: Request, name: str) -> Any:
    text = request.query_params.get(name)
    if not text:
        raise BadQuery(f"{name} is required: a time such as 2026-03-02T09:15:04Z.")
    try:
        return filtering.moment(text)
    except filtering.NotAValue as error:
        raise BadQuery(f"{name} must be {error}, not {text[:60]!r}.") from error


def _samples(request: Request, usual: int) -> int:
    given = request.query_params.get("numberOfSamples")
    return whole_number(given, "numberOfSamples", usual, 0, MOST_SAMPLES)


def _row(entry: AuditEntry, tenant: str) -> dict[str, Any]:
    details = {one.field: f"{one.before} → {one.after}".strip(" →") for one in changes(entry)}
    given = {
        "source_ip": entry.address,
        "cluster_name": _cluster(entry.scope),
        "request_id": entry.request_id,
    }
    return {
        "id": str(UUID(int=entry.pk)),
        "timestamp": entry.at,
        "tenant_id": tenant,
        "subject": entry.actor_name,
        "subject_type": "User" if entry.actor and entry.actor.kind == User.Kind.PERSON else "App",
        "action": wire_action(entry.action),
        "entity_type": entry.object_type,
        "entity_name": entry.object_name,
        "entity_id": entry.object_id,
        "result": "Succeeded" if entry.result == "ok" else "Failed",
        "metadata": {**details, "operation": entry.action, "channel": entry.channel},
        **{name: value for name, value in given.items() if value},
    }


def _cluster(scope: Scope | None) -> str:
    while scope is not None and scope.kind != ScopeKind.CLUSTER:
        scope = scope.parent
    return scope.name if scope is not None else ""


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    names = list(AuditLogSerializer().fields)
    writer = csv.writer(out)
    writer.writerow(names)
    for row in rows:
        values = (row.get(name, "") for name in names)
        writer.writerow([plain(json.dumps(v) if isinstance(v, dict) else v) for v in values])
    return out.getvalue()
