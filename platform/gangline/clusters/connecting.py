"""Pages for those who manage clusters: connect one, give another credential."""

import base64
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from gangline.access.actor import Actor, actor_of
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.clusters.models import Cluster
from gangline.db.clock import db_now
from gangline.drivers.kubernetes.kubeconfig import MAKE_ACCOUNT
from gangline.drivers.kubernetes.roles import manifests
from gangline.lib.sealing import CannotSeal
from gangline.scopes.selectors import tenant_scope
from gangline.scopes.services import NameRefused

from . import intake, kubernetes, twins
from .intake import Intake, Typed, Wrong
from .views import one

WORDS = {
    intake.KUBECONFIG: ("A kubeconfig", "Paste it or choose the file that kubectl uses."),
    intake.TOKEN: ("Address and token", "The API server, its authority, a service account."),
    intake.IN_CLUSTER: ("This very cluster", "The service account of Gangline’s own pod."),
}
SHOW_CONFIG = "kubectl config view --raw --flatten --minify"
"""Prints the address and the authority, also of a kubeconfig that only names the files of it."""
SHOW_CONFIG_NARROW = SHOW_CONFIG.replace(" --flatten", " \\\n  --flatten")
"""The same, where there is little room."""
ADDRESS_AT = {intake.KUBECONFIG: "kubeconfig", intake.TOKEN: "server"}
"""The field that says which cluster it is, by the way; of a pod's own account the way itself."""


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cluster_connect(request: HttpRequest) -> HttpResponse:
    """A new cluster. What is wrong is said all at once, and nothing is stored then."""
    actor = actor_of(request, "form")
    if not can(actor.user, Permission.CLUSTER_CREATE, tenant_scope()):
        raise NotAllowed(Permission.CLUSTER_CREATE, tenant_scope())
    if request.method != "POST":
        return _page(request, Intake(Typed()))
    found = _read(request)
    if found.wrong:
        return _page(request, found, also=_name_problem(found.typed.name))
    try:
        cluster = kubernetes.connect(actor=actor, intake=found)
    except NameRefused as why:
        return _page(request, found, also=[Wrong("name", str(why))])
    except twins.AlreadyConnected as why:
        also = [*_name_problem(found.typed.name), _twin(found, why)]
        return _page(request, found, also=also)
    except CannotSeal as why:
        return _page(request, found, also=[Wrong("name", str(why))])
    kubernetes.check(actor=actor, cluster=cluster)
    chosen = f" as context {found.context}" if len(found.contexts) > 1 else ""
    messages.success(request, f"{cluster.name} is saved{chosen}. Looking at it now.")
    return redirect("cluster-detail", cluster_id=cluster.pk)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cluster_credential(request: HttpRequest, cluster_id: UUID) -> HttpResponse:
    """Another credential for a cluster; the old one holds until the new one passed the check."""
    actor = actor_of(request, "form")
    cluster = managed(actor, cluster_id)
    if request.method != "POST":
        return _page(request, Intake(Typed(name=cluster.name)), cluster)
    found = _read(request)
    if found.access is None:
        return _page(request, found, cluster)
    anyway = request.POST.get("anyway") == "1"
    try:
        kubernetes.replace(
            actor=actor, cluster=cluster, access=found.access, even_without_rights=anyway
        )
    except twins.AlreadyConnected as why:
        return _page(request, found, cluster, also=[_twin(found, why)])
    messages.info(request, "The new credential is being tried. It is stored if it is good.")
    return redirect("cluster-detail", cluster_id=cluster.pk)


@login_required
@require_safe
def cluster_role(request: HttpRequest) -> HttpResponse:
    """The manifest of Gangline's account and roles, to apply on a cluster."""
    answer = HttpResponse(manifests()["role.yaml"], content_type="application/yaml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="role.yaml"'
    return answer


def _read(request: HttpRequest) -> Intake:
    posted = {**request.POST.dict(), "authority": as_pem(request.POST.get("authority", ""))}
    return intake.read(posted, request.FILES.get("file"), now=db_now())


def as_pem(text: str) -> str:
    """``text``, decoded if it is base64 of a PEM text, as a kubeconfig has it."""
    try:
        decoded = base64.b64decode("".join(text.split()), validate=True).decode("ascii")
    except ValueError:
        return text
    return decoded if decoded.lstrip().startswith("-----BEGIN ") else text


def _name_problem(name: str) -> list[Wrong]:
    """What the service would say of a name, said together with the rest."""
    if not name:
        return [Wrong("name", "Name is missing.")]
    if Cluster.objects.filter(name=name).exists():
        return [Wrong("name", f"There is already a cluster {name}.")]
    return []


def _twin(found: Intake, why: twins.AlreadyConnected) -> Wrong:
    return Wrong(ADDRESS_AT.get(found.typed.way, f"way-{found.typed.way}"), str(why))


def managed(actor: Actor, cluster_id: UUID) -> Cluster:
    """A cluster that the person may change. Raises Http404 or NotAllowed."""
    cluster = one(actor.user, cluster_id)
    if not can(actor.user, Permission.CLUSTER_EDIT, cluster.scope):
        raise NotAllowed(Permission.CLUSTER_EDIT, cluster.scope)
    return cluster


def _page(
    request: HttpRequest,
    found: Intake,
    cluster: Cluster | None = None,
    also: list[Wrong] | None = None,
) -> HttpResponse:
    wrong = [*(also or []), *found.wrong]
    open_ways = intake.ways()
    way = found.typed.way if found.typed.way in open_ways else intake.KUBECONFIG
    context: dict[str, Any] = {
        "cluster": cluster,
        "typed": found.typed.shown,
        "way": way,
        "ways": [(name, *WORDS[name]) for name in open_ways],
        "wrong": wrong,
        "said": {one.target: [w.text for w in wrong if w.target == one.target] for one in wrong},
        "contexts": found.contexts,
        "schedulers": intake.schedulers(),
        "make_account": f"{MAKE_ACCOUNT}\n{SHOW_CONFIG_NARROW}",
        "show_config": SHOW_CONFIG,
        "needs_account": found.needs_account,
        "anyway": request.POST.get("anyway") == "1",
    }
    return render(request, "clusters/connect.html", context, status=422 if wrong else 200)
