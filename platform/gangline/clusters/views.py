"""Pages of clusters beside those of every resource: check again, replace the credential, forget."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from gangline.forms.bound import summary
from gangline.lib.problems import Refused
from gangline.resources.registry import get
from gangline.resources.views import ResourceView

from . import checks
from .forms import CredentialForm, connectable
from .models import Cluster


def checks_url(cluster: Cluster) -> str:
    """The tab on which a check is followed."""
    return f"{get('cluster').url(cluster)}/checks"


class ClusterView(ResourceView):
    """A page about a cluster that the person may edit."""

    @property
    def resource(self) -> Any:  # type: ignore[override]
        return get("cluster")

    def editable(self, pk: UUID) -> Cluster:
        """Raises Http404 or NotAllowed."""
        cluster: Cluster = self.object(pk)
        self.need("edit", cluster)
        return cluster


class CheckView(ClusterView):
    def post(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Look at the cluster again, now; the page of the check follows it."""
        cluster = self.editable(pk)
        checks.check(actor=self.actor, cluster=cluster)
        return redirect(checks_url(cluster))


class CredentialView(ClusterView):
    """Another credential; the old one holds until the new one passed the whole check."""

    def get(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        cluster = self.replaceable(pk)
        return self.page(cluster, CredentialForm(kind=cluster.engine))

    def post(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        cluster = self.replaceable(pk)
        form = CredentialForm(request.POST, request.FILES, kind=cluster.engine)
        if not form.is_valid():
            return self.page(cluster, form, status=422)
        try:
            checks.replace_credential(
                actor=self.actor,
                cluster=cluster,
                access=form.admission.access,
                even_without_rights=request.POST.get("anyway") == "1",
            )
        except Refused as refused:
            form.refuse(refused.problems)
            return self.page(cluster, form, status=422)
        messages.info(request, "The new credential is being checked. It is saved if it works.")
        return redirect(checks_url(cluster))

    def replaceable(self, pk: UUID) -> Cluster:
        cluster = self.editable(pk)
        if cluster.engine.credential is None:
            raise Http404
        return cluster

    def page(self, cluster: Cluster, form: CredentialForm, *, status: int = 200) -> HttpResponse:
        context = self.context(
            object=cluster,
            credential=form,
            problems=summary(form) if form.is_bound else [],
            anyway=self.request.POST.get("anyway") == "1",
        )
        return render(self.request, "clusters/credential.html", context, status=status)


class ForgetView(ClusterView):
    """Forget a cluster with everything that is on it: where it is gone for ever."""

    def post(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        cluster: Cluster = self.object(pk)
        self.need("delete", cluster)
        if request.POST.get("name", "").strip() != cluster.name or not request.POST.get("forget"):
            messages.error(request, "Type the name and tick the box to forget it.")
            return redirect(reverse("cluster-delete", args=[pk]))
        try:
            self.resource.forget(cluster, actor=self.actor)
        except Refused as refused:
            messages.error(request, refused.problems[0].message)
            return redirect(reverse("cluster-delete", args=[pk]))
        messages.success(request, f"{cluster.name} was forgotten with everything on it.")
        return redirect("cluster-list")


@require_safe
def manifest(request: HttpRequest) -> HttpResponse:
    """The manifest of Gangline's account and roles, to apply on a cluster."""
    guide = next((found for one in connectable() if (found := one.guide())), None)
    answer = HttpResponse(
        guide.manifest if guide else "", content_type="application/yaml; charset=utf-8"
    )
    answer["Content-Disposition"] = 'attachment; filename="role.yaml"'
    return answer
