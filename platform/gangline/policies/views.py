"""The pages where administrators write policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from gangline.access.actor import actor_of
from gangline.access.grants import can, visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.organization.models import Scope
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Role
from gangline.spec.workload import SPEC
from gangline.web.confirm import Question, ask

from . import services
from .document import InvalidPolicy, PolicyProblem
from .effective import effective_policy
from .models import Policy
from .rules import FieldRule
from .selectors import layers

SAMPLE = """\
# Defaults fill what people leave empty; rules say what they may enter.
defaults:
  worker:
    compute: {cpuMemoryRequest: 256M}
rules:
  worker:
    numWorkers: {min: 1, max: 8}
    backoffLimit: {max: 3}
"""


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A line of the error summary."""

    text: str
    target: str = "policy-text"


@dataclass(frozen=True, slots=True)
class PolicyRow:
    scope: Scope
    policy: Policy | None
    above: str


@dataclass(frozen=True, slots=True)
class EffectiveRow:
    """What holds for one field, in words, with who set it."""

    role: str
    path: str
    label: str
    words: str
    source: str


@login_required
@require_safe
def policy_list(request: HttpRequest) -> HttpResponse:
    """Every scope that may have a policy, and the one it has."""
    scopes = _scopes(_user(request)).select_related("parent", "policy__updated_by")
    order = {kind: position for position, kind in enumerate(services.EDITABLE)}
    rows = [
        PolicyRow(scope, getattr(scope, "policy", None), scope.parent.label if scope.parent else "")
        for scope in sorted(scopes, key=lambda s: (order[s.kind], s.name))
    ]
    state = "ready" if rows else "empty"
    return render(request, "policies/list.html", {"rows": rows, "state": state})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def policy_edit(request: HttpRequest, scope_id: int) -> HttpResponse:
    """The text of one policy. POST with ``check`` only says what is wrong; without, it saves."""
    actor = actor_of(request, "form")
    scope = _scope(actor.user, scope_id)
    policy = Policy.objects.select_related("updated_by").filter(scope=scope).first()
    if request.method != "POST":
        text = policy.text if policy else SAMPLE
        return _page(request, scope, policy, text, is_new=policy is None)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    version = request.POST.get("version", "")
    try:
        if "check" in request.POST:
            services.check(scope=scope, text=text)
            return _page(request, scope, policy, text, fits=True, is_new=policy is None)
        known = int(version) if version.isascii() and version.isdigit() else 0
        services.save(actor=actor, scope=scope, text=text, version=known)
    except InvalidPolicy as refusal:
        return _page(request, scope, policy, text, refusal.problems, is_new=policy is None)
    except services.PolicyChanged as conflict:
        return _page(request, scope, conflict.policy, text, conflict=True)
    messages.success(request, f"The policy of {scope.label} holds from now on.")
    return redirect("policy-edit", scope_id=scope_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def policy_delete(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_of(request, "form")
    scope = _scope(actor.user, scope_id)
    policy = Policy.objects.filter(scope=scope).first()
    back = reverse("policy-edit", args=[scope_id])
    if policy is None:
        return redirect(back)
    if request.method != "POST":
        return ask(
            request,
            Question(
                title=f"Delete the policy of {scope.label}?",
                text="Its defaults and rules stop holding at once; what runs is not touched.",
                verb="Delete the policy",
                action=request.path,
                cancel_url=back,
                is_harmful=True,
                hidden={"version": str(policy.version)},
            ),
        )
    version = request.POST.get("version", "")
    try:
        services.delete(
            actor=actor, scope=scope, version=int(version) if version.isdecimal() else 0
        )
    except services.PolicyChanged:
        messages.error(request, "Somebody else changed this policy meanwhile. Look at it again.")
        return redirect(back)
    messages.success(request, f"The policy of {scope.label} is deleted.")
    return redirect("policy-list")


def _page(
    request: HttpRequest,
    scope: Scope,
    policy: Policy | None,
    text: str,
    problems: Sequence[PolicyProblem] = (),
    **more: Any,
) -> HttpResponse:
    user = _user(request)
    context = {
        "scope": scope,
        "policy": policy,
        "text": text,
        "version": policy.version if policy else 0,
        "policy_problems": problems,
        "summary": [SummaryLine(_sentence(problem)) for problem in problems],
        "bad_lines": {problem.line for problem in problems},
        "above": list(_effective_rows(scope.parent)) if scope.parent else [],
        "effective": list(_effective_rows(scope)),
        "may_manage": can(user, Permission.POLICY_MANAGE, scope),
        "lines": text.rstrip("\n").split("\n") if problems else [],
        "rows": min(max(text.count("\n") + 3, 12), 30),
        **more,
    }
    failed = bool(problems) or more.get("conflict")
    return render(request, "policies/edit.html", context, status=422 if failed else 200)


def _sentence(problem: PolicyProblem) -> str:
    text = str(problem)
    return text[:1].upper() + text[1:]


def _effective_rows(scope: Scope) -> list[EffectiveRow]:
    policy = effective_policy(layers(scope))
    found = []
    for role, model, rules in (
        (Role.WORKER, SPEC.worker, policy.worker),
        (Role.MASTER, SPEC.master, policy.master),
    ):
        for path, field in catalogue(model).items():
            for words, source in _words(rules[path]):
                found.append(EffectiveRow(role.value, path, field.ui.label, words, source))
    return found


def _words(rule: FieldRule) -> list[tuple[str, str]]:
    """Each rule that an administrator set, in words. The system's own defaults are not repeated."""
    found: list[tuple[str, str]] = []
    if rule.fixed:
        found.append((f"fixed to {rule.fixed.value}", rule.fixed.source))
    elif rule.default and rule.default.source != "system":
        value = rule.default.value
        shown = f"{len(value)} items" if isinstance(value, list | tuple) else value
        found.append((f"default {shown}", rule.default.source))
    if rule.minimum:
        found.append((f"at least {rule.minimum.value}", rule.minimum.source))
    if rule.maximum:
        found.append((f"at most {rule.maximum.value}", rule.maximum.source))
    found += [(f"in steps of {step.value}", step.source) for step in rule.steps]
    if rule.options:
        labels = ", ".join(option.label for option in rule.options.value)
        found.append((f"one of {labels}", rule.options.source))
    if rule.required:
        found.append(("required", rule.required.source))
    if rule.can_add:
        found.append(("nothing can be added", rule.can_add.source))
    found += [(f"{key} is locked", source) for key, source in rule.locked.items()]
    return found


def _scopes(user: User) -> Any:
    return visible_scopes(user, Permission.POLICY_VIEW).filter(kind__in=services.EDITABLE)


def _scope(user: User, scope_id: int) -> Scope:
    scope: Scope | None = (
        _scopes(user).select_related("parent__parent__parent").filter(pk=scope_id).first()
    )
    if scope is None:
        raise Http404
    return scope


def _user(request: HttpRequest) -> User:
    return actor_of(request, "form").user
