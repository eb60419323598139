"""Signing in with a browser, which may be on another machine (RFC 8628)."""

import platform
import time
from typing import TYPE_CHECKING, Any

import click

from gangline_sdk.errors import GanglineError, NotSignedIn, Unreachable, of_answer

from .session import note

if TYPE_CHECKING:
    import httpx

    from gangline_sdk import Client

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SLOWER = 5
Json = dict[str, Any]


def tokens(client: "Client") -> Json:
    """The tokens that the server gives once somebody has confirmed the code. Raises NotSignedIn."""
    name = f"gangline on {platform.node() or 'a machine'}"
    asked = _sent(client, "v1/device", {"client_id": name})
    if asked.is_error:
        raise _error(asked)
    found: Json = asked.json()
    note(f"Open {found['verification_uri_complete']}")
    note(f"and allow the program with the code {click.style(found['user_code'], bold=True)}.")
    return _waited(client, found)


def _waited(client: "Client", asked: Json) -> Json:
    wait, deadline = float(asked["interval"]), time.monotonic() + float(asked["expires_in"])
    form = {"grant_type": GRANT, "device_code": asked["device_code"]}
    while time.monotonic() < deadline:
        time.sleep(wait)
        try:
            answer = _sent(client, "v2/token", form)
        except Unreachable:
            continue  # a line that is down for a moment ends nothing
        if answer.is_success:
            return dict(answer.json())
        code = _code(answer)
        if code == "slow_down":
            wait += SLOWER
        elif code == "access_denied":
            raise NotSignedIn("Access was denied.")
        elif code == "expired_token":
            break
        elif code != "authorization_pending" and answer.status_code not in (429, 503):
            raise _error(answer)
    raise NotSignedIn("The code was not confirmed in time. Start again.")


def _sent(client: "Client", path: str, form: Json) -> "httpx.Response":
    import httpx

    options = client._options() | {"auth": None}
    try:
        with httpx.Client(**options) as http:
            return http.post(path, data=form)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise client._unreachable(error) from error


def _code(answer: "httpx.Response") -> str:
    try:
        body = answer.json()
    except ValueError:
        return ""
    return str(body.get("error", "")) if isinstance(body, dict) else ""


def _error(answer: "httpx.Response") -> GanglineError:
    if answer.status_code == 404:
        return NotSignedIn("This server does not support it; use --user, --token or a key.")
    try:
        body = answer.json()
    except ValueError:
        body = None
    return of_answer(answer.status_code, body)
