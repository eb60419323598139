"""Ends sessions that were idle for longer, or are older, than the settings allow."""

import logging
import time
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.db import OperationalError
from django.dispatch import receiver
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseForbidden,
    HttpResponseRedirect,
)
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from gangline.lib.answers import API_PREFIXES
from gangline.settings.catalogue import IDLE_MINUTES, SESSION_HOURS
from gangline.settings.values import value_of

log = logging.getLogger(__name__)

SEEN_EVERY = 300
"""A busy session is written once in this many seconds, not on every request."""

STARTED, SEEN = "started_at", "seen_at"
NEW_PASSWORD = "new_password"  # noqa: S105
"""Key of sessions that were opened with a temporary password."""


def longest_seconds() -> int:
    """How long a session lasts however busy it is."""
    return value_of(SESSION_HOURS) * 3600


def idle_seconds() -> int:
    """How long a session lasts without a request."""
    return value_of(IDLE_MINUTES) * 60


class CurrentSession(MiddlewareMixin):
    """Reads the two times of the session. Requests without a session cost nothing."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        with_token = request.path.startswith(API_PREFIXES) and "HTTP_AUTHORIZATION" in request.META
        if with_token or settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        session = request.session
        if SESSION_KEY not in session:
            return None
        now = int(time.time())
        started, seen = session.get(STARTED, 0), session.get(SEEN, 0)
        if now - started > longest_seconds() or now - seen > idle_seconds():
            logout(request)
            request.META["gangline.session_ended"] = "1"
            return None
        if now - seen > SEEN_EVERY:
            session[SEEN] = now
            self._save(session)
        if session.get(NEW_PASSWORD):
            return self._new_password(request)
        return None

    def _new_password(self, request: HttpRequest) -> HttpResponse | None:
        """With a password that somebody else knows one may replace it or leave."""
        if not getattr(request.user, "password_is_temporary", False):
            del request.session[NEW_PASSWORD]
            return None
        there = reverse("account-password")
        if request.path in (there, reverse("logout")):
            return None
        if request.path.startswith(API_PREFIXES):
            return HttpResponseForbidden()
        return HttpResponseRedirect(there)

    def _save(self, session: SessionBase) -> None:
        """A database that takes no writes can still be read."""
        try:
            session.save()
        except (OperationalError, UpdateError) as error:
            log.warning("the use of a session could not be noted: %r", error)
        session.modified = False


def is_session_alive(key: str | None) -> bool:
    """Whether the session ``key`` still signs somebody in; for sockets, which outlive requests."""
    store = import_module(settings.SESSION_ENGINE).SessionStore(key)
    age = time.time() - store.get(STARTED, 0)
    return bool(SESSION_KEY in store and age <= longest_seconds())


@receiver(user_logged_in)
def start_session(sender: Any, request: HttpRequest, **_: Any) -> None:
    """Set both times, however the person signed in; the session's key has changed already."""
    request.session[STARTED] = request.session[SEEN] = int(time.time())
    request.session.set_expiry(longest_seconds())
