"""What holds for new workloads of a scope, with who says so, and a workload tried on it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from gangline.access.actor import actor_of
from gangline.access.grants import can, visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.forms.fields import dom_id
from gangline.lib import yaml_text
from gangline.lib.texts import as_uuid
from gangline.policies.effective import SYSTEM, EffectivePolicy, effective_policy
from gangline.policies.engine import Request, Resolution, resolve
from gangline.policies.selectors import effective_for, layers
from gangline.policies.services import EDITABLE
from gangline.policies.written import effective_json
from gangline.scopes.models import Scope, ScopeKind
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Role
from gangline.spec.sources import from_json
from gangline.spec.workload import SPEC
from gangline.spec_forms.limits import TraceLine, explain, is_limited
from gangline.spec_forms.words import in_words
from workloads.models import Workload
from workloads.services import bodies

MOST_WORKLOADS = 20
_ORDER = {str(kind): place for place, kind in enumerate(EDITABLE)}


@dataclass(frozen=True, slots=True)
class Row:
    """One field of one half, or of both where they agree."""

    anchor: str
    path: str
    label: str
    whose: str
    sentences: tuple[str, ...]
    overridden: tuple[TraceLine, ...]
    is_limited: bool


@dataclass(frozen=True, slots=True)
class GivenLine:
    """A value that a policy gave, and whose it is."""

    label: str
    value: str
    source: str


@dataclass(frozen=True)
class Verdict:
    """What the policies say of a workload."""

    resolution: Resolution | None = None
    unreadable: str = ""

    @cached_property
    def given(self) -> list[GivenLine]:
        return list(self._given())

    def _given(self) -> Iterator[GivenLine]:
        for qualified, value in self.resolution.effective.items() if self.resolution else ():
            role, _, path = qualified.partition(".")
            field = catalogue(SPEC.worker if role == Role.WORKER else SPEC.master)[path]
            if value.source.is_policy and value.source.name != SYSTEM:
                words = in_words(field, value.value)
                label = field.label if role == Role.WORKER else f"{field.label} (master)"
                yield GivenLine(label, words, value.source.name)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, scope_id: int) -> HttpResponse:
    """The table, and for a project the answer to what was posted."""
    user = actor_of(request, "form").user
    scope = _scope(user, scope_id)
    policy = _policy(scope)
    only, search = bool(request.GET.get("restricted")), request.GET.get("q", "").strip()
    rows = [one for one in _rows(policy) if _fits(one, search, only=only)]
    context = {
        "scope": scope,
        "scopes": sorted(_scopes(user), key=lambda one: (_ORDER[one.kind], one.name)),
        "rows": rows,
        "restricted": only,
        "q": search,
        "may_try": scope.kind == ScopeKind.PROJECT,
        "workloads": _workloads(user, scope)[:MOST_WORKLOADS],
        "text": request.POST.get("text", ""),
        "chosen": request.POST.get("workload", ""),
    }
    if request.method == "POST" and context["may_try"]:
        context["verdict"] = _verdict(user, scope, policy, request.POST)
    return render(request, "policies/effective_page.html", context)


@login_required
@require_safe
def export(request: HttpRequest, scope_id: int) -> HttpResponse:
    """All of it as YAML, every rule with the scopes that say so."""
    scope = _scope(actor_of(request, "form").user, scope_id)
    text = yaml_text.write(effective_json(_policy(scope), lambda words: {"scope": words}))
    name = f'attachment; filename="effective-policy-{scope.pk}.yaml"'
    headers = {"Content-Disposition": name}
    return HttpResponse(text, content_type="application/yaml; charset=utf-8", headers=headers)


def _scopes(user: User) -> QuerySet[Scope]:
    rows = visible_scopes(user, Permission.POLICY_VIEW).filter(kind__in=EDITABLE)
    return rows.select_related("parent__parent__parent")


def _scope(user: User, scope_id: int) -> Scope:
    scope = _scopes(user).filter(pk=scope_id).first()
    if scope is None:
        raise Http404
    return scope


def _policy(scope: Scope) -> EffectivePolicy:
    """Of a project also what is said beside policies: node pools, scheduling rules."""
    if scope.kind == ScopeKind.PROJECT:
        return effective_for(scope.project)
    return effective_policy(layers(scope))


def _rows(policy: EffectivePolicy) -> Iterator[Row]:
    masters = catalogue(SPEC.master)
    for path in catalogue(SPEC.worker):
        worker = _row(policy, Role.WORKER, path)
        master = _row(policy, Role.MASTER, path) if path in masters else None
        if worker and master and worker.sentences == master.sentences:
            yield worker
            continue
        yield from (one for one in (worker, master) if one)


def _row(policy: EffectivePolicy, role: Role, path: str) -> Row | None:
    """None: only the product itself says anything."""
    rule = policy.rule(role, path)
    if all(one.scope == SYSTEM for one in rule.trace):
        return None
    field = catalogue(SPEC.worker if role is Role.WORKER else SPEC.master)[path]
    told = explain(field, rule, role)
    return Row(
        anchor=dom_id(f"{role}.{path}"),
        path=path,
        label=field.label,
        whose="" if role is Role.WORKER else "master",
        sentences=told.sentences,
        overridden=tuple(one for one in told.lines if not one.wins),
        is_limited=is_limited(rule),
    )


def _fits(row: Row, search: str, *, only: bool) -> bool:
    text = f"{row.path} {row.label}".lower()
    return search.lower() in text and (row.is_limited or not only)


def _workloads(user: User, scope: Scope) -> QuerySet[Workload]:
    """Recent ones of the project, which the person may see."""
    if scope.kind != ScopeKind.PROJECT or not can(user, Permission.WORKLOAD_VIEW, scope):
        return Workload.objects.none()
    return Workload.objects.filter(project__scope=scope).order_by("-created_at")


def _verdict(
    user: User, scope: Scope, policy: EffectivePolicy, posted: Mapping[str, Any]
) -> Verdict:
    """What is said of the workload that was chosen, or else of the text."""
    wanted = as_uuid(str(posted.get("workload", "")))
    workload = _workloads(user, scope).filter(pk=wanted).first() if wanted else None
    if workload is not None:
        asked = Request(
            framework=workload.framework,
            configuration=workload.configuration,
            master=workload.master,
            given=from_json(workload.given),
        )
        return Verdict(resolve(asked, policy))
    try:
        body = yaml_text.read(str(posted.get("text", "")), longest=yaml_text.LONGEST).data
    except yaml_text.UnreadableYaml as error:
        line = f"Line {error.line}: " if error.line else ""
        return Verdict(unreadable=f"{line}{error.message}")
    return Verdict(resolve(bodies.read(user, body), policy))
