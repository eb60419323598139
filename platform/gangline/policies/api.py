"""The policy API: one policy per scope for distributed training, addressed by that scope.

https://docs.run.ai describes the contract that clients know; what holds in a scope comes with it.
"""

from collections.abc import Mapping
from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import acting
from gangline.access.grants import visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.api.errors import Answer, answers
from gangline.api.paging import BadQuery, flag, known_only
from gangline.api.schema import component, errors, reference
from gangline.lib.answers import error_body
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.resources.api import if_match
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import scopes_to

from . import services, wording
from .document import InvalidPolicy
from .effective import SYSTEM, Layer, effective_policy
from .models import Policy
from .parser import parse
from .selectors import layers
from .validation import check_document
from .written import default_sources, document_json, effective_json, merged, text_of, without

IDS = {
    ScopeKind.CLUSTER: "clusterId",
    ScopeKind.DEPARTMENT: "departmentId",
    ScopeKind.PROJECT: "projectId",
}
_ADDRESS = frozenset({"scope", *IDS.values()})
_CHANGE = frozenset({"validateOnly", "approveClusterDeletion"})
LONGEST_NAME = 100
_META, _BODY = frozenset({"name", *_ADDRESS}), frozenset({"meta", "policy"})
Json = dict[str, Any]

_OBJECT = {"type": "object", "additionalProperties": True}
_HALVES = {"type": "object", "properties": {"worker": _OBJECT, "master": _OBJECT}}
_WHERE = {
    "scope": {"type": "string", "enum": ScopeKind.values},
    "clusterId": {"type": "string", "format": "uuid"},
    "departmentId": {"type": "string"},
    "projectId": {"type": "integer"},
}
component(
    "PolicyDocument",
    {
        "type": "object",
        "description": "Defaults, rules and imposed data sources, by the names of the spec.",
        "properties": {
            "defaults": _HALVES,
            "rules": _HALVES,
            "imposedAssets": {
                "type": "object",
                "properties": {
                    role: {"type": "array", "items": {"type": "string", "format": "uuid"}}
                    for role in ("worker", "master")
                },
            },
        },
    },
)
_META_SCHEMA = component(
    "PolicyMeta",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "name": {"type": "string"},
            **_WHERE,
            "version": {"type": "integer"},
            **{name: {"type": "string"} for name in ("createdBy", "updatedBy")},
            **{
                name: {"type": "string", "format": "date-time"}
                for name in ("createdAt", "updatedAt")
            },
        },
    },
)
_DOCUMENT = reference("PolicyDocument")
_ANSWER = component(
    "DistributedPolicy",
    {
        "type": "object",
        "required": ["effective"],
        "properties": {
            "meta": _META_SCHEMA,
            "policy": _DOCUMENT,
            "effective": {
                **_OBJECT,
                "description": (
                    "The rules in effect here. Every rule has `sourceOfRule`, the nearest scope "
                    "that sets it, and `sources`, those of each of its kinds."
                ),
            },
            "defaultSources": {
                **_HALVES,
                "description": (
                    "The scopes that set the defaults in effect here, by the paths of the fields. "
                    "`system` is Gangline's own default."
                ),
            },
            "effectiveUpdatedAt": {"type": "string", "format": "date-time"},
            "warnings": {"type": "array", "items": {"type": "string"}},
        },
    },
)
_REQUEST = component(
    "DistributedPolicyRequest",
    {
        "type": "object",
        "required": ["meta"],
        "properties": {
            "meta": {
                "type": "object",
                "required": ["scope"],
                "properties": {
                    "name": {"type": "string", "maxLength": LONGEST_NAME},
                    **_WHERE,
                },
            },
            "policy": _DOCUMENT,
        },
    },
)
_LIST = component(
    "PolicyList",
    {
        "type": "object",
        "required": ["policies"],
        "properties": {
            "policies": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["distributed"]},
                        "meta": _META_SCHEMA,
                        "status": _OBJECT,
                    },
                },
            }
        },
    },
)
_PARAMETERS = [
    OpenApiParameter("scope", OpenApiTypes.STR, enum=ScopeKind.values, required=True),
    *(OpenApiParameter(name, OpenApiTypes.STR) for name in IDS.values()),
]
_FILTERS = [
    OpenApiParameter("scope", OpenApiTypes.STR, enum=ScopeKind.values),
    OpenApiParameter("workloadType", OpenApiTypes.STR),
    *(OpenApiParameter(name, OpenApiTypes.STR) for name in IDS.values()),
]
_VALIDATE = OpenApiParameter(
    "validateOnly",
    OpenApiTypes.BOOL,
    description=("Answer as if it were stored, without storing it."),
)


