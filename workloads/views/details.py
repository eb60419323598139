"""`/workloads/<id>/<tab>`: one workload. Each part that moves is drawn by one template."""

import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from gangline.access.actor import actor_of
from gangline.access.grants import who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.accounts.models import User
from gangline.live.feeds import Refused
from gangline.spec.frameworks import framework_of
from gangline.spec.problems import Role
from gangline.spec.values import half_of
from workloads.live import heads_of
from workloads.models import Workload
from workloads.parts import (
    MEASURED,
    WorkloadFeed,
    draw_parts,
    first_pod,
    fresh_figures,
    permissions,
)
from workloads.selectors import details
from workloads.selectors.ingredients import ingredients
from workloads.selectors.origins import origins_in_words
from workloads.terminals import tickets
from workloads.views import files, log_page, report

TABS = {
    "overview": "Overview",
    "pods": "Pods",
    "logs": "Logs",
    "terminal": "Terminal",
    "files": "Files",
    "events": "Events",
    "report": "Report",
    "spec": "Spec",
}


FIGURES_EVERY, FIGURES_PART = 5.0, 50
"""Seconds between two looks at figures, and of how many parts of the time one look takes one."""


@dataclass(frozen=True, slots=True)
class TabLink:
    label: str
    url: str
    is_current: bool


@login_required
@require_GET
def overview(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    return tab(request, workload_id, "overview")


@login_required
@require_GET
def tab(request: HttpRequest, workload_id: UUID, tab: str) -> HttpResponse:
    """One tab. All exist for every workload; an empty one says why."""
    if tab not in TABS:
        raise Http404
    actor = actor_of(request, "form")
    workload = details.visible_workload(actor.user, workload_id, even_deleted=True)
    held = permissions(actor.user, workload)
    heads = heads_of(frozenset([workload.project_id]))
    first = first_pod(request.GET.get("from", ""))
    context: dict[str, Any] = {
        "workload": workload,
        "tab": tab,
        "tabs": [
            TabLink(label, _address(workload, name), name == tab) for name, label in TABS.items()
        ],
        "parts": draw_parts(workload, may_act=held, tab=tab, first_pod=first),
        "figures_url": reverse("workload-figures", args=[workload.pk]) if tab in MEASURED else "",
        "live_query": f"{workload.pk}/{tab}/{first}",
        "live_after": {str(scope): head for scope, head in heads.items()},
    }
    if tab in ("spec", "overview"):
        context["ingredients"] = ingredients(actor.user, workload)
    if tab == "spec":
        context |= _spec(workload, actor.user)
    if tab == "logs":
        context |= log_page.context(request, workload)
    if tab == "report":
        context |= report.context(request, workload, context["parts"]["report"])
    if tab == "files":
        context |= files.context(request, workload)
    if tab == "terminal":
        context |= _terminals(workload, actor.user)
    if tab == "overview":
        context["attempt"] = details.attempt_of(workload, workload.attempt_no)
        if Permission.WORKLOAD_LOGS in held:
            context |= log_page.last_lines(workload)
    return render(request, f"workloads/details/{tab}.html", context)


@login_required
@require_GET
def changes(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The frame of this page's WebSocket, for pages that have to ask."""
    user, feed = actor_of(request, "form").user, WorkloadFeed()
    try:
        view = feed.open(user, {"query": request.GET.get("query", "")})
    except Refused:
        raise Http404 from None
    if view.ids != frozenset([str(workload_id)]):
        raise Http404
    heads = feed.heads(view.scopes)
    tag = '"' + "-".join(f"{scope}.{head}" for scope, head in sorted(heads.items())) + '"'
    if request.headers.get("If-None-Match") == tag:
        return HttpResponseNotModified()
    after = dict.fromkeys(view.scopes, 0)
    return JsonResponse(feed.delta(view, after).frame(after), headers={"ETag": tag})


@login_required
@require_GET
def figures(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Figures of the page at ``query`` as they are now; 204 where they do not grow any more."""
    query = request.GET.get("query", "")
    if not query.startswith(f"{workload_id}/"):
        raise Http404
    began = time.thread_time()
    try:
        cells = fresh_figures(actor_of(request, "form").user, query)
    except Refused:
        raise Http404 from None
    if cells is None:
        return HttpResponse(status=204)
    # Of hundreds of pods less often: an open page takes a small part of a processor at most.
    pause = max(FIGURES_EVERY, (time.thread_time() - began) * FIGURES_PART)
    return JsonResponse({"cells": cells, "pause": round(pause * 1000)})


def _terminals(workload: Workload, user: User) -> dict[str, Any]:
    """The pods that can be entered, or why none can."""
    scope = workload.project.scope
    if not tickets.may_enter(user, workload):
        people = [one.username for one in who_can(Permission.WORKLOAD_EXEC, scope)]
        return {"refusal": NotAllowed(Permission.WORKLOAD_EXEC, scope, people).sentence}
    if refusal := tickets.cannot_enter(workload):
        return {"refusal": refusal}
    pods = details.expected_replicas(workload, details.attempts(workload)[0])
    running = [pod.name for pod in pods if pod.state == "Running"]
    return {"running": running, "refusal": "" if running else "No pod is running yet."}


def _address(workload: Workload, name: str) -> str:
    if name == "overview":
        return reverse("workload-detail", args=[workload.pk])
    return reverse("workload-tab", args=[workload.pk, name])


def _spec(workload: Workload, user: User) -> dict[str, Any]:
    attempt = details.attempts(workload)[0]
    has_master = any(path.startswith(f"{Role.MASTER}.") for path in attempt.effective)
    workers = details.spec_values(attempt, Role.WORKER)
    master = details.spec_values(attempt, Role.MASTER) if has_master else []
    leader = framework_of(workload.framework).leader
    sources = [value.source for value in (*workers, *master)]
    return {
        "attempt": attempt,
        "worker_values": workers,
        "master_values": master,
        "master_title": leader.title,
        "master_label": f"{leader.title}{'’' if leader.counts else '’s'} values",
        "master_pods": leader.count(half_of(attempt.values, Role.WORKER)),
        "origins": origins_in_words(user, workload, sources),
    }
