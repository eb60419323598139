"""What a provider says is believed only as it has to be said: ID tokens and answers."""

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from django.core.exceptions import ValidationError
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from gangline.identity import openid, transport
from gangline.identity.models import IdentityProvider, issuer_address
from gangline.identity.openid import Failed

ISSUER, NONCE = "https://login.example.com", "nonce-of-this-attempt"
KEY = RSAKey.generate_key(2048, {"kid": "first"})
OTHER = RSAKey.generate_key(2048, {"kid": "first"})
PROVIDER = IdentityProvider(issuer=ISSUER, client_id="gangline")
ABOUT = openid._About({"issuer": ISSUER}, KeySet([KEY]), float("inf"))
"""Read a moment ago, whenever that is."""


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """Nobody is asked for keys."""
    openid._known[openid._key(PROVIDER)] = ABOUT
    yield
    openid.forget()


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    found = {"iss": ISSUER, "aud": "gangline", "sub": "ada", "nonce": NONCE, "iat": now,
             "exp": now + 60}  # fmt: skip
    return {name: value for name, value in (found | changes).items() if value is not None}


def signed(key: Any = KEY, alg: str = "RS256", **changes: Any) -> str:
    return jwt.encode({"alg": alg, "kid": "first"}, claims(**changes), key, algorithms=[alg])


def by_hand(alg: str, secret: bytes = b"") -> str:
    """As no careful library writes one."""
    parts = ({"alg": alg, "kid": "first"}, claims())
    start = ".".join(_base64(json.dumps(one).encode()) for one in parts)
    mark = hmac.digest(secret, start.encode(), "sha256") if secret else b""
    return f"{start}.{_base64(mark)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def verified(text: Any) -> dict[str, Any]:
    return openid._verified(PROVIDER, ABOUT, {"id_token": text, "access_token": "a"}, NONCE)


def test_a_token_as_it_has_to_be() -> None:
    assert verified(signed())["sub"] == "ada"


BAD: dict[str, Callable[[], Any]] = {
    "signed by another": lambda: signed(OTHER),
    "not signed": lambda: by_hand("none"),
    "signed with what everybody knows": lambda: by_hand("HS256", KEY.as_pem(private=False)),
    "signed with the client secret": lambda: by_hand("HS256", b"tests-client-secret"),
    "of another issuer": lambda: signed(iss="https://evil.example"),
    "for another": lambda: signed(aud="other"),
    "for others too, and not said by whom": lambda: signed(aud=["gangline", "other"]),
    "given to another": lambda: signed(azp="other"),
    "expired": lambda: signed(exp=int(time.time()) - 120),
    "from the future": lambda: signed(iat=int(time.time()) + 600),
    "of another attempt": lambda: signed(nonce="another"),
    "of no attempt": lambda: signed(nonce=None),
    "about nobody": lambda: signed(sub=""),
    "about something else": lambda: signed(sub=7),
    "of another access token": lambda: signed(at_hash="AAAA"),
    "without an end": lambda: signed(exp=None),
    "no token": lambda: "x.y.z",
    "nothing": lambda: None,
    "too long": lambda: "x" * (1 << 17),
}


@pytest.mark.parametrize("made", BAD.values(), ids=BAD.keys())
def test_any_other_is_refused(made: Callable[[], Any]) -> None:
    with pytest.raises(Failed) as failed:
        verified(made())
    assert failed.value.code in ("token", "answer")


@pytest.mark.parametrize(
    "text",
    ["http://login.example.com", "ftp://x", "https://user:pw@x.example", "https://x/?a", "x",
     "https://127.1", "https://login.example.com/.well-known/openid-configuration"],
)  # fmt: skip
def test_addresses_that_no_issuer_has(text: str) -> None:
    with pytest.raises(ValidationError):
        issuer_address(text)


class _Hostile(BaseHTTPRequestHandler):
    """Answers by the first step of the path."""

    issuer: ClassVar[str] = ""

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        if kind == "moved":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        if kind == "huge":
            self.wfile.write(b" " * (transport.MOST_BYTES + 2))
        elif kind == "slow":
            for _ in range(40):
                self.wfile.write(b" " * transport._CHUNK)
                self.wfile.flush()
                time.sleep(0.01)
        elif kind == "deep":
            self.wfile.write(b"[" * 200_000)
        elif kind == "other":
            self.wfile.write(b'{"issuer": "https://evil.example"}')
        else:
            self.wfile.write(b"<html>")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to say."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hostile)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("loopback_admitted", "db")
@pytest.mark.parametrize(
    ("kind", "code"),
    [("huge", "unreachable"), ("slow", "unreachable"), ("moved", "unreachable"),
     ("deep", "answer"), ("html", "answer"), ("other", "issuer")],
)  # fmt: skip
def test_a_provider_that_misbehaves(
    hostile: str, kind: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "WHOLE_SECONDS", 0.1 if kind == "slow" else 8.0)
    with pytest.raises(Failed) as failed:
        openid._about(IdentityProvider(issuer=f"{hostile}/{kind}"))
    assert failed.value.code == code


def test_addresses_of_this_machine_are_not_dialled(hostile: str, db: None) -> None:
    with pytest.raises(Failed) as failed:
        openid._about(IdentityProvider(issuer=f"{hostile}/html"))
    assert failed.value.code == "unreachable"