class PolicyList(APIView):
    @extend_schema(
        operation_id="listPolicies", parameters=_FILTERS, responses={200: _LIST, **errors(400)}
    )
    def get(self, request: Request) -> Response:
        """The policies of the scopes that one may see."""
        known_only(request, _ADDRESS | {"workloadType", "includeFallbackPolicies"})
        kind = request.query_params.get("workloadType", "Distributed")
        if kind.lower() != "distributed":
            return Response({"policies": []})
        scopes = _visible(acting(request).user)
        if _ADDRESS & set(request.query_params):
            scopes = [s for s in scopes if _is_meant(s, request.query_params)]
        stored = Policy.objects.filter(scope__in=scopes).select_related("created_by", "updated_by")
        by_scope = {policy.scope_id: policy for policy in stored}
        return Response(
            {
                "policies": [
                    {
                        "type": "distributed",
                        "meta": _meta(policy, scope),
                        "status": {"clusters": [], **_validation(scope, policy)},
                    }
                    for scope in scopes
                    if (policy := by_scope.get(scope.pk))
                ]
            }
        )


class DistributedPolicy(APIView):
    @extend_schema(
        operation_id="getDistributedPolicy",
        parameters=_PARAMETERS,
        responses={200: _ANSWER, **errors(400, 404)},
    )
    def get(self, request: Request) -> Response:
        """The policy of a scope, and what holds there. 404: neither it nor one above has any."""
        known_only(request, _ADDRESS)
        scope = _scope(acting(request).user, request.query_params)
        chain = Policy.objects.filter(scope__in=scopes_to(scope))
        if not chain.exists():
            raise Http404
        policy = next((one for one in chain if one.scope_id == scope.pk), None)
        return _answered(scope, policy, layers(scope))

    @extend_schema(
        operation_id="putDistributedPolicy",
        request={"application/json": _REQUEST},
        parameters=[_VALIDATE],
        responses={200: _ANSWER, **errors(400, 403, 404, 412, 415)},
    )
    def put(self, request: Request) -> Response:
        """Make the policy of a scope, or put another in its place."""
        return self._write(request, is_whole=True)

    @extend_schema(
        operation_id="patchDistributedPolicy",
        request={"application/json": _REQUEST},
        parameters=[_VALIDATE],
        responses={200: _ANSWER, **errors(400, 403, 404, 412, 415)},
    )
    def patch(self, request: Request) -> Response:
        """Change parts of it; paths in `reset` lose their default and rule first."""
        return self._write(request, is_whole=False)

    @extend_schema(
        operation_id="deleteDistributedPolicy",
        parameters=_PARAMETERS,
        responses={204: None, **errors(400, 403, 404, 412)},
    )
    def delete(self, request: Request) -> Response:
        """Its defaults and rules stop applying immediately. Running workloads are not affected."""
        known_only(request, _ADDRESS | _CHANGE)
        actor = acting(request)
        scope = _scope(actor.user, request.query_params)
        services.authorise(actor, Permission.POLICY_DELETE, scope)
        policy = Policy.objects.filter(scope=scope).first()
        if policy is None:
            raise Http404
        version = if_match(request)
        services.delete(
            actor=actor, scope=scope, version=policy.version if version is None else version
        )
        return Response(None, status=204)

    def _write(self, request: Request, *, is_whole: bool) -> Response:
        known_only(request, _CHANGE)
        actor = acting(request)
        body = _object("", request.data, _BODY if is_whole else _BODY | {"reset"})
        meta = _object("meta", body.get("meta"), _META)
        scope = _scope(actor.user, meta, "meta.")
        before = Policy.objects.filter(scope=scope).first()
        needed = Permission.POLICY_EDIT if before else Permission.POLICY_CREATE
        services.authorise(actor, needed, scope)
        given = _object("policy", {} if body.get("policy") is None else body["policy"], None)
        if not is_whole and before is not None:
            stored = document_json(parse(before.text))
            for path in _paths(body.get("reset")):
                stored = without(stored, path)
            given = merged(stored, given)
        text, name = text_of(given), _name(meta, before)
        try:
            if flag(request, "validateOnly"):
                warnings = services.check(scope=scope, text=text)
                own = Layer(scope.kind, scope.name, parse(text))
                above = layers(scope.parent) if scope.parent else []
                return _answered(scope, before, [*above, own], text, warnings)
            warnings = services.check(scope=scope, text=text)
            saved = services.save(
                actor=actor, scope=scope, text=text, name=name, version=if_match(request)
            )
        except InvalidPolicy as refusal:
            raise Refused([_of_body(one) for one in refusal.problems]) from refusal
        return _answered(scope, saved, layers(scope), warnings=warnings)


