"""The pages where administrators write policies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import capfirst
from django.views.decorators.http import require_http_methods, require_safe

from gangline.access.actor import actor_of
from gangline.access.grants import held_permissions, visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.lib.problems import Problem
from gangline.lib.texts import whole
from gangline.scopes.models import Scope
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.problems import Role
from gangline.spec.words import with_unit
from gangline.spec.workload import SPEC
from gangline.web.confirm import Question, ask

from . import services
from .document import InvalidPolicy, rules_of
from .effective import SYSTEM, Layer, effective_policy
from .imposed_assets import imposable
from .models import Policy
from .rules import FieldRule
from .selectors import layers
from .wording import line_of, sentence

SAMPLE = """\
# Defaults fill fields that are left empty; rules limit what can be entered.
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
    target: str


@dataclass(frozen=True, slots=True)
class PolicyRow:
    scope: Scope
    policy: Policy | None
    is_linked: bool
    """Whether the scope above has a policy page that this person may see."""
    verb: str
    """What the person may do with it."""


@dataclass(frozen=True, slots=True)
class WritableField:
    """A field that a policy may name, and the rules it may have."""

    path: str
    label: str
    rules: tuple[str, ...]
    worker_only: bool


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
    user = _user(request)
    scopes = _scopes(user).select_related("parent", "policy__updated_by")
    may_write, may_edit = (
        set(visible_scopes(user, one).values_list("pk", flat=True))
        for one in (Permission.POLICY_CREATE, Permission.POLICY_EDIT)
    )
    order = {kind: position for position, kind in enumerate(services.EDITABLE)}
    seen = {scope.pk for scope in scopes}
    rows = []
    for scope in sorted(scopes, key=lambda s: (order[s.kind], s.name)):
        policy = getattr(scope, "policy", None)
        may, verb = (may_edit, "Edit") if policy else (may_write, "Write policy")
        told = verb if scope.pk in may else "View"
        rows.append(PolicyRow(scope, policy, scope.parent_id in seen, told))
    state = "ready" if rows else "empty"
    return render(request, "policies/list.html", {"rows": rows, "state": state})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def policy_edit(request: HttpRequest, scope_id: int) -> HttpResponse:
    """The text of one policy. POST with ``check`` only validates; without, it saves."""
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
            warnings = services.check(scope=scope, text=text)
            told = [_sentence(one) for one in warnings]
            return _page(request, scope, policy, text, fits=True, warnings=told)
        services.save(actor=actor, scope=scope, text=text, version=whole(version) or 0)
    except InvalidPolicy as refusal:
        return _page(request, scope, policy, text, refusal.problems)
    except services.PolicyChanged as conflict:
        return _page(request, scope, conflict.policy, text, conflict=True)
    messages.success(request, f"Policy saved. Applies to new workloads in {scope.label}.")
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
    services.authorise(actor, Permission.POLICY_DELETE, scope)
    if request.method != "POST":
        return ask(
            request,
            Question(
                title=f"Delete the policy of {scope.label}?",
                text=(
                    "Its defaults and rules stop applying immediately. Running workloads are not "
                    "affected."
                ),
                verb="Delete the policy",
                action=request.path,
                cancel_url=back,
                is_harmful=True,
                hidden={"version": str(policy.version)},
            ),
        )
    version = request.POST.get("version", "")
    try:
        services.delete(actor=actor, scope=scope, version=whole(version) or 0)
    except services.PolicyChanged:
        messages.error(request, "Someone else changed this policy. Review it and try again.")
        return redirect(back)
    messages.success(request, f"The policy of {scope.label} is deleted.")
    return redirect("policy-list")


def _page(
    request: HttpRequest,
    scope: Scope,
    policy: Policy | None,
    text: str,
    problems: Sequence[Problem] = (),
    **more: Any,
) -> HttpResponse:
    held = held_permissions(_user(request), scope)
    holding = layers(scope)
    above = [layer for layer in holding if (layer.kind, layer.name) != (scope.kind, scope.name)]
    context = {
        "scope": scope,
        "policy": policy,
        "text": text,
        "version": policy.version if policy else 0,
        "policy_problems": problems,
        "summary": [
            SummaryLine(_sentence(problem), f"policy-line-{line}" if line else "policy-text")
            for problem in problems
            for line in [line_of(problem)]
        ],
        "bad_lines": {line_of(problem) for problem in problems},
        "above": _effective_rows(above, scope) if scope.parent else [],
        "effective": _effective_rows(holding, scope),
        "fields": writable_fields(),
        "may_save": (Permission.POLICY_EDIT if policy else Permission.POLICY_CREATE) in held,
        "may_delete": policy is not None and Permission.POLICY_DELETE in held,
        "lines": text.rstrip("\n").split("\n") if problems else [],
        "rows": min(max(text.count("\n") + 3, 12), 30),
        **more,
    }
    failed = bool(problems) or more.get("conflict")
    return render(request, "policies/edit.html", context, status=422 if failed else 200)


