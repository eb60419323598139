"""Why a field is as it is: a page of its own, which scripts show as a dialog."""

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from gangline.access.grants import can, who_can
from gangline.access.permissions import Permission
from gangline.forms.fields import dom_id
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.problems import Role
from gangline.spec.workload import SPEC
from gangline.spec_forms.limits import Explanation, explain
from workloads.wizard.context import WizardContext
from workloads.wizard.pages import step_url
from workloads.wizard.setup_page import path_of
from workloads.wizard.state import FRAMEWORK
from workloads.wizard.steps import Step


def page(request: HttpRequest, wizard: WizardContext, step: Step, path: str) -> HttpResponse:
    """The explanation of ``path``, a qualified path such as ``worker.compute.cpuCoreRequest``."""
    explanation = _explanation(wizard, path)
    project = wizard.choices.project
    may_change = project is not None and can(
        wizard.actor.user, Permission.POLICY_EDIT, project.scope
    )
    links, ask = [], []
    if project is not None and may_change:
        links = [(project.scope.label, reverse("policy-edit", args=[project.scope_id]))]
    elif project is not None:
        ask = [person.username for person in who_can(Permission.POLICY_EDIT, project.scope)][:3]
    return render(
        request,
        "wizard/explain.html",
        {
            "explanation": explanation,
            "policy_links": links,
            "ask": ask,
            "effective_url": _effective_url(wizard, path),
            "back": step_url(wizard, step) + "#f-" + path.replace(".", "-"),
        },
    )


def _effective_url(wizard: WizardContext, path: str) -> str:
    """The same field among all that holds in the project."""
    project = wizard.choices.project
    if project is None or not can(wizard.actor.user, Permission.POLICY_VIEW, project.scope):
        return ""
    return f"{reverse('policy-effective', args=[project.scope_id])}#{dom_id(path)}"


def _explanation(wizard: WizardContext, path: str) -> Explanation:
    role_name, _, field = path.partition(".")
    if role_name not in (Role.WORKER, Role.MASTER):
        raise Http404
    role = Role(role_name)
    known = catalogue(SPEC.worker if role is Role.WORKER else SPEC.master)
    # What is inside an item is ruled by its list.
    spec = next((f for name, f in known.items() if f"{field}.".startswith(f"{name}.")), None)
    if spec is None:
        raise Http404
    told = explain(spec, wizard.policy.rule(role, spec.path), role)
    if path == path_of(FRAMEWORK):
        return _with_frameworks(wizard, told)
    return told


def _with_frameworks(wizard: WizardContext, told: Explanation) -> Explanation:
    """Frameworks are refused by clusters too, not only by policies."""
    cluster = wizard.choices.cluster
    reasons = tuple(
        f"{known.label}: {wizard.choices.framework_reason(name)}"
        for name, known in FRAMEWORKS.items()
        if wizard.choices.framework_reason(name)
    )
    where = f"on {cluster.name}" if cluster else "here"
    return replace(
        told,
        title=f"Frameworks not available {where}",
        sentences=(*reasons, *told.sentences),
    )