def _answered(
    scope: Scope,
    policy: Policy | None,
    holding: list[Layer],
    text: str = "",
    warnings: list[Problem] | None = None,
) -> Response:
    """``text``: of a policy that is not stored."""
    text = text or (policy.text if policy else "")
    chain = scopes_to(scope)
    stored = Policy.objects.filter(scope__in=chain).values_list("updated_at", flat=True)
    sources = {
        layer.source: _where(one)
        for layer in holding
        for one in chain
        if (one.kind, one.name) == (layer.kind, layer.name)
    } | {SYSTEM: {"scope": SYSTEM}}
    effective = effective_policy(holding)

    def source_of(words: str) -> Json:
        return dict(sources[words])

    body: Json = {
        "effective": effective_json(effective, source_of),
        "defaultSources": default_sources(effective, source_of),
    }
    body |= {"meta": _meta(policy, scope)} if policy else {}
    body |= {"policy": document_json(parse(text))} if text else {}
    body |= {"effectiveUpdatedAt": max(stored)} if stored else {}
    body |= {"warnings": [wording.sentence(_of_body(one)) for one in warnings]} if warnings else {}
    return Response(body, headers={"ETag": f'"{policy.version}"'} if policy else {})


def _meta(policy: Policy, scope: Scope) -> Json:
    return {
        "id": str(policy.pk),
        "name": policy.name or scope.title,
        **_where(scope),
        "version": policy.version,
        "createdBy": policy.created_by.username if policy.created_by else SYSTEM,
        "createdAt": policy.created_at,
        "updatedBy": policy.updated_by.username if policy.updated_by else SYSTEM,
        "updatedAt": policy.updated_at,
    }


def _where(scope: Scope) -> Json:
    """A scope as ``sourceOfRule`` and ``meta`` name it."""
    kind = ScopeKind(scope.kind)
    if kind not in IDS:
        return {"scope": str(kind)}
    key = getattr(scope, kind).pk
    return {"scope": str(kind), IDS[kind]: key if kind is ScopeKind.PROJECT else str(key)}


def _validation(scope: Scope, policy: Policy) -> Json:
    """What those above have come to forbid since it was saved."""
    above = layers(scope.parent) if scope.parent else []
    found = check_document(parse(policy.text), above, kind=scope.kind)
    wrong = [one for one in found if one.severity == "error"]
    if not wrong:
        return {}
    return {"validation": {"errorMessage": " ".join(map(wording.sentence, wrong))}}


def _visible(user: User) -> list[Scope]:
    rows = visible_scopes(user, Permission.POLICY_VIEW).filter(kind__in=services.EDITABLE)
    return list(
        rows.select_related("parent__parent__parent", *map(str, IDS)).order_by("kind", "name")
    )


def _is_meant(scope: Scope, given: Mapping[str, Any]) -> bool:
    where = _where(scope)
    if _kind(given) not in ("", scope.kind):
        return False
    return all(str(where.get(name)) == str(given[name]) for name in IDS.values() if name in given)


def _kind(given: Mapping[str, Any]) -> str:
    """The kind of scope; clients may send an enumeration's Python name: ScopeType.CLUSTER."""
    return str(given.get("scope", "")).rpartition(".")[2].lower()


def _scope(user: User, given: Mapping[str, Any], prefix: str = "") -> Scope:
    """The scope of an address; what one may not see is as unknown as what is not there."""
    kind = _kind(given)
    if kind not in ScopeKind.values:
        if not prefix:
            raise BadQuery(f"scope must be one of {', '.join(ScopeKind.values)}.")
        accepted = f"one of {', '.join(ScopeKind.values)}"
        raise Refused([Problem("options", f"{prefix}scope", {"accepted": accepted})])
    needed = IDS.get(ScopeKind(kind))
    if needed and given.get(needed) in (None, ""):
        if not prefix:
            raise BadQuery(f"{needed} is required for the scope {kind}.")
        raise Refused([Problem("required:by", f"{prefix}{needed}", {"by": f"the scope {kind}"})])
    address = {"scope": kind, **({needed: given[needed]} if needed else {})}
    found = next((one for one in _visible(user) if _is_meant(one, address)), None)
    if found is None:
        raise Http404
    return found


def _object(path: str, value: Any, known: frozenset[str] | None) -> Json:
    if not isinstance(value, dict):
        raise Refused([Problem("type", path, {"accepted": "an object"})])
    if known is not None and (strange := unknown_fields(value, sorted(known), path)):
        raise Refused(strange)
    return value


def _paths(value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        accepted = "a list of paths such as worker.numWorkers"
        raise Refused([Problem("type", "reset", {"accepted": accepted})])
    return value


def _name(meta: Mapping[str, Any], before: Policy | None) -> str:
    name = meta.get("name")
    if name is None:
        return before.name if before else ""
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not name.isprintable():
        accepted = f"text of at most {LONGEST_NAME} characters"
        raise Refused([Problem("type", "meta.name", {"accepted": accepted})])
    return name


def _of_body(problem: Problem) -> Problem:
    """A problem of the text as one of the body, which has no lines."""
    return problem.at(path=f"policy.{problem.path}" if problem.path else "policy")


@answers(services.PolicyChanged)
def _changed(error: services.PolicyChanged) -> Answer:
    return 412, error_body(412, "It has changed since you read it.")
