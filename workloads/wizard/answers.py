"""How a saved post is answered: on to the next page, the same page again, or what scripts asked."""

from dataclasses import replace

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html

from gangline.forms import drawing
from gangline.forms.fields import FieldView
from gangline.spec.problems import Problem
from gangline.spec_forms.form_actions import FormAction
from workloads.wizard import last_dry_run
from workloads.wizard.context import WizardContext
from workloads.wizard.equivalents import equivalents, file_name
from workloads.wizard.pages import StepPage, step_url
from workloads.wizard.review import CLUSTER_CHECK
from workloads.wizard.steps import Step, after
from workloads.wizard.yaml_page import YamlPage

CLUSTER = "cluster"
"""What `check` in an address says right after the cluster was asked: its answer gets the focus."""
APPLY = "X-Gangline-Apply"
"""Sent by scripts that put the answer into the page themselves, without a new page."""


class SeeOther(HttpResponseRedirect):
    """303: whatever was posted, the next page is fetched with GET."""

    status_code = 303


def page(request: HttpRequest, step_page: StepPage, *, status: int = 200) -> HttpResponse:
    """One step, drawn."""
    context = replace(step_page, api_url=api_url(request)).context()
    return render(request, f"wizard/{step_page.step}.html", context, status=status)


def api_url(request: HttpRequest) -> str:
    """Where programs submit."""
    return request.build_absolute_uri("/api/v1/workloads/distributed")


def download(request: HttpRequest, wizard: WizardContext, key: str) -> HttpResponse:
    """One of the other ways to say the workload, as a file."""
    for one in equivalents(wizard, api_url(request)):
        if one.key == key and one.text:
            name = file_name(wizard, one)
            headers = {"Content-Disposition": f'attachment; filename="{name}"'}
            return HttpResponse(one.text, content_type="text/plain; charset=utf-8", headers=headers)
    raise Http404


def as_yaml(request: HttpRequest, yaml_page: YamlPage, *, status: int = 200) -> HttpResponse:
    """The draft as text."""
    return render(request, "wizard/yaml.html", yaml_page.context(), status=status)


def go_on(
    request: HttpRequest, wizard: WizardContext, step: Step, extra: list[Problem]
) -> HttpResponse:
    """Continue: to the next step, or the same one with everything that keeps it from being left."""
    checked = StepPage(wizard, step, checked=True, extra=extra)
    if checked.here:
        return page(request, checked, status=422)
    return SeeOther(step_url(wizard, after(step, wizard.steps)))


def to_step(wizard: WizardContext, step: Step, what: str) -> HttpResponse:
    """Another step; one that this configuration has not is the next that it has."""
    wanted = Step(what) if what in set(Step) else step
    return SeeOther(step_url(wizard, wanted if wanted in wizard.steps else Step.REVIEW))


def dry_run_answer(request: HttpRequest, wizard: WizardContext) -> HttpResponse:
    """Dry run: ask the cluster, keep its answer with the draft, show it in Review."""
    if wizard.draft is not None and wizard.preview is not None and wizard.request is not None:
        last_dry_run.ask(wizard.draft, wizard.preview, wizard.request)
    if APPLY in request.headers:
        return page(request, StepPage(wizard, Step.REVIEW))
    return SeeOther(f"{step_url(wizard, Step.REVIEW, check=CLUSTER)}#{CLUSTER_CHECK}")


def leave(request: HttpRequest, wizard: WizardContext) -> HttpResponse:
    """To the table, with the way back."""
    messages.success(
        request,
        format_html('Draft saved. <a href="{}">Continue</a>', step_url(wizard, Step.SETUP)),
    )
    return SeeOther(reverse("workload-list"))


def again(
    request: HttpRequest, wizard: WizardContext, step: Step, *, focus: str, checked: bool
) -> HttpResponse:
    """The same step after an edit. Scripts get it at once, others through a redirect."""
    if APPLY in request.headers:
        return page(request, StepPage(wizard, step, checked=checked, focus=focus))
    address = step_url(wizard, step, **({"check": "1"} if checked else {}))
    return SeeOther(f"{address}#{focus}" if focus else address)


def opened(wizard: WizardContext, step: Step, form_action: FormAction) -> HttpResponse:
    """What scripts show as a dialog over the step, as a page."""
    return SeeOther(step_url(wizard, step, **{form_action.verb: form_action.what}))


def autosaved(
    request: HttpRequest, wizard: WizardContext, step: Step, *, checked: bool
) -> JsonResponse:
    """What scripts show after an automatic save: the time, the summary, what controls come to."""
    step_page = StepPage(wizard, step, checked=checked, has_rows=False)
    context = step_page.context()
    fields = [field for section in context["sections"] for field in section.fields]
    if step is Step.SETUP:
        fields = [step_page.setup.name]
    list_of_problems = render_to_string("wizard/problems.html", context, request).strip()
    return JsonResponse(
        {
            "saved": context["saved_at"],
            "version": context["version"],
            "summary": render_to_string("wizard/summary.html", context, request),
            "values": {f.path: _value(f) for f in fields if f.is_computed},
            "echoes": {f.path: drawing.echo(f) if f.has_echo else "" for f in fields if not f.wide},
            "errors": {f.path: drawing.told(f) if f.is_told else "" for f in fields},
            "problems": list_of_problems,
            "chips": {
                f.path: drawing.chips(f) if f.has_chip else ""
                for f in fields
                if f.control != "rows"
            },
        }
    )


def _value(field: FieldView) -> dict[str, str]:
    """What its controls show."""
    unit = next((option.value for option in field.units if option.selected), "")
    return {"text": field.text, "unit": unit, "placeholder": field.placeholder}


def yaml_autosaved(request: HttpRequest, yaml_page: YamlPage) -> JsonResponse:
    """What scripts show after an automatic save of the text."""
    context = yaml_page.context()
    return JsonResponse(
        {
            "saved": context["saved_at"],
            "version": context["version"],
            "summary": render_to_string("wizard/summary.html", context, request),
            "values": {},
            "echoes": {},
            "errors": {"yaml": render_to_string("wizard/yaml_lines.html", context).strip()},
            "problems": "",
            "chips": {},
        }
    )


def changed_elsewhere(
    request: HttpRequest, step_page: StepPage, *, by_scripts: bool
) -> HttpResponse:
    """409: another tab was there first. Nothing is stored; the person chooses."""
    if by_scripts:
        context = step_page.context()
        notice = render_to_string("wizard/conflict.html", context, request)
        return JsonResponse({"conflict": notice}, status=409)
    if isinstance(step_page, YamlPage):
        return as_yaml(request, step_page, status=409)
    return page(request, step_page, status=409)
