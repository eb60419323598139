"""Who may open a tool of a workload, asked at every request to it.

A person who may gets a ticket from Gangline, good once and for a minute. At the tool's own address
it is changed for a pass, kept there in a cookie. A pass ends with the session it came from.
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from uuid import UUID

from django.conf import settings
from pydantic import ValidationError

from gangline.access.models import Group
from gangline.accounts.models import User
from gangline.db.clock import db_now
from gangline.db.fields import folded
from gangline.policies.engine import Resolution
from gangline.spec.problems import Advice, Role, shown
from gangline.spec.tools import EVERYONE, GROUPS, ExposedUrl
from workloads.models import Attempt, ToolPass, Workload
from workloads.selectors.tools import tool_of
from workloads.services import sessions
from workloads.services.item_paths import as_sent

TICKET = timedelta(seconds=60)
PASS = timedelta(hours=12)
PARAMETER = "gangline-ticket"
"""In the address with which a browser comes to a tool for the first time."""
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Verdict:
    """``status``: 200, 401 who is not known here, 403 who is and may not, 404 no such tool."""

    status: int
    user: str = ""
    new_pass: str = ""
    """To be kept in a cookie of the tool's own address."""


def may_open(user: User, tool: ExposedUrl) -> bool:
    """By the list of the tool alone: others have no access, the owner included."""
    kind, names = tool.access
    if not user.is_active:
        return False
    if kind == EVERYONE:
        return True
    wanted = {folded(name) for name in names}
    if kind == GROUPS:
        return Group.objects.filter(members=user, folded_name__in=wanted).exists()
    return bool({folded(user.username), folded(user.email or "")} & wanted)


def advice(user: User, resolution: Resolution) -> Iterator[Advice]:
    """What may be an oversight: a list without oneself, and unknown names."""
    effective = resolution.effective
    roles = (Role.WORKER,) if resolution.master == "same" else (Role.WORKER, Role.MASTER)
    for role in roles:
        value = effective.get(f"{role}.exposedUrls")
        items = value.value if value else ()
        if not isinstance(items, list | tuple):
            continue  # what is wrong with it is said elsewhere
        for index, item in enumerate(items):
            try:
                tool = ExposedUrl.model_validate(item)
            except ValidationError:
                continue  # what is wrong with it is said elsewhere
            about = Advice(role, f"exposedUrls.{index}", "")
            path = as_sent(about, effective)
            if not may_open(user, tool):
                yield Advice(role, path, "You are not on the list and cannot open it yourself.")
            for name in unknown_names(tool):
                what = "group" if tool.access[0] == GROUPS else "person"
                yield Advice(role, path, f"There is no {what} called {shown(name)}.")


def unknown_names(tool: ExposedUrl) -> list[str]:
    """Unknown names on its list, which give no access."""
    kind, names = tool.access
    wanted = {folded(name): name for name in names}
    if kind == EVERYONE or not wanted:
        return []
    if kind == GROUPS:
        known = set(
            Group.objects.filter(folded_name__in=wanted).values_list("folded_name", flat=True)
        )
    else:
        people = User.objects.filter(is_active=True)
        known = {
            folded(n) for n in people.values_list("username", flat=True) if folded(n) in wanted
        }
        known |= set(people.filter(folded_email__in=wanted).values_list("folded_email", flat=True))
    return [name for key, name in wanted.items() if key not in known]


def find(workload_id: UUID, name: str) -> tuple[Workload, Attempt, ExposedUrl] | None:
    """The tool of the newest attempt of a workload that is there."""
    workload = (
        Workload.objects.select_related("project__cluster", "cluster")
        .filter(pk=workload_id, deleted_at__isnull=True)
        .first()
    )
    attempt = workload.attempts.order_by("-no").first() if workload else None
    if workload is None or attempt is None:
        return None
    placed = tool_of(workload, attempt, name)
    return None if placed is None else (workload, attempt, placed.tool)


def cookie_name(workload_id: UUID, tool: str) -> str:
    """Of the pass; tools may share a host, below different paths."""
    return f"gangline-tool-{_digest(f'{workload_id}/{tool}')[:8]}"


def ticket(user: User, session_key: str, workload: Workload, tool: str) -> str:
    """For one who may open the tool."""
    return _made(user, session_key, workload.pk, tool, db_now() + TICKET, is_ticket=True)


def judge(workload_id: UUID, tool: str, *, ticket: str, passes: Iterable[str]) -> Verdict:
    """Whether a request to the tool may go through."""
    found = find(workload_id, tool)
    if found is None:
        return Verdict(404)
    for token in passes:
        held = _held(token, workload_id, tool, is_ticket=False)
        if held is not None:
            if not may_open(held.user, found[2]):
                return Verdict(403, held.user.username)
            sessions.use(found[0])
            return Verdict(200, held.user.username)
    held = _held(ticket, workload_id, tool, is_ticket=True) if ticket else None
    # Of two requests with one ticket the database lets one remove it.
    if held is None or not ToolPass.objects.filter(pk=held.pk).delete()[0]:
        return Verdict(401)
    if not may_open(held.user, found[2]):
        return Verdict(403, held.user.username)
    sessions.use(found[0])
    ends = db_now() + PASS
    new = _made(held.user, held.session_key, workload_id, tool, ends, is_ticket=False)
    return Verdict(200, held.user.username, new)


def forget(before: datetime) -> None:
    """Remove what is good for nothing any more."""
    ToolPass.objects.filter(expires_at__lte=before).delete()


def _made(
    user: User, session_key: str, workload_id: UUID, tool: str, ends: datetime, *, is_ticket: bool
) -> str:
    token = secrets.token_urlsafe(_BYTES)
    ToolPass.objects.create(
        digest=_digest(token),
        is_ticket=is_ticket,
        user=user,
        workload_id=workload_id,
        tool=tool,
        session_key=session_key,
        password_mark=_mark(user),
        expires_at=ends,
    )
    return token


def _held(token: str, workload_id: UUID, tool: str, *, is_ticket: bool) -> ToolPass | None:
    held = (
        ToolPass.objects.select_related("user")
        .filter(
            digest=_digest(token),
            is_ticket=is_ticket,
            workload_id=workload_id,
            tool=tool,
            expires_at__gt=db_now(),
        )
        .first()
    )
    if held is None or not held.user.is_active or held.password_mark != _mark(held.user):
        return None
    store = import_module(settings.SESSION_ENGINE).SessionStore
    return held if store().exists(held.session_key) else None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _mark(user: User) -> str:
    return hashlib.sha256(user.get_session_auth_hash().encode()).hexdigest()
