"""Who may open a terminal in a pod, and who still may. All of it is asked of the database.

A person who may gets a ticket, good once and for half a minute, with which a socket opens the
terminal. What a terminal needs to stay open is looked at again and again while it is.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from gangline.access.actor import Actor, Channel
from gangline.access.grants import can, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.accounts.middleware import is_session_alive
from gangline.accounts.models import ApiToken, TokenSession, User
from gangline.audit import actions
from gangline.audit.services import record, record_denied
from gangline.clusters.connections import acts_here, driver_for
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.drivers.base import AttemptRef
from gangline.drivers.kind import Unconnectable
from gangline.drivers.ports import PortOpener
from gangline.drivers.shells import ShellOpener
from gangline.settings.catalogue import TERMINALS_EACH
from gangline.settings.values import value_of
from workloads.models import Attempt, Replica, Terminal, Workload
from workloads.refs import attempt_ref
from workloads.selectors.details import visible_workload
from workloads.services import sessions

TICKET = timedelta(seconds=30)
SILENT = timedelta(seconds=90)
"""A terminal of which nobody said for so long that it is open went with its process."""
MOST_WORDS = 256
MOST_BYTES = 1 << 15
"""Of a command."""
OPEN = ("Running", "Degraded", "Initializing")
"""Statuses in which a pod may run."""
RESTARTED = "Gangline was restarted."
_POD = re.compile(r"([a-z]{1,20})-([0-9]{1,5})", re.ASCII)


class NotNow(Exception):
    """The person may, but there is nothing to open a terminal in now: in words."""


class TooMany(NotNow):
    """The person has as many open as one may."""


class BadCommand(ValueError):
    """A command that cannot be started, in words."""


class Unredeemed(Exception):
    """The ticket is no good: unknown, used, too old, or another's."""

    def __init__(self) -> None:
        super().__init__("The ticket is unknown, was used before, or is older than 30 seconds.")


@dataclass(frozen=True, slots=True)
class Place:
    """Everything that is needed to start the command, read in one go."""

    terminal: Terminal
    ref: AttemptRef
    opener: ShellOpener | PortOpener
    """What the terminal asks for: with a port the second."""


@dataclass(frozen=True, slots=True)
class Login:
    """What the person signed in with."""

    key: str
    token_kid: str = ""

    @classmethod
    def of_session(cls, key: str) -> "Login":
        return cls(f"session:{key}"[:48])

    @classmethod
    def of_token(cls, token: ApiToken | TokenSession) -> "Login":
        return cls(f"token:{token.pk}" if isinstance(token, ApiToken) else f"tokens:{token.pk}",
                   token.kid)  # fmt: skip


def may_enter(user: User, workload: Workload) -> bool:
    scope = workload.project.scope
    return can(user, Permission.WORKLOAD_EXEC, scope, owner_id=workload.owner_id)


def cannot_enter(workload: Workload, *, by_port: bool = False) -> str:
    """Why nobody can open a terminal in any pod of it now; empty when somebody can.

    ``by_port``: connect to a port.
    """
    if workload.deleted_at is not None:
        return "The workload was deleted."
    if workload.status not in OPEN:
        return f"Terminals need a running pod, and this workload is {workload.status.lower()}."
    if not acts_here(workload.cluster):
        return "The workload runs on another machine: open it from the Gangline there."
    if value_of(TERMINALS_EACH) == 0:
        return "Terminals are switched off in the settings."
    try:
        driver = driver_for(workload.cluster)
    except Unconnectable as why:
        return str(why)
    if by_port and not isinstance(driver, PortOpener):
        return f"Ports of pods cannot be reached on {workload.cluster.name}."
    if not by_port and not isinstance(driver, ShellOpener):
        return f"Terminals are not available on {workload.cluster.name}."
    return ""


def checked_command(words: Sequence[str]) -> list[str]:
    """``words`` if a process can be started with them. Raises BadCommand."""
    if len(words) > MOST_WORDS or sum(len(word.encode()) for word in words) > MOST_BYTES:
        raise BadCommand(f"A command has at most {MOST_WORDS} words and {MOST_BYTES} bytes.")
    if any("\0" in word for word in words) or (words and not words[0]):
        raise BadCommand("A command starts with a program and contains no NUL character.")
    return list(words)