def _sentence(problem: Problem) -> str:
    return capfirst(sentence(problem))


@cache
def writable_fields() -> tuple[WritableField, ...]:
    """Every field of the spec, as a policy names it."""
    masters = catalogue(SPEC.master)
    return tuple(
        WritableField(
            path,
            field.ui.label,
            rules_of(field, in_list=path != list_of),
            list_of not in masters,
        )
        for list_of, path, field in _rulable()
    )


def _rulable() -> Iterator[tuple[str, str, SpecField]]:
    """Every field with its path, twice; each list before the attributes of its items."""
    for path, field in catalogue(SPEC.worker).items():
        yield path, path, field
        for attribute in field.items:
            yield path, f"{path}.attributes.{attribute.path}", attribute


def _effective_rows(holding: list[Layer], scope: Scope) -> list[EffectiveRow]:
    policy = effective_policy(holding)
    found = []
    for role, model, rules in (
        (Role.WORKER, SPEC.worker, policy.worker),
        (Role.MASTER, SPEC.master, policy.master),
    ):
        for path, field in catalogue(model).items():
            for words, source in _words(field, rules[path]):
                if source == SYSTEM:
                    continue
                found.append(EffectiveRow(role.value, path, field.ui.label, words, source))
    named = imposable(scope, {key for half in policy.imposed.values() for key in half})
    for role, sources in policy.imposed.items():
        for key, source in sources.items():
            words = f"{named[key].name} is added" if key in named else f"{key} is missing"
            found.append(EffectiveRow(role.value, "imposedAssets", "Data sources", words, source))
    return found


def _words(field: SpecField, rule: FieldRule) -> Iterator[tuple[str, str]]:
    """Each rule that an administrator set, in words. The system's own defaults are not repeated."""
    yield from _default_words(field, rule)
    if rule.minimum:
        yield f"at least {with_unit(field, rule.minimum.value)}", rule.minimum.source
    if rule.maximum:
        yield f"at most {with_unit(field, rule.maximum.value)}", rule.maximum.source
    for step in rule.steps:
        yield f"in steps of {with_unit(field, step.value)}", step.source
    if rule.options:
        labels = ", ".join(option.label for option in rule.options.value)
        yield f"one of {labels}", rule.options.source
    yield from _special_words(rule)
    if rule.required:
        yield "required", rule.required.source
    yield from _adding_words(field, rule)
    yield from ((f"{key} is locked", source) for key, source in rule.locked.items())
    for attribute in field.items:
        if inside := rule.attributes.get(attribute.path):
            for words, source in _words(attribute, inside):
                yield f"{attribute.label}: {words}", source


def _special_words(rule: FieldRule) -> Iterator[tuple[str, str]]:
    """What only the image and GPU devices have."""
    if rule.registries:
        yield f"from {', '.join(rule.registries.value)}", rule.registries.source
    if rule.digest:
        yield "with a digest", rule.digest.source
    if rule.total:
        yield f"at most {rule.total.value} in all pods together", rule.total.source


def _adding_words(field: SpecField, rule: FieldRule) -> Iterator[tuple[str, str]]:
    """Also of what is closed until a policy allows it."""
    if rule.can_add:
        yield "nothing can be added", rule.can_add.source
    elif field.restricted and not rule.fixed:
        opens = [row for row in rule.trace if row.rule in ("canAdd", "canEdit")]
        yield from (("allowed", row.scope) for row in opens if row.value is True)


def _default_words(field: SpecField, rule: FieldRule) -> Iterator[tuple[str, str]]:
    if rule.fixed:
        words = "blocked" if rule.is_blocked else f"fixed to {_value(field, rule.fixed.value)}"
        yield words, rule.fixed.source
    elif rule.computed:
        yield f"default {rule.computed.value}", rule.computed.source
    elif rule.default:
        yield f"default {_value(field, rule.default.value)}", rule.default.source


def _value(field: SpecField, value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_item(field, item) for item in value) or "an empty list"
    return "no value" if value is None else with_unit(field, value)


def _item(field: SpecField, item: Mapping[str, Any]) -> str:
    key = str(item[field.item_key])
    return f"{key}={item['value']}" if item.get("value") is not None else key


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
