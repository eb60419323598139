"""The page of templates: use one in the form, or run it with one click."""

import uuid

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from assets.selectors.templates import template_cards
from gangline.accounts.models import User


@login_required
@require_GET
def template_list(request: HttpRequest) -> HttpResponse:
    """Every template that the person can use, most used first."""
    if not isinstance(request.user, User):
        raise Http404
    search = request.GET.get("q", "").strip()[:100]
    cards = template_cards(request.user, search)
    # A key per card and page: pressing "Run now" twice makes one workload.
    keyed = [(card, uuid.uuid4()) for card in cards]
    return render(request, "assets/templates.html", {"cards": keyed, "search": search})
