"""How many requests of one caller are answered in a minute; who sends more is told to come again.

Callers are told apart by token, by person (all their tokens together) and, while they sign in, by
address. Pages do not count: what a person does in the browser never waits for their scripts.
"""

import logging
import time
from ipaddress import IPv6Address, ip_network
from typing import Any, ClassVar

from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from gangline.accounts.models import ApiToken, TokenSession, address_of
from gangline.settings.catalogue import (
    PERSON_REQUESTS,
    SIGN_INS,
    SUBMISSIONS,
    TOKEN_REQUESTS,
    Declared,
)
from gangline.settings.values import value_of

log = logging.getLogger(__name__)

MINUTE = 60
KEPT_SECONDS = 5.0
"""A limit is remembered so long, and a store that failed is left alone so long."""
_limits: dict[str, tuple[float, int]] = {}
_alone_until = 0.0


class _PerMinute(BaseThrottle):
    """Counts in a window of one minute. A store that does not answer lets everybody through."""

    setting: ClassVar[Declared[int]]

    def who(self, request: Request) -> str:
        """Whom a request counts for; empty: for nobody."""
        raise NotImplementedError

    def allow_request(self, request: Request, view: Any) -> bool:
        who = self.who(request)
        if not who:
            return True
        count = _count(f"{self.setting.key}:{who}")
        # Below the least that can be set, nobody has to look up what is set.
        return count <= self.setting.least or count <= _limit(self.setting)

    def wait(self) -> float:
        return MINUTE - time.time() % MINUTE


class OfToken(_PerMinute):
    setting = TOKEN_REQUESTS

    def who(self, request: Request) -> str:
        token = request.auth
        return token.kid if isinstance(token, ApiToken | TokenSession) else ""


class OfPerson(_PerMinute):
    setting = PERSON_REQUESTS

    def who(self, request: Request) -> str:
        return str(request.user.pk) if request.auth is not None else ""


class Submissions(OfPerson):
    setting = SUBMISSIONS


class SignIns(_PerMinute):
    """An IPv6 address counts with its neighbours: who has one has 2⁶⁴."""

    setting = SIGN_INS

    def who(self, request: Request) -> str:
        address = address_of(request.META.get("REMOTE_ADDR") or "")
        if isinstance(address, IPv6Address):
            return str(ip_network((address, 64), strict=False))
        return str(address or "unknown")


def forget() -> None:
    """Look up limits and try the store at the next request."""
    global _alone_until
    _limits.clear()
    _alone_until = 0.0


def _limit(setting: Declared[int]) -> int:
    now = time.monotonic()
    until, limit = _limits.get(setting.key, (0.0, 0))
    if now >= until:
        limit = value_of(setting)
        _limits[setting.key] = now + KEPT_SECONDS, limit
    return limit


def _count(name: str) -> int:
    """How many it is in this minute, this one counted; 0 where nobody can count."""
    global _alone_until
    if time.monotonic() < _alone_until:
        return 0
    key = f"requests:{name}:{int(time.time()) // MINUTE}"
    try:
        return _incremented(key)
    except _lost() as error:
        _alone_until = time.monotonic() + KEPT_SECONDS
        log.warning("requests are not counted for now: %s", error)
        return 0


def _lost() -> type[Exception]:
    """What a store in Redis raises that does not answer; elsewhere it is not even imported."""
    from redis.exceptions import RedisError

    return RedisError


def _incremented(key: str) -> int:
    try:
        return cache.incr(key)
    except ValueError:
        pass
    if cache.add(key, 1, timeout=2 * MINUTE):
        return 1
    try:
        return cache.incr(key)  # another process was quicker
    except ValueError:
        return 1
