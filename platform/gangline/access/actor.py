"""Who acts and by which way: handed to every service that changes something."""

from dataclasses import dataclass
from typing import Any, Literal

from django.http import HttpRequest

from gangline.accounts.models import ApiToken, TokenSession, User

Channel = Literal["form", "api", "cli", "yaml", "system"]


@dataclass(frozen=True, slots=True)
class Actor:
    user: User
    channel: Channel
    token_kid: str = ""
    address: str = ""
    request_id: str = ""

    @property
    def name(self) -> str:
        return self.user.username


def actor_of(request: HttpRequest, channel: Channel) -> Actor:
    """The signed-in person behind a Django or DRF request."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("actor_of needs a request of a signed-in person")
    token = getattr(request, "auth", None)
    return Actor(
        user=user,
        channel=channel,
        token_kid=token.kid if isinstance(token, ApiToken | TokenSession) else "",
        address=request.META.get("REMOTE_ADDR") or "",
        request_id=request.META.get("gangline.request_id", ""),
    )


COMMAND_LINE = "gangline-cli/"
"""How the product's own command line begins its ``User-Agent``."""


def acting(request: Any) -> Actor:
    """Who calls the API: by token as ``api`` or ``cli``, from a page as ``form``."""
    if request.auth is None:
        return actor_of(request, "form")
    is_cli = request.headers.get("User-Agent", "").startswith(COMMAND_LINE)
    return actor_of(request, "cli" if is_cli else "api")
