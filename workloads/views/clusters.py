"""What a person decides about objects on a cluster that belong to no workload."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from gangline.access.actor import Actor, actor_of
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.clusters.models import Cluster, Orphan
from gangline.resources.registry import get
from gangline.spec_forms.words import count
from gangline.web.confirm import Question, ask
from workloads.services import orphans


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def orphan_delete(request: HttpRequest, cluster_id: UUID, orphan_id: int) -> HttpResponse:
    """Ask, naming the object; then delete that one by its uid."""
    actor = actor_of(request, "form")
    cluster = managed(actor, cluster_id)
    back = reverse("cluster-tab", args=[cluster_id, "checks"])
    orphan = Orphan.objects.filter(cluster=cluster, pk=orphan_id, is_sure=True).first()
    if orphan is None:
        messages.info(request, "The object no longer exists, or belongs to a workload.")
        return redirect(back)
    if request.method != "POST":
        return ask(request, _question(request, cluster, orphan, back))
    try:
        orphans.delete(actor=actor, cluster=cluster, orphan_id=orphan_id)
    except orphans.CannotDelete as why:
        messages.error(request, str(why))
    else:
        messages.success(request, f"{orphan} is being deleted.")
    return redirect(back)


@login_required
@require_POST
def orphan_ignore(request: HttpRequest, cluster_id: UUID, orphan_id: int) -> HttpResponse:
    return _decide(request, cluster_id, orphan_id, orphans.ignore, "{} is now ignored.")


@login_required
@require_POST
def orphan_list(request: HttpRequest, cluster_id: UUID, orphan_id: int) -> HttpResponse:
    return _decide(request, cluster_id, orphan_id, orphans.list_again, "{} is listed again.")


def managed(actor: Actor, cluster_id: UUID) -> Cluster:
    """A cluster that the person may change. Raises Http404 or NotAllowed."""
    resource = get("cluster")
    cluster: Cluster | None = resource.visible(actor.user).filter(pk=cluster_id).first()
    if cluster is None:
        raise Http404
    if not resource.allows(actor.user, "edit", cluster):
        raise NotAllowed(resource.permission("edit"), resource.place(cluster, "edit"))
    return cluster


def _decide(
    request: HttpRequest,
    cluster_id: UUID,
    orphan_id: int,
    act: Callable[..., Orphan],
    done: str,
) -> HttpResponse:
    actor = actor_of(request, "form")
    cluster = managed(actor, cluster_id)
    try:
        orphan = act(actor=actor, cluster=cluster, orphan_id=orphan_id)
    except NotVisible:
        raise Http404 from None
    messages.success(request, done.format(orphan))
    return redirect("cluster-tab", cluster_id, "checks")


def _question(request: HttpRequest, cluster: Cluster, orphan: Orphan, back: str) -> Question:
    gpus = f"{orphan.gpus} GPU{'' if orphan.gpus == 1 else 's'}"
    uses = f"its {count(orphan.pods, 'pod')}" + (f" and their {gpus}" if orphan.gpus else "")
    lost = "Unsaved results are lost." if orphan.pods else "It has no pods now."
    place = f" in namespace {orphan.namespace}" if orphan.namespace else ""
    return Question(
        title=f"Delete {orphan}?",
        text=f"{orphan.kind} {orphan.name}{place} on {cluster.name} is deleted"
        f"{f' with {uses}' if orphan.pods else ''}. {orphan.why} {lost}",
        verb=f"Delete {orphan.name}",
        action=request.path,
        cancel_url=back,
        is_harmful=True,
    )
