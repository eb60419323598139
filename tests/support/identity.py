"""A real OpenID Connect provider for tests, oidc-provider of npm, and a browser that uses it."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3
from django.test import Client

from gangline.identity.models import IdentityProvider
from gangline.resources.services import make
from scripts.services import free_port
from tests.support.oidc.installing import HERE, folder
from tests.support.waiting import wait_for

SECRET = "tests-client-secret"
_LOCATION = re.compile(r'action="([^"]+)"')


@dataclass
class Company:
    """The provider, and what it says about its people by their ``sub``."""

    issuer: str
    people: Path

    def knows(self, subject: str, **claims: Any) -> None:
        known = json.loads(self.people.read_text())
        known[subject] = claims
        self.people.write_text(json.dumps(known))

    def provider(self, **values: Any) -> IdentityProvider:
        """It, as Gangline knows it."""
        given = {
            "alias": "company",
            "name": "Company",
            "issuer": self.issuer,
            "client_id": "gangline",
            "scopes": "openid profile email groups",
        }
        secret = values.pop("client_secret", SECRET)
        made: IdentityProvider = make(
            "identity_provider", parts={"client_secret": secret}, **given | values
        )
        return made

    def is_up(self) -> bool:
        try:
            address = f"{self.issuer}/.well-known/openid-configuration"
            return urllib3.request("GET", address, retries=False).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def sign_in(self, address: str, subject: str) -> str:
        """Sign in and consent at the provider, as a browser does; returns where it sends us."""
        browser = _Browser(self.issuer)
        page = browser.get(address)
        for prompt in ("login", "consent"):
            if page.status != 200:
                break
            action = _LOCATION.search(page.data.decode())
            assert action is not None, page.data
            given = {"prompt": prompt, "login": subject, "password": "any"}
            page = browser.post(action[1], given)
        location = page.headers.get("Location", "")
        assert location, page.data
        return location


class _Browser:
    """Follows redirects within the provider, and keeps its cookies."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.cookies: dict[str, str] = {}
        self.pool = urllib3.PoolManager(retries=False)

    def get(self, address: str) -> urllib3.BaseHTTPResponse:
        return self._follow(self._send("GET", address))

    def post(self, address: str, fields: dict[str, str]) -> urllib3.BaseHTTPResponse:
        return self._follow(self._send("POST", address, fields=fields, encode_multipart=False))

    def _follow(self, answer: urllib3.BaseHTTPResponse) -> urllib3.BaseHTTPResponse:
        location = answer.headers.get("Location", "")
        if location.startswith("/"):
            location = self.origin + location
        return self.get(location) if location.startswith(self.origin) else answer

    def _send(self, method: str, address: str, **more: Any) -> urllib3.BaseHTTPResponse:
        if address.startswith("/"):
            address = self.origin + address
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        answer = self.pool.request(method, address, headers=sent, redirect=False, **more)
        for line in answer.headers.getlist("Set-Cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer


@contextmanager
def serving(place: Path) -> Iterator[Company]:
    issuer, people = f"http://127.0.0.1:{free_port()}", place / "people.json"
    people.write_text("{}")
    line = ["node", str(HERE / "provider.mjs"), str(folder()), issuer, str(people)]
    with (place / "log.txt").open("wb") as log:
        process = subprocess.Popen(line, stdout=log, stderr=log)
    company = Company(issuer, people)
    try:
        wait_for(company.is_up, seconds=30, what="the identity provider")
        yield company
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    """One provider for all tests."""
    with serving(tmp_path_factory.mktemp("company")) as made:
        yield made


def begin(client: Client, alias: str = "company", target: str = "") -> str:
    """Where Gangline sends who wants to sign in."""
    answer = client.get(f"/login/with/{alias}", {"next": target} if target else {})
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def come_back(client: Client, location: str) -> Any:
    """Follow the provider's redirect to Gangline."""
    assert location.startswith("http://testserver/"), location
    return client.get(location.removeprefix("http://testserver"))
