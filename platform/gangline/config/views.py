"""`/account/tokens`: one's own API tokens."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gangline.access.actor import actor_of
from gangline.accounts.devices import programs_of
from gangline.accounts.models import ApiToken, User
from gangline.accounts.services import CannotMake, make_token, revoke_token
from gangline.db.clock import db_now
from gangline.lib.texts import whole
from gangline.web.confirm import Question, ask
from workloads.selectors.first_steps import HIDDEN, SET_UP_HIDDEN

LIFETIMES = (7, 30, 90)


@login_required
@require_safe
def tokens_page(request: HttpRequest) -> HttpResponse:
    return _page(request)


@login_required
@require_POST
@sensitive_variables("made")
def token_create(request: HttpRequest) -> HttpResponse:
    """Make a token; its text is shown in this one answer and never again."""
    user = _user(request)
    name, days = request.POST.get("name", "").strip(), request.POST.get("days", "")
    try:
        made = make_token(user=user, name=name, days=whole(days) or 0, by=user)
    except CannotMake as refusal:
        return _page(request, token_problem=str(refusal), token_name=name, status=422)
    return _page(request, made=made)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def token_revoke(request: HttpRequest, kid: str) -> HttpResponse:
    user = _user(request)
    token = get_object_or_404(ApiToken, kid=kid, user=user, revoked_at=None)
    if request.method != "POST":
        return ask(
            request,
            Question(
                title=f"Revoke the token {token.name}?",
                text="Programs that use it are refused from now on. This cannot be undone.",
                verb="Revoke the token",
                action=request.path,
                cancel_url=reverse("tokens"),
                is_harmful=True,
            ),
        )
    revoke_token(token=token, by=user)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect("tokens")


def _page(request: HttpRequest, *, status: int = 200, **more: object) -> HttpResponse:
    user = _user(request)
    tokens = ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=db_now())
    context = {
        "tokens": tokens.order_by("-created_at"),
        "programs": programs_of(user),
        "lifetimes": LIFETIMES,
        # Its addresses are loaded when they are first asked for, so their names are not known yet.
        "contract_url": "/api/v1/openapi.yaml",
        "steps_hidden": any(user.preferences.get(one) for one in (HIDDEN, SET_UP_HIDDEN)),
        **more,
    }
    return render(request, "web/tokens.html", context, status=status)


def _user(request: HttpRequest) -> User:
    return actor_of(request, "form").user
