"""Setting out to a provider, and coming back."""

import time
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, resolve_url
from django.urls import reverse
from django.views.decorators.http import require_GET

from gangline.accounts.models import User
from gangline.accounts.views import local_target, sign_in_page
from gangline.accounts.ways import CAME_BY
from gangline.audit import actions
from gangline.audit.receivers import kept_out

from . import openid
from .models import IdentityProvider
from .openid import Attempt, Failed
from .people import connect, enter
from .words import WORDS

ATTEMPTS = "identity_attempts"
MOST_ATTEMPTS = 5
MOST_SECONDS = 600
_MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@require_GET
def begin(request: HttpRequest, alias: str) -> HttpResponse:
    """To the provider. ``next`` is where the person wanted to go, if that is ours."""
    target = local_target(request, request.GET.get("next", ""))
    if request.user.is_authenticated:
        return HttpResponseRedirect(target or resolve_url(settings.LOGIN_REDIRECT_URL))
    return _begin(request, _provider(alias), target)


@login_required
@require_GET
def begin_connecting(request: HttpRequest, alias: str) -> HttpResponse:
    """The same for who is signed in, to come this way, too, from now on."""
    return _begin(request, _provider(alias), reverse("account"), connects=True)


@require_GET
def come_back(request: HttpRequest, alias: str) -> HttpResponse:
    """From the provider. Whatever is wrong ends on the sign-in page, in words."""
    provider = _provider(alias)
    attempt = _taken(request, provider)
    if attempt is None:
        return _refused(request, provider, Failed("state"), "")
    connects = attempt.connects and isinstance(request.user, User)
    if attempt.connects != request.user.is_authenticated:
        return _refused(request, provider, Failed("state"), attempt.target)
    try:
        told = openid.come_back(provider, attempt, request.GET.dict())
        if connects:
            connect(provider, told, request.user)  # type: ignore[arg-type]
            messages.success(request, f"You can now sign in with {provider.name}.")
            return redirect("account")
        user = enter(provider, told)
    except Failed as failed:
        return _refused(request, provider, failed, attempt.target)
    login(request, user, backend=_MODEL_BACKEND)
    request.session[CAME_BY] = provider.alias
    target = local_target(request, attempt.target)
    return HttpResponseRedirect(target or resolve_url(settings.LOGIN_REDIRECT_URL))


def redirect_uri(request: HttpRequest, provider: IdentityProvider) -> str:
    """What the provider must know as the address to send people back to."""
    at = reverse("provider-come-back", args=[provider.alias])
    if public := settings.GANGLINE.public_url:
        return f"{public.rstrip('/')}{at}"
    return request.build_absolute_uri(at)


def _begin(
    request: HttpRequest, provider: IdentityProvider, target: str, *, connects: bool = False
) -> HttpResponse:
    at = redirect_uri(request, provider)
    try:
        url, attempt = openid.set_out(provider, at, target, connects=connects)
    except Failed as failed:
        return _refused(request, provider, failed, target)
    # Several tabs may set out at the same time.
    kept = [*request.session.get(ATTEMPTS, ()), attempt.as_json()][-MOST_ATTEMPTS:]
    request.session[ATTEMPTS] = kept
    if not request.user.is_authenticated:
        request.session.set_expiry(MOST_SECONDS)
    return HttpResponseRedirect(url)


def _taken(request: HttpRequest, provider: IdentityProvider) -> Attempt | None:
    """What was set out with, for one return."""
    given = request.GET.get("state", "")
    kept: list[dict[str, Any]] = request.session.get(ATTEMPTS, [])
    found = next((one for one in kept if given and one["state"] == given), None)
    if found is None or found["provider"] != str(provider.pk):
        return None
    left = [one for one in kept if one is not found]
    request.session[ATTEMPTS] = left
    request.session.save()
    attempt = Attempt(**found)
    return attempt if time.time() - attempt.at < MOST_SECONDS else None


def _refused(
    request: HttpRequest, provider: IdentityProvider, failed: Failed, target: str
) -> HttpResponse:
    kept_out(actions.SIGN_IN_FAILED, "", request, f"{provider.name}: {failed}")
    told = WORDS[failed.code].format(name=provider.name)
    if isinstance(request.user, User):
        messages.error(request, told)
        return redirect("account")
    status = 502 if failed.code in ("unreachable", "answer", "issuer") else 403
    return sign_in_page(request, target, problem=told, status=status)


def _provider(alias: str) -> IdentityProvider:
    found = IdentityProvider.objects.filter(alias=alias, is_enabled=True).first()
    if found is None:
        raise Http404
    return found
