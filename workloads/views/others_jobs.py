"""The tab of a cluster with jobs that Gangline has not made; a look at one, and its end."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from gangline.access.actor import actor_of
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.resources.registry import get
from gangline.web.confirm import Question, ask
from workloads.services import others_jobs

MOST_ROWS = 300
_ORDER = ("RUNNING", "COMPLETING", "CONFIGURING", "PENDING")


def panel(request: HttpRequest, cluster: Cluster) -> dict[str, Any]:
    """What runs comes first, then what waits, by priority. ``?owner=`` shows one person's."""
    user = request.user
    context: dict[str, Any] = {
        "cluster": cluster,
        "may_cancel": isinstance(user, User) and others_jobs.may_cancel(user, cluster),
        "url": reverse("cluster-tab", args=[cluster.pk, "jobs"]),
        "owner": request.GET.get("owner", ""),
    }
    try:
        jobs = others_jobs.listed(cluster)
    except others_jobs.CannotSay as why:
        return {**context, "trouble": str(why)}
    owners = Counter(job.owner for job in jobs)
    shown = [job for job in jobs if context["owner"] in ("", job.owner)]
    places = {state: place for place, state in enumerate(_ORDER)}
    shown.sort(key=lambda job: (places.get(job.state, len(places)), -job.priority))
    return {
        **context,
        "owners": sorted(owners.items()),
        "jobs": shown[:MOST_ROWS],
        "more": max(0, len(shown) - MOST_ROWS),
    }


@login_required
@require_safe
def job_look(request: HttpRequest, cluster_id: UUID, number: str) -> HttpResponse:
    """What the scheduler tells of a job, and its script where Gangline's account may read it."""
    cluster = _cluster(request, cluster_id)
    context: dict[str, Any] = {"cluster": cluster, "number": number}
    try:
        context["text"] = others_jobs.text(cluster, number)
    except others_jobs.CannotSay as why:
        context["trouble"] = str(why)
    context["may_cancel"] = others_jobs.may_cancel(_user(request), cluster)
    return render(request, "clusters/job.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def job_cancel(request: HttpRequest, cluster_id: UUID, number: str) -> HttpResponse:
    cluster = _cluster(request, cluster_id)
    back = reverse("cluster-tab", args=[cluster_id, "jobs"])
    if request.method != "POST":
        question = Question(
            title=f"Cancel job {number}?",
            text=(
                f"It was not created by Gangline. {cluster.name} ends its processes; unsaved "
                f"results are lost."
            ),
            verb=f"Cancel job {number}",
            action=request.path,
            cancel_url=back,
            is_harmful=True,
        )
        return ask(request, question)
    try:
        others_jobs.cancel(actor=actor_of(request, "form"), cluster=cluster, number=number)
    except others_jobs.CannotSay as why:
        messages.error(request, str(why))
    else:
        messages.success(request, f"Job {number} is being cancelled.")
    return redirect(back)


def _cluster(request: HttpRequest, cluster_id: UUID) -> Cluster:
    """One whose jobs the person may see. Raises Http404."""
    user = _user(request)
    cluster: Cluster | None = get("cluster").visible(user).filter(pk=cluster_id).first()
    if cluster is None or not others_jobs.sees(user, cluster):
        raise Http404
    return cluster


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101  signed in
    return request.user
