"""Sign in, sign out, sign-in links."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import login, logout
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from gangline.lib.answers import API_PREFIXES, error_body
from gangline.settings.catalogue import SIGNED_OUT_URL, SSO_REDIRECT
from gangline.settings.values import value_of

from . import middleware, signals, ways
from .forms import LOCKED, NewPasswordForm, SignInForm
from .models import SignInLink, User
from .services import live_link, use_sign_in_link

SESSION_ENDED = "You were signed out due to inactivity. What you typed is saved."
LINK_SPENT = "This link has expired or was already used."
_MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The sign-in page. ``next`` is where the person wanted to go, if that is ours."""
    target = local_target(request, request.POST.get("next") or request.GET.get("next") or "")
    if request.method != "POST":
        if request.user.is_authenticated:
            return HttpResponseRedirect(target or resolve_url(settings.LOGIN_REDIRECT_URL))
        if (elsewhere := _elsewhere(request, target)) is not None:
            return elsewhere
        return _page(request, SignInForm(request), target)
    form = SignInForm(request, request.POST)
    if not form.is_valid():
        return _page(request, form, target, status=422)
    if form.user is None:
        return _page(request, form, target, status=422)
    login(request, form.user, backend=_MODEL_BACKEND)
    if form.user.password_is_temporary:
        request.session[middleware.NEW_PASSWORD] = True
        return HttpResponseRedirect(resolve_url("account-password"))
    return HttpResponseRedirect(target or resolve_url(settings.LOGIN_REDIRECT_URL))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session; the next page is the sign-in page."""
    came_by = request.session.get(ways.CAME_BY, "")
    logout(request)
    tells = came_by or value_of(SIGNED_OUT_URL)
    left = f"?{urlencode({'left': came_by})}" if tells else ""
    return HttpResponseRedirect(resolve_url("login") + left)


def _elsewhere(request: HttpRequest, target: str) -> HttpResponse | None:
    """Where the settings lead who has signed out, or who comes to sign in; None: nowhere."""
    if "left" in request.GET:
        url = value_of(SIGNED_OUT_URL)
        if not url:
            return None
        answer = _page(request, SignInForm(request), target)
        # Browsers do not follow a redirect of a form to another site; this is none.
        answer["Refresh"] = f"0; url={url}"
        return answer
    alias = value_of(SSO_REDIRECT)
    if not alias or "here" in request.GET:
        return None
    way = next((one for one in ways.offered(request, target) if one.key == alias), None)
    return HttpResponseRedirect(way.url) if way else None


@require_http_methods(["GET", "HEAD", "POST"])
def enter(request: HttpRequest, secret: str) -> HttpResponse:
    """A sign-in link. Opened by a person in a browser it signs in at once.

    Chat programs and mail scanners fetch links, and other sites may link here: they get a page with
    one button, and only its POST spends the link.
    """
    link = live_link(secret)
    needs_password = link is not None and link.purpose == SignInLink.Purpose.INVITE
    password = None
    if link is not None and needs_password:
        form = NewPasswordForm(link.user, request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return _link_page(request, link, form)
        password = form.cleaned_data["new_password1"]
    elif request.method != "POST" and not _opened_by_hand(request):
        return _link_page(request, link)
    user = use_sign_in_link(secret, password)
    if user is None:
        return _link_page(request, None)
    login(request, user, backend=_MODEL_BACKEND)
    signals.link_used.send(sender=User, user=user, request=request)
    return HttpResponseRedirect(resolve_url(settings.LOGIN_REDIRECT_URL))


def locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: Any = None
) -> HttpResponse:
    """Answer of django-axes after too many tries: neutral, and the typed name is kept."""
    if request.path.startswith(API_PREFIXES):
        later = {"Retry-After": str(round(settings.AXES_COOLOFF_TIME * 3600))}
        return JsonResponse(error_body(429, LOCKED), status=429, headers=later)
    if response is not None and request.path == resolve_url("account-password"):
        response.status_code = 429
        return response
    form = SignInForm(request, request.POST, locked=True)
    target = local_target(request, request.POST.get("next", ""))
    return _page(request, form, target, status=429)


def local_target(request: HttpRequest, target: str) -> str:
    """``target`` when it is a path of this site, else the empty string."""
    safe = (
        target.startswith("/")
        and not any(ord(c) < 0x21 for c in target)
        and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    )
    return target if safe else ""


def _opened_by_hand(request: HttpRequest) -> bool:
    """Typed, pasted or clicked in a terminal: no site sent the browser, nothing prefetches."""
    fetch = request.headers
    return (
        request.method == "GET"
        and not request.user.is_authenticated
        and fetch.get("Sec-Fetch-Site") == "none"
        and fetch.get("Sec-Fetch-Mode") == "navigate"
        and fetch.get("Sec-Fetch-Dest") == "document"
        and not fetch.get("Sec-Purpose")
        and not fetch.get("Purpose")
    )


def _link_page(
    request: HttpRequest, link: SignInLink | None, form: BaseForm | None = None
) -> HttpResponse:
    context = {
        "username": link.user.username if link else "",
        "problem": "" if link else LINK_SPENT,
        "form": form,
    }
    status = 410 if link is None else 422 if form is not None and form.errors else 200
    return render(request, "accounts/sign_in_link.html", context, status=status)


def sign_in_page(
    request: HttpRequest, target: str, *, problem: str = "", status: int = 200
) -> HttpResponse:
    """The page with an empty form; ``problem``: why another way in has failed."""
    return _page(request, SignInForm(request), target, status=status, problem=problem)


def _page(
    request: HttpRequest, form: SignInForm, target: str, status: int = 200, problem: str = ""
) -> HttpResponse:
    ended = "gangline.session_ended" in request.META
    offered = ways.offered(request, target)
    left = request.GET.get("left", "")
    context = {
        "form": form,
        "next": target,
        "notice": SESSION_ENDED if ended else "",
        "problem": problem,
        "ways": offered,
        "left": next((way for way in offered if left and way.key == left), None),
    }
    return render(request, "accounts/login.html", context, status=status)
