"""OpenID Connect as a client: authorization code with PKCE, state and nonce.

The protocol is Authlib's, the signatures are joserfc's; here stands what is asked of them.
https://openid.net/specs/openid-connect-core-1_0.html
"""

import json
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from gangline.db.sealed import key_file
from gangline.lib.sealing import CannotOpen, CannotSeal

from . import transport
from .models import IdentityProvider

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures of a private key. With a shared one whoever knows the client secret could sign."""
LEEWAY = 60
KNOWN_SECONDS = 600
"""So long what a provider tells about itself is taken from memory."""
AGAIN_SECONDS = 10
"""Its keys are asked for anew no more often, whoever sends tokens with unknown ones."""
_MOST_TOKEN = 64 << 10


class Failed(Exception):
    """Signing in with the provider did not work. ``code`` as in `words`; ``why`` for the log."""

    def __init__(self, code: str, why: str = "") -> None:
        super().__init__(f"{code}: {why}" if why else code)
        self.code, self.why = code, why


@dataclass(frozen=True, slots=True)
class Attempt:
    """What has to come back the same; lies in the session of who set out."""

    state: str
    nonce: str
    verifier: str
    provider: str
    redirect_uri: str
    target: str
    at: float
    connects: bool = False
    """Whether somebody who is signed in connects their account."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Told:
    """What the provider said about who signed in: verified claims."""

    subject: str
    claims: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _About:
    """A provider's description of itself, and since when we know it."""

    metadata: Mapping[str, Any]
    keys: KeySet
    at: float


_known: dict[str, _About] = {}
_lock = threading.Lock()


def forget() -> None:
    """Ask every provider anew."""
    _known.clear()


def set_out(
    provider: IdentityProvider, redirect_uri: str, target: str, *, connects: bool = False
) -> tuple[str, Attempt]:
    """The address at the provider to send the browser to. Raises Failed."""
    endpoint = _endpoint(_about(provider), "authorization_endpoint")
    attempt = Attempt(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        provider=str(provider.pk),
        redirect_uri=redirect_uri,
        target=target,
        at=time.time(),
        connects=connects,
    )
    with _client(provider, redirect_uri) as client:
        url, _ = client.create_authorization_url(
            endpoint, state=attempt.state, nonce=attempt.nonce, code_verifier=attempt.verifier
        )
    return str(url), attempt


def come_back(provider: IdentityProvider, attempt: Attempt, query: Mapping[str, str]) -> Told:
    """Who signed in, by the answer that the browser brings. Raises Failed."""
    if error := query.get("error"):
        denied = error in ("access_denied", "login_required", "interaction_required")
        raise Failed("denied" if denied else "provider", _plain(error))
    # RFC 9207: an answer that says whose it is must be of the provider that was asked.
    if query.get("iss", provider.issuer) != provider.issuer:
        raise Failed("token", "the answer is of another issuer")
    if not (code := query.get("code")):
        raise Failed("answer", "there is no code")
    about = _about(provider)
    with _client(provider, attempt.redirect_uri, about) as client:
        token = _token(client, _endpoint(about, "token_endpoint"), code, attempt.verifier)
        claims = _verified(provider, about, token, attempt.nonce)
        told = Told(str(claims["sub"]), claims)
        if not _lacks(provider, claims) or "userinfo_endpoint" not in about.metadata:
            return told
        return Told(told.subject, {**_user_info(client, about, told.subject), **claims})


def leave_url(provider: IdentityProvider, back: str) -> str:
    """Where one signs out at the provider, if it is known and says so. Asks nobody."""
    known = _known.get(_key(provider))
    endpoint = known.metadata.get("end_session_endpoint") if known else None
    if not isinstance(endpoint, str) or urlsplit(endpoint).scheme not in ("https", "http"):
        return ""
    mark = "&" if urlsplit(endpoint).query else "?"
    asked = {"client_id": provider.client_id, "post_logout_redirect_uri": back}
    return f"{endpoint}{mark}{urlencode(asked)}"


def _lacks(provider: IdentityProvider, claims: Mapping[str, Any]) -> bool:
    """Whether the token says less than what was asked for: many tell the rest only when asked."""
    wanted = (
        provider.username_claim,
        provider.email_claim,
        provider.name_claim,
        provider.groups_claim,
    )
    return any(name and name not in claims for name in wanted)


def _client(
    provider: IdentityProvider, redirect_uri: str, about: _About | None = None
) -> OAuth2Session:
    try:
        secret = key_file().keyring().open(provider.context, provider.sealed)
    except (CannotOpen, CannotSeal) as why:
        raise Failed("sealed", str(why)) from None
    client = OAuth2Session(
        provider.client_id,
        secret or None,
        scope=provider.scopes,
        redirect_uri=redirect_uri,
        code_challenge_method="S256",
        token_endpoint_auth_method=_method(secret, about),
    )
    transport.prepare(client)
    return client


