"""`/device`: the code of a program that wants to be let in, and what was let in before."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from gangline.access.actor import actor_of
from gangline.accounts import devices
from gangline.accounts.models import DeviceRequest, TokenSession, User
from gangline.audit import actions
from gangline.audit.services import record
from gangline.web.confirm import Question, ask

UNKNOWN = "No program is waiting with this code. Check it, or start again in the program."
TOO_MANY = "Too many wrong codes. Try again in ten minutes."


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def device(request: HttpRequest) -> HttpResponse:
    """Type the code, see who asks, and let it in or turn it away.

    An address with a code shows who asks, and lets nobody in.
    """
    user = _user(request)
    typed = (request.POST.get("code") or request.GET.get("code") or "")[:40]
    if not typed.strip():
        return _page(request)
    try:
        asked = devices.waiting(request, user, typed)
    except devices.TooMany:
        return _page(request, typed, problem=TOO_MANY, status=429)
    if asked is None:
        return _page(request, typed, problem=UNKNOWN, status=422)
    decision = request.POST.get("_go", "") if request.method == "POST" else ""
    if decision not in ("allow", "deny"):
        return _page(request, typed, asked=asked)
    is_allowed = decision == "allow"
    if not devices.decide(asked, user, request, is_allowed=is_allowed):
        return _page(request, typed, problem=UNKNOWN, status=422)
    return _page(request, decided="allowed" if is_allowed else "denied", name=asked.name)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def program_end(request: HttpRequest, session_id: str) -> HttpResponse:
    """Sign program out that was let in by its code."""
    user = _user(request)
    session = get_object_or_404(
        TokenSession.objects.exclude(name=""), pk=session_id, user=user, client=None
    )
    if request.method != "POST":
        return ask(
            request,
            Question(
                title=f"Sign {session.name} out?",
                text="It loses access immediately, until it is authorized again.",
                verb="Sign it out",
                action=request.path,
                cancel_url="/account/tokens",
                is_harmful=True,
            ),
        )
    session.delete()
    record(
        actor=actor_of(request, "form"),
        action=actions.PROGRAM_END,
        object_type="program",
        object_name=session.name,
    )
    messages.success(request, f"{session.name} is signed out.")
    return redirect("tokens")


def _page(
    request: HttpRequest,
    typed: str = "",
    *,
    asked: DeviceRequest | None = None,
    status: int = 200,
    **more: object,
) -> HttpResponse:
    context = {"typed": typed.strip().upper(), "asked": asked, **more}
    return render(request, "web/device.html", context, status=status)


def _user(request: HttpRequest) -> User:
    return actor_of(request, "form").user
