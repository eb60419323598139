"""Light, dark, or as the system says."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from gangline.web.navigation import THEME_COOKIE, THEMES

_YEAR_SECONDS = 365 * 86400


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Remember the theme in a cookie and go back; an unknown theme changes nothing."""
    response = HttpResponseRedirect(_local(request.POST.get("next", "/")))
    theme = request.POST.get("theme")
    if theme in THEMES:
        response.set_cookie(
            THEME_COOKIE,
            theme,
            max_age=_YEAR_SECONDS,
            secure=request.is_secure(),
            httponly=True,
            samesite="Lax",
        )
    return response


def _local(address: str) -> str:
    is_local = address.startswith("/") and url_has_allowed_host_and_scheme(
        address, allowed_hosts=None
    )
    return address if is_local else "/"