def _method(secret: str, about: _About | None) -> str:
    if not secret:
        return "none"
    offered = about.metadata.get("token_endpoint_auth_methods_supported") if about else None
    if isinstance(offered, list) and "client_secret_basic" not in offered:
        return "client_secret_post"
    return "client_secret_basic"


def _token(client: OAuth2Session, endpoint: str, code: str, verifier: str) -> Mapping[str, Any]:
    try:
        token: Any = client.fetch_token(
            endpoint,
            grant_type="authorization_code",
            code=code,
            code_verifier=verifier,
            allow_redirects=False,
        )
    except OAuthError as error:
        spent = error.error == "invalid_grant"
        raise Failed("code" if spent else "client", _plain(str(error.error))) from None
    except requests.RequestException as error:
        raise Failed("unreachable", type(error).__name__) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Failed("answer", type(error).__name__) from None
    return dict(token)


def _verified(
    provider: IdentityProvider, about: _About, token: Mapping[str, Any], nonce: str
) -> dict[str, Any]:
    """The claims of the ID token, every one of them checked. Raises Failed."""
    text = token.get("id_token")
    if not isinstance(text, str) or len(text) > _MOST_TOKEN:
        raise Failed("answer", "there is no ID token")
    try:
        try:
            decoded = jwt.decode(text, about.keys, algorithms=list(ALGORITHMS))
        except (JoseError, ValueError):
            # Signed with a key that was not there when the provider was asked last.
            decoded = jwt.decode(text, _about(provider, than=about).keys, list(ALGORITHMS))
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": about.metadata["issuer"]},
                "aud": {"essential": True, "value": provider.client_id},
                "sub": {"essential": True},
                "nonce": {"essential": True},
            },
            params={
                "nonce": nonce,
                "client_id": provider.client_id,
                "access_token": token.get("access_token"),
            },
        )
        claims.validate(leeway=LEEWAY)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Failed("token", f"{type(error).__name__} {error}"[:200]) from None
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= 255 or "\0" in subject:
        raise Failed("token", "sub is no text of 255 characters")
    return dict(claims)


def _user_info(client: OAuth2Session, about: _About, subject: str) -> dict[str, Any]:
    try:
        answer = client.get(_endpoint(about, "userinfo_endpoint"), allow_redirects=False)
        found = _object(answer)
    except requests.RequestException as error:
        raise Failed("unreachable", type(error).__name__) from None
    except (OAuthError, ValueError, RecursionError) as error:
        raise Failed("answer", type(error).__name__) from None
    if found.get("sub") != subject:
        # Another person's, or nobody's: what it says is about somebody else.
        raise Failed("token", "userinfo is about another subject")
    return found


def _about(provider: IdentityProvider, than: _About | None = None) -> _About:
    """What the provider says about itself; newer than ``than``, unless that is very new."""
    key = _key(provider)
    with _lock:
        known = _known.get(key)
    fresh = AGAIN_SECONDS if than is not None else KNOWN_SECONDS
    if known is not None and time.monotonic() - known.at < fresh:
        return known
    try:
        with transport.session() as session:
            metadata = _object(session.get(provider.discovery_url, allow_redirects=False))
            if metadata.get("issuer") != provider.issuer:
                raise Failed("issuer", _plain(str(metadata.get("issuer"))))
            address = _endpoint(_About(metadata, KeySet([]), 0), "jwks_uri")
            keys = _object(session.get(address, allow_redirects=False))
        found = _About(metadata, _keys(keys), time.monotonic())
    except requests.RequestException as error:
        raise Failed("unreachable", type(error).__name__) from None
    except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise Failed("answer", type(error).__name__) from None
    with _lock:
        _known[key] = found
    return found


def _keys(found: Mapping[str, Any]) -> KeySet:
    """The keys that sign. One of a kind that we do not know is as good as none."""
    usable = [
        one
        for one in found["keys"]
        if isinstance(one, dict)
        and one.get("kty") in ("RSA", "EC", "OKP")
        and one.get("use", "sig") == "sig"
    ]
    return KeySet.import_key_set({"keys": usable})


def _key(provider: IdentityProvider) -> str:
    return f"{provider.pk} {provider.version}"


def _endpoint(about: _About, name: str) -> str:
    """An address that the provider names: on this machine alone without TLS. Raises Failed."""
    found = about.metadata.get(name)
    parts = urlsplit(found) if isinstance(found, str) else None
    issuer = urlsplit(str(about.metadata["issuer"]))
    if parts is None or not parts.hostname or parts.scheme not in ("https", issuer.scheme):
        raise Failed("answer", f"{name} is not an address")
    return str(found)


def _object(answer: requests.Response) -> dict[str, Any]:
    if answer.status_code != 200:
        raise Failed("unreachable", f"status {answer.status_code}")
    found = json.loads(answer.content)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _plain(text: str) -> str:
    return "".join(c for c in text if c.isascii() and c.isprintable())[:200]
