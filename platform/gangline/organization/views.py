"""Beside the pages of the resources: sums while a quota is typed."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gangline.access.actor import actor_of
from gangline.lib.texts import whole
from gangline.resources.registry import get


@require_GET
@login_required
def quota_sums(request: HttpRequest) -> HttpResponse:
    """How the department's quota stands with what is typed in the form of a project."""
    resource = get("project")
    actor = actor_of(request, "form")
    pk = request.GET.get("project", "")
    instance = None
    if pk:
        instance = resource.rows(actor.user).filter(pk=whole(pk) or 0).first()
        if instance is None:
            raise Http404
    form = resource.form_class(request.GET, resource=resource, actor=actor, instance=instance)
    return render(request, "organization/sums.html", {"sums": form.sums()})
