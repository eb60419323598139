"""What a client signs in with; it gets new tokens before the old ones end."""

import base64
import binascii
import json
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from .errors import GanglineError, Invalid, NotSignedIn, of_answer

EARLY = 30
"""Seconds before its end in which a token is not used any more."""
Granted = Callable[[Mapping[str, Any]], None]


@dataclass
class Credentials(httpx.Auth):
    """A fixed token; or an access key, a password or a refresh token that gets tokens.

    ``granted`` is told each new set of tokens: access, refresh and when the access token ends.
    """

    requires_response_body = True
    token: str = ""
    ends: float = 0.0
    """When the token ends, in seconds since 1970; 0: not known."""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)
    granted: Granted | None = field(default=None, repr=False)
    url: str = ""
    """Of the server: tokens are sent to no other."""

    @property
    def can_renew(self) -> bool:
        return bool(self.client_id or self.username or self.refresh)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the token, with a new one before if the old one ends, and once after a 401."""
        if self._is_stale() and self.can_renew:
            self._take((yield self._grant()))
        if not self.token:
            raise NotSignedIn("You are not signed in.")
        used = self.token
        request.headers["Authorization"] = f"Bearer {used}"
        answer = yield request
        if answer.status_code != 401 or not self.can_renew:
            return
        if used == self.token:
            self._take((yield self._grant()))
        request.headers["Authorization"] = f"Bearer {self.token}"
        yield request

    def _is_stale(self) -> bool:
        return not self.token or (self.ends > 0 and time.time() > self.ends - EARLY)

    def _grant(self) -> httpx.Request:
        body = {
            "client_credentials": {"clientID": self.client_id, "clientSecret": self.client_secret},
            "password": {"username": self.username, "password": self.password},
            "refresh_token": {"refreshToken": self.refresh},
        }
        grant = "refresh_token" if self.refresh else "password"
        grant = "client_credentials" if self.client_id else grant
        address = f"{self.url}/api/v1/token"
        return httpx.Request("POST", address, json={"grantType": grant, **body[grant]})

    def _take(self, answer: httpx.Response) -> None:
        try:
            body = answer.json()
        except ValueError:
            body = {}
        if answer.status_code != 200 or not isinstance(body, dict) or "accessToken" not in body:
            raise _refused(answer.status_code, body)
        self.token = str(body["accessToken"])
        self.ends = time.time() + float(body.get("expiresIn") or 0)
        if not self.client_id:
            self.refresh = str(body.get("refreshToken") or "")
        if self.granted is not None:
            self.granted({"token": self.token, "ends": self.ends, "refresh": self.refresh})


def _refused(status: int, body: Any) -> GanglineError:
    error = of_answer(status, body)
    if not isinstance(error, Invalid):
        return error
    told = " ".join(f"{one.get('path')} {one.get('message')}." for one in error.problems)
    return NotSignedIn("The server does not accept these credentials.", status=status, details=told)


def named_in(token: str) -> str:
    """The name in an access token, which is not checked here; empty where there is none."""
    try:
        middle = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return str(claims.get("preferred_username") or claims.get("username") or "")
    except (IndexError, ValueError, AttributeError, binascii.Error):
        return ""