def checked_port(port: object) -> int:
    """``port`` if there can be one of this number. Raises BadCommand."""
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 1 << 16:
        raise BadCommand("port must be a whole number from 1 to 65535.")
    return port


def pod_of(workload: Workload, name: str) -> Replica:
    """A pod of the newest attempt, by ``worker-0`` or by its whole name. Raises NotVisible."""
    found = _POD.fullmatch(name.removeprefix(f"{workload.name}-"))
    rows = Replica.objects.filter(attempt__workload=workload, attempt__no=workload.attempt_no)
    pod = rows.filter(role=found[1], index=int(found[2])).first() if found else None
    if pod is None:
        raise NotVisible
    return pod


def ask(
    *,
    actor: Actor,
    workload_id: UUID,
    pod: str,
    login: Login,
    command: Sequence[str] = (),
    tty: bool = True,
    port: int | None = None,
) -> tuple[Terminal, str]:
    """A ticket for a terminal in ``pod``, or for connections to a port of it.

    Raises NotVisible, NotAllowed, NotNow, TooMany, BadCommand.
    """
    words = checked_command(command)
    workload = visible_workload(actor.user, workload_id)
    scope = workload.project.scope
    if not may_enter(actor.user, workload):
        people = [person.username for person in who_can(Permission.WORKLOAD_EXEC, scope)]
        refusal = NotAllowed(Permission.WORKLOAD_EXEC, scope, people)
        record_denied(
            actor=actor,
            action=actions.TERMINAL_OPEN,
            object_type="workload",
            object_id=str(workload.pk),
            object_name=workload.name,
            scope=scope,
            reason=refusal.sentence,
        )
        raise refusal
    if reason := cannot_enter(workload, by_port=port is not None):
        raise NotNow(reason)
    replica = pod_of(workload, pod)
    if replica.state != "Running":
        raise NotNow(f"{replica.name} is not running: it is {replica.state.lower()}.")
    ticket, now = secrets.token_urlsafe(32), db_now()
    with transaction.atomic():
        # Of the same person one request after the other: none slips past the limit.
        locked(User.objects.filter(pk=actor.user.pk)).first()
        _check_number(actor.user)
        row = Terminal.objects.create(
            digest=_digest(ticket),
            user=actor.user,
            workload=workload,
            attempt_no=workload.attempt_no,
            pod=replica.name,
            command=words,
            tty=tty,
            port=port,
            channel=actor.channel,
            login=login.key,
            token_kid=login.token_kid,
            password_mark=_mark(actor.user),
            address=actor.address[:45],
            created_at=now,
            expires_at=now + TICKET,
        )
    return row, ticket


def redeem(ticket: str, *, user: User | None, login: str) -> Place:
    """Change a ticket for an open terminal. ``user`` and ``login`` None and empty: by token.

    Raises Unredeemed, NotNow and what the driver's connection raises.
    """
    now = db_now()
    mine = Terminal.objects.filter(digest=_digest(ticket), opened_at=None, expires_at__gt=now)
    # Of two sockets with one ticket the database lets one use it.
    if not mine.update(opened_at=now, seen_at=now, used_at=now):
        raise Unredeemed
    rows = Terminal.objects.select_related("user", "workload__project__scope", "workload__cluster")
    terminal = rows.get(digest=_digest(ticket))
    is_of_page = user is not None
    if is_of_page != (terminal.channel == "form") or (
        is_of_page and (terminal.user != user or terminal.login != login)
    ):
        terminal.delete()
        raise Unredeemed
    by_port = terminal.port is not None
    if reason := lost(terminal) or cannot_enter(terminal.workload, by_port=by_port):
        terminal.delete()
        raise NotNow(reason)
    try:
        attempt = Attempt.objects.get(workload=terminal.workload, no=terminal.attempt_no)
        ref = attempt_ref(terminal.workload, attempt)
        opener = driver_for(terminal.workload.cluster)
        if not isinstance(opener, PortOpener if by_port else ShellOpener):
            raise NotNow(cannot_enter(terminal.workload, by_port=by_port))
    except BaseException:
        terminal.delete()
        raise
    sessions.use(terminal.workload)
    return Place(terminal, ref, opener)


