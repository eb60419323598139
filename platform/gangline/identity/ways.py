"""The buttons of the sign-in page."""

from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from gangline.accounts.models import User
from gangline.accounts.ways import Way
from gangline.db.once import once

from . import openid
from .models import ExternalIdentity, IdentityProvider


def enabled() -> list[IdentityProvider]:
    rows = IdentityProvider.objects.filter(is_enabled=True).order_by("name", "pk")
    return once("identity providers", lambda: list(rows))


def offered(request: HttpRequest, target: str) -> list[Way]:
    back = request.build_absolute_uri(reverse("login"))
    return [_way(provider, target, back) for provider in enabled()]


def _way(provider: IdentityProvider, target: str, back: str) -> Way:
    at = reverse("provider-begin", args=[provider.alias])
    wanted = f"?{urlencode({'next': target})}" if target else ""
    leave = openid.leave_url(provider, back)
    return Way(provider.alias, provider.name, f"{at}{wanted}", leave)


def connections(user: User) -> list[tuple[str, str]]:
    """The providers that somebody can sign in with; an address where they cannot yet."""
    known = set(ExternalIdentity.objects.filter(user=user).values_list("provider", flat=True))
    return [
        (one.name, "" if one.pk in known else reverse("provider-connect", args=[one.alias]))
        for one in enabled()
    ]
