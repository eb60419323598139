"""What a person decides about a cluster where workloads are concerned: orphans, and its removal."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from gangline.access.actor import actor_of
from gangline.access.refusals import NotVisible
from gangline.clusters import kubernetes
from gangline.clusters.connecting import managed
from gangline.clusters.models import Cluster, Orphan
from gangline.spec_forms.words import count
from gangline.web.confirm import Question, ask
from workloads.services import orphans, removal


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def orphan_delete(request: HttpRequest, cluster_id: UUID, orphan_id: int) -> HttpResponse:
    """Ask, naming the object; then delete that one by its uid."""
    actor = actor_of(request, "form")
    cluster = managed(actor, cluster_id)
    back = reverse("cluster-detail", args=[cluster_id])
    orphan = Orphan.objects.filter(cluster=cluster, pk=orphan_id, is_sure=True).first()
    if orphan is None:
        messages.info(request, "That object is gone already, or belongs to a workload.")
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
    return _decide(request, cluster_id, orphan_id, orphans.ignore, "{} is ignored from now on.")


@login_required
@require_POST
def orphan_list(request: HttpRequest, cluster_id: UUID, orphan_id: int) -> HttpResponse:
    return _decide(request, cluster_id, orphan_id, orphans.list_again, "{} is listed again.")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cluster_remove(request: HttpRequest, cluster_id: UUID) -> HttpResponse:
    """Say what is lost, ask for the name and for every consent that is needed, then forget it."""
    actor = actor_of(request, "form")
    cluster = managed(actor, cluster_id)
    if not kubernetes.is_removable(cluster):
        messages.error(request, f"{cluster.name} is this machine, which cannot be removed.")
        return redirect("cluster-detail", cluster_id=cluster_id)
    held = removal.holdings(cluster)
    wrong: dict[str, str] = {}
    if request.method == "POST":
        forget, leave = (request.POST.get(name) == "1" for name in ("forget", "leave"))
        wrong = _wrong(request, cluster, held, forget=forget, leave=leave)
        if not wrong:
            try:
                removal.remove(actor=actor, cluster=cluster, forget=forget, leave=leave)
            except kubernetes.CannotRemove as why:
                messages.error(request, str(why))
                return redirect("cluster-remove", cluster_id=cluster_id)
            messages.success(request, f"{cluster.name} is removed.")
            return redirect("cluster-list")
    question = Question(
        title=f"Remove {cluster.name}?",
        text="Gangline forgets the cluster, its departments and policies, and erases its"
        " credential. Nothing on the cluster itself is touched.",
        verb="Remove the cluster",
        action=request.path,
        cancel_url=reverse("cluster-detail", args=[cluster_id]),
        is_harmful=True,
    )
    context = {
        "question": question,
        "cluster": cluster,
        "held": held,
        "wrong": wrong,
        "typed": request.POST,
    }
    status = 409 if set(wrong) & {"forget", "leave"} else 422 if wrong else 200
    return TemplateResponse(request, "clusters/remove.html", context, status=status)


def _wrong(
    request: HttpRequest, cluster: Cluster, held: removal.Holdings, *, forget: bool, leave: bool
) -> dict[str, str]:
    """What is missing, by the field to change."""
    wrong = {}
    if held.projects and not forget:
        wrong["forget"] = f"{held.reason_to_stay} Tick this to forget them too."
    if held.unfinished and not leave:
        wrong["leave"] = "Stop them first, or tick this to leave them on the cluster."
    if request.POST.get("name", "").strip() != cluster.name:
        wrong["name"] = f"This is not the cluster’s name. Write {cluster.name} to remove it."
    return wrong


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
    return redirect("cluster-detail", cluster_id=cluster_id)


def _question(request: HttpRequest, cluster: Cluster, orphan: Orphan, back: str) -> Question:
    gpus = f"{orphan.gpus} GPU{'' if orphan.gpus == 1 else 's'}"
    uses = f"its {count(orphan.pods, 'pod')}" + (f" and their {gpus}" if orphan.gpus else "")
    lost = "What it computed and did not save is lost." if orphan.pods else "It has no pods now."
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
