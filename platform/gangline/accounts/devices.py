"""Letting in a program that shows a code: its owner types the code where they are signed in.

https://www.rfc-editor.org/rfc/rfc8628
"""

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from axes.models import AccessFailureLog
from django.db import transaction
from django.http import HttpRequest

from gangline.db.clock import db_now

from . import signals
from .models import DeviceRequest, TokenSession, User, hash_of
from .token_sessions import Tokens, open_session

SECONDS = 600
INTERVAL, SLOWER, MOST_INTERVAL = 5, 5, 60
MOST_WAITING = 20
"""Requests of one address that nobody has decided yet."""
MOST_GUESSES = 5
GUESS_WINDOW = timedelta(minutes=10)
PATH = "/device"
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that no words come about; nothing that looks like a digit."""
_LENGTH = 8
_NAME = re.compile(r"[^A-Za-z0-9 ._@()+-]")


class TooMany(Exception):
    """So many are waiting, or so often was a wrong code typed, that one has to wait."""

    def __init__(self, seconds: int = SECONDS) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        """Until the first of them ends, at the latest."""


class NotYet(Exception):
    """No tokens. ``code``: that of RFC 8628."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """The two codes. The texts are nowhere else."""

    device_code: str
    user_code: str


def ask(name: str, address: str) -> Asked:
    """Let a program ask; ``name`` is what it calls itself. Raises TooMany."""
    now = db_now()
    DeviceRequest.objects.filter(expires_at__lt=now).delete()
    waiting = DeviceRequest.objects.filter(address=address or None, is_allowed=None)
    ends = list(waiting.order_by("expires_at").values_list("expires_at", flat=True))
    if len(ends) >= MOST_WAITING:
        raise TooMany(max(1, ceil((ends[0] - now).total_seconds())))
    made = Asked(
        secrets.token_urlsafe(32), "".join(secrets.choice(ALPHABET) for _ in range(_LENGTH))
    )
    DeviceRequest.objects.create(
        device_hash=hash_of(made.device_code),
        user_hash=hash_of(made.user_code),
        name=_NAME.sub("", name)[:63].strip() or "A program",
        address=address or None,
        created_at=now,
        expires_at=now + timedelta(seconds=SECONDS),
        interval=INTERVAL,
    )
    return made


def shown(user_code: str) -> str:
    """``BCDF-GHJK``: easier to read and to type."""
    return f"{user_code[:4]}-{user_code[4:]}"


def waiting(request: HttpRequest, user: User, typed: str) -> DeviceRequest | None:
    """What asks by this code and is not decided. Wrong ones are counted; raises TooMany."""
    since = db_now() - GUESS_WINDOW
    wrong = AccessFailureLog.objects.filter(
        username=user.username, path_info=PATH, attempt_time__gt=since
    )
    if wrong.count() >= MOST_GUESSES:
        raise TooMany
    code = re.sub(r"[\s-]", "", typed.upper())[:40]
    found = DeviceRequest.objects.filter(
        user_hash=hash_of(code), is_allowed=None, expires_at__gt=db_now()
    ).first()
    if found is None:
        AccessFailureLog.objects.create(
            username=user.username,
            path_info=PATH,
            ip_address=request.META.get("REMOTE_ADDR") or None,
        )
    return found


def decide(asked: DeviceRequest, user: User, request: HttpRequest, *, is_allowed: bool) -> bool:
    """Let it in, or not; False: somebody was quicker, or it was too late."""
    with transaction.atomic():
        mine = DeviceRequest.objects.filter(pk=asked.pk, is_allowed=None, expires_at__gt=db_now())
        changed = bool(mine.update(user=user, is_allowed=is_allowed))
        if changed:
            signals.device_decided.send(
                sender=DeviceRequest, asked=asked, user=user, request=request, allowed=is_allowed
            )
    return changed


def take(request: HttpRequest, device_code: str) -> Tokens:
    """The tokens, once, after somebody has let it in. Raises NotYet."""
    now = db_now()
    row = DeviceRequest.objects.filter(pk=hash_of(device_code))
    asked = row.select_related("user").first()
    if asked is None or asked.expires_at <= now:
        raise NotYet("expired_token")
    if asked.is_allowed is None:
        wait = timedelta(seconds=asked.interval)
        if asked.asked_at is None or now - asked.asked_at >= wait:
            row.update(asked_at=now)
            raise NotYet("authorization_pending")
        row.update(asked_at=now, interval=min(asked.interval + SLOWER, MOST_INTERVAL))
        raise NotYet("slow_down")
    # One DELETE decides between two who have the code.
    if not row.delete()[0]:
        raise NotYet("expired_token")
    if not (asked.is_allowed and asked.user is not None and asked.user.is_active):
        raise NotYet("access_denied")
    return open_session(request, asked.user, None, name=asked.name)


def programs_of(user: User) -> list[TokenSession]:
    """Programs that somebody has let in and that may still come back."""
    rows = TokenSession.objects.filter(user=user, client=None, expires_at__gt=db_now())
    return list(rows.exclude(name="").order_by("-created_at"))
