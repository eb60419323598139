"""``login``, ``logout`` and ``whoami``."""

import sys
import time
from typing import Any

import click

from gangline_sdk.errors import NotSignedIn
from gangline_sdk.stored import Stored

from . import devices, output
from .session import AGENT, Session, Usage, _without_the_command_of_httpx, connected, note
from .session import output as output_option

WAYS = ("device", "user", "application", "token")
Json = dict[str, Any]


@click.command()
@click.argument("words", nargs=-1, metavar="[device|user|application|token] [ADDRESS]")
@click.option("--url", metavar="ADDRESS", help="The server; the last one by default.")
@click.option("-u", "--user", metavar="NAME", help="Sign in with a user name and a password.")
@click.option(
    "--password", metavar="TEXT", help=("Visible to others on this machine; prefer the prompt.")
)
@click.option("--password-stdin", is_flag=True, help="Read password, secret or token from a pipe.")
@click.option("--client-id", "--name", metavar="ID", help="Of an access key or service account.")
@click.option("--client-secret", "--secret", metavar="TEXT", help="As --password.")
@click.option("--token", metavar="TEXT", help="A token that you have; as --password.")
@click.option("--ca-file", metavar="FILE", help="Certificates to trust.")
def login(words: tuple[str, ...], **given: Any) -> None:
    """Sign in, with a browser unless you say otherwise.

    \b
    gangline login https://gangline.example.com          a page to open, here or elsewhere
    gangline login user                                  user name and password
    gangline login application --client-id ID            an access key, which renews itself
    gangline login token                                 a token of the page API tokens
    """
    way, address = _way(words, given)
    stored = Stored.load()
    secret = sys.stdin.readline().rstrip("\r\n") if given["password_stdin"] else ""
    _without_the_command_of_httpx()
    import os

    from gangline_sdk.clients import Client
    from gangline_sdk.clients import address as whole
    from gangline_sdk.credentials import Credentials

    url = whole(address or os.environ.get("GANGLINE_URL", "") or stored.url or _asked("Address"))
    credentials = Credentials(**_secrets(way, given, secret))
    with Client(
        url, credentials=credentials, ca_file=given["ca_file"] or "", agent=AGENT
    ) as client:
        if way == "device":
            _take(credentials, devices.tokens(client))
        who = client.me()
    keep: Json = {"token": credentials.token, "ends": credentials.ends}
    if way == "application":
        keep |= {"client_id": credentials.client_id, "client_secret": credentials.client_secret}
    elif way in ("user", "device"):
        keep |= {"refresh": credentials.refresh}
    stored = Stored.load()
    stored.url = url
    stored.servers.setdefault(url, {})
    stored.secrets[url] = keep
    stored.save()
    click.echo(f"Signed in to {url} as {who['username']}.")


def _way(words: tuple[str, ...], given: Json) -> tuple[str, str]:
    way = words[0] if words and words[0] in WAYS else ""
    rest = words[1:] if way else words
    if len(rest) > 1:
        raise Usage(f"Name one address, not {len(rest)}.")
    given_ways = [
        name
        for name, flag in (("user", "user"), ("application", "client_id"), ("token", "token"))
        if given[flag]
    ]
    if len(given_ways) > 1 or (way and given_ways and given_ways != [way]):
        raise Usage("Sign in one way: --user, --client-id or --token.")
    # Where a password comes by a flag or a pipe there is a name to it; where nobody looks at the
    # screen nobody would open a page.
    with_password = given["password"] or given["password_stdin"] or not sys.stderr.isatty()
    usual = "user" if with_password else "device"
    return way or (given_ways or [usual])[0], (rest[0] if rest else given["url"] or "")


def _take(credentials: Any, granted: Json) -> None:
    credentials.token = granted["access_token"]
    credentials.refresh = granted["refresh_token"]
    credentials.ends = time.time() + float(granted["expires_in"])


def _secrets(way: str, given: Json, secret: str) -> Json:
    if way == "device":
        return {}
    if way == "token":
        return {"token": given["token"] or secret or _asked("Token", hidden=True)}
    if way == "application":
        return {
            "client_id": given["client_id"] or _asked("Client ID"),
            "client_secret": given["client_secret"] or secret or _asked("Secret", hidden=True),
        }
    return {
        "username": given["user"] or _asked("User name"),
        "password": given["password"] or secret or _asked("Password", hidden=True),
    }


def _asked(what: str, *, hidden: bool = False) -> str:
    if not sys.stdin.isatty():
        flag = {
            "Token": "--token",
            "Client ID": "--client-id",
            "User name": "--user",
            "Address": "ADDRESS",
        }.get(what, "--password-stdin")
        raise Usage(f"{flag}: there is no terminal to ask on. In a browser: login device.")
    return str(click.prompt(what, hide_input=hidden, err=True))


@click.command()
@connected
def logout(session: Session, /) -> None:
    """Forget the credentials of the server. Tokens of an access key end within the hour."""
    url = session._url or session.stored.url
    if session.stored.secrets.pop(url.rstrip("/"), None) is None:
        note("You were not signed in.")
        return
    session.stored.save()
    click.echo(f"Signed out of {url}.")


@click.command()
@output_option
@connected
def whoami(session: Session, /, form: str) -> None:
    """Who is signed in, where, and which project commands work in."""
    who: Any = session.client.me()
    known = {
        "username": who["username"],
        "server": session.client.url,
        "project": session.project,
        "cluster": session.cluster,
    }
    if form in ("json", "yaml"):
        output.data(who | {k: v for k, v in known.items() if k != "username"}, form)
        return
    output.facts((key.capitalize(), str(value)) for key, value in known.items())


__all__ = ["NotSignedIn", "login", "logout", "whoami"]
