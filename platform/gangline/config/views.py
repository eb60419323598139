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
from gangline.accounts.forms import TokenForm
from gangline.accounts.models import ApiToken, User
from gangline.accounts.services import CannotMake, make_token, revoke_token
from gangline.db.clock import db_now
from gangline.forms.bound import field_view, summary
from gangline.web.confirm import Question, ask
from workloads.selectors.first_steps import HIDDEN, SET_UP_HIDDEN


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
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        made = make_token(user=user, by=user, **form.cleaned_data)
    except CannotMake as refusal:
        form.add_error("name", str(refusal))
        return _page(request, form, status=422)
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
                text="Programs that use it lose access immediately. This cannot be undone.",
                verb="Revoke the token",
                action=request.path,
                cancel_url=reverse("tokens"),
                is_harmful=True,
            ),
        )
    revoke_token(token=token, by=user)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect("tokens")


def _page(
    request: HttpRequest, form: TokenForm | None = None, *, status: int = 200, **more: object
) -> HttpResponse:
    user = _user(request)
    form = form or TokenForm()
    tokens = ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=db_now())
    context = {
        "tokens": tokens.order_by("-created_at"),
        "programs": programs_of(user),
        "lines": [[field_view(form[name]) for name in line] for line in form.LINES],
        "problems": summary(form),
        # Its addresses are loaded when they are first asked for, so their names are not known yet.
        "reference_url": "/api/v1/docs",
        "steps_hidden": any(user.preferences.get(one) for one in (HIDDEN, SET_UP_HIDDEN)),
        **more,
    }
    return render(request, "web/tokens.html", context, status=status)


def _user(request: HttpRequest) -> User:
    return actor_of(request, "form").user
