"""The page of a cluster's settings."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from gangline.access.actor import actor_of
from gangline.clusters import checks
from gangline.clusters.models import Cluster
from gangline.lib.texts import whole

from . import changing, kubernetes
from .changing import LABELS, UNREACHABLE, NameTaken, Overtaken, Settings
from .connecting import managed
from .intake import Wrong

SHOWN = "shown-"
"""Hidden fields say what the page had shown: what a person left alone is not put back."""


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cluster_settings(request: HttpRequest, cluster_id: UUID) -> HttpResponse:
    """What is wrong, or was overtaken by somebody else, is said and changes nothing."""
    actor = actor_of(request, "form")
    cluster = managed(actor, cluster_id)
    if not checks.is_for(cluster):
        raise Http404
    if request.method != "POST":
        return _page(request, cluster, changing.settings_of(cluster))
    wanted = changing.read(request.POST)
    if wrong := list(changing.problems(cluster, wanted)):
        return _page(request, cluster, wanted, wrong=wrong, revision=_revision(request))
    try:
        different = changing.change(
            actor=actor, cluster=cluster, revision=_revision(request), wanted=wanted
        )
    except Overtaken as late:
        mine = changing.rebased(
            wanted, changing.read(request.POST, SHOWN), changing.settings_of(late.row)
        )
        return _page(request, late.row, mine, is_overtaken=True)
    except NameTaken:
        says = f"There is already a cluster {wanted.name}. Choose another name."
        return _page(request, cluster, wanted, wrong=[Wrong("name", says)])
    if not different:
        messages.info(request, "Nothing was different.")
    else:
        words = ", ".join(different)
        messages.success(request, f"Changed: {words}.")
    if LABELS["scheduler"] in different:
        cluster.refresh_from_db()
        kubernetes.check(actor=actor, cluster=cluster)
    return redirect("cluster-detail", cluster_id=cluster_id)


def _revision(request: HttpRequest) -> int:
    return whole(request.POST.get("revision", "")) or 0


def _page(
    request: HttpRequest,
    cluster: Cluster,
    wanted: Settings,
    *,
    wrong: list[Wrong] | None = None,
    revision: int = 0,
    is_overtaken: bool = False,
) -> HttpResponse:
    nodes = cluster.facts.get("detail", {}).get("nodes") or {}
    context: dict[str, Any] = {
        "cluster": cluster,
        "wanted": wanted,
        "wrong": wrong or [],
        "said": {
            w.target: [o.text for o in wrong or () if o.target == w.target] for w in wrong or ()
        },
        "revision": revision or cluster.revision,
        "schedulers": changing.choices(cluster),
        "shown": _shown(request, cluster, is_new=not wrong),
        "gpus": sorted({str(one["resource"]) for one in nodes.get("gpus", ())}),
        "when_unreachable": UNREACHABLE.items(),
        "overtaken": _differences(cluster, wanted) if is_overtaken else [],
        "is_overtaken": is_overtaken,
    }
    status = 409 if is_overtaken else 422 if wrong else 200
    return render(request, "clusters/settings.html", context, status=status)


def _shown(request: HttpRequest, cluster: Cluster, *, is_new: bool) -> Iterable[tuple[str, str]]:
    """Of a page that is shown again after a refusal: what the first one had shown."""
    settings = changing.settings_of(cluster) if is_new else changing.read(request.POST, SHOWN)
    return ((f"{SHOWN}{name}", getattr(settings, name)) for name in LABELS)


def _differences(cluster: Cluster, wanted: Settings) -> list[tuple[str, str, str]]:
    """Setting, how it is now, and what this person wrote."""
    stored = changing.settings_of(cluster)
    titles = {one.name: one.title for one in changing.choices(cluster)}

    def shown(name: str, value: str) -> str:
        if name == "scheduler":
            return titles.get(value, value)
        return UNREACHABLE.get(value, value) if name == "unreachable" else value or "automatic"

    return [
        (label, shown(name, getattr(stored, name)), shown(name, getattr(wanted, name)))
        for name, label in LABELS.items()
        if getattr(stored, name) != getattr(wanted, name)
    ]