def lost(terminal: Terminal) -> str:
    """Why the person may no longer have this terminal, in words; empty while they may."""
    row = (
        Terminal.objects.select_related("user", "workload__project__scope__parent__parent__parent")
        .filter(pk=terminal.pk)
        .first()
    )
    if row is None:
        return "It was closed by Gangline."
    if not row.user.is_active or row.password_mark != _mark(row.user) or not _is_alive(row.login):
        return "You were signed out."
    if row.workload.deleted_at is not None:
        return "The workload was deleted."
    if row.workload.attempt_no != row.attempt_no:
        return "The pod has ended: the workload was restarted."
    if not may_enter(row.user, row.workload):
        return "You may no longer run commands in this workload."
    return ""


def opened(terminal: Terminal) -> None:
    """Say in the audit log that a command was started. What is typed is nobody's business."""
    _record(terminal, actions.TERMINAL_OPEN, _about(terminal))


def keep(terminal: Terminal, *, is_used: bool) -> None:
    """Say that it is open, and whether something was typed or shown since the last time."""
    now = db_now()
    changes = {"seen_at": now} | ({"used_at": now} if is_used else {})
    Terminal.objects.filter(pk=terminal.pk).update(**changes)
    if is_used:
        sessions.use(terminal.workload)


@transaction.atomic
def close(terminal: Terminal, reason: str, code: int | None = None) -> None:
    """Once, whoever says it first: what is gone is also in the audit log."""
    if not Terminal.objects.filter(pk=terminal.pk).delete()[0]:
        return
    until = terminal.seen_at if reason == RESTARTED else db_now()
    opened_at = terminal.opened_at or terminal.created_at
    seconds = round(((until or opened_at) - opened_at).total_seconds(), 1)
    detail = _about(terminal) | {"seconds": seconds, "exitCode": code, "because": reason}
    _record(terminal, actions.TERMINAL_CLOSE, detail)


def forget() -> None:
    """Remove tickets that nobody used, and close what went with the process that served it."""
    now = db_now()
    Terminal.objects.filter(opened_at=None, expires_at__lte=now).delete()
    gone = Terminal.objects.filter(seen_at__lte=now - SILENT)
    for terminal in gone.select_related("user", "workload__project__scope"):
        close(terminal, RESTARTED)


def _check_number(user: User) -> None:
    most, now = value_of(TERMINALS_EACH), db_now()
    is_open = Q(seen_at__gt=now - SILENT) | Q(opened_at=None, expires_at__gt=now)
    if Terminal.objects.filter(is_open, user=user).count() >= most:
        raise TooMany(f"You have {most} terminals open, the maximum. Close one first.")


def _is_alive(login: str) -> bool:
    kind, _, key = login.partition(":")
    now = db_now()
    if kind == "session":
        return is_session_alive(key)
    if kind == "token":
        return ApiToken.objects.filter(pk=key, revoked_at=None, expires_at__gt=now).exists()
    # An access token may end meanwhile; the sign-in that it came from is what counts.
    return TokenSession.objects.filter(pk=key, expires_at__gt=now).exists()


def _about(terminal: Terminal) -> dict[str, object]:
    """For the audit log: of a command its program alone, since words may hold secrets."""
    if terminal.port is not None:
        return {"pod": terminal.pod, "attempt": terminal.attempt_no, "port": terminal.port}
    program = str(terminal.command[0])[:100] if terminal.command else "shell"
    return {"pod": terminal.pod, "attempt": terminal.attempt_no, "program": program}


def _record(terminal: Terminal, action: str, detail: dict[str, object]) -> None:
    channel: Channel = "form" if terminal.channel == "form" else "api"
    workload = terminal.workload
    record(
        actor=Actor(terminal.user, channel, terminal.token_kid, terminal.address),
        action=action,
        object_type="workload",
        object_id=str(workload.pk),
        object_name=workload.name,
        scope=workload.project.scope,
        detail=detail,
    )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _mark(user: User) -> str:
    return _digest(user.get_session_auth_hash())
