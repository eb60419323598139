"""Rows that give one process at a time the right to play a role, and say when nobody plays it."""

import os
import socket
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from gangline.db.clock import db_now
from gangline.db.locks import locked

from .models import Lease, SystemNotice

LEASE_SECONDS = 15.0
RENEW_SECONDS = 5.0
TICKER = "ticker"
PRUNER = "pruner"
WORKERS_SEEN = "workers-seen"
PAUSED_AFTER = 30.0
CLOCK, AGES_HELD = "clock", "ages-held"
LEAP = timedelta(days=1)
HOLD_SECONDS = 3600.0


class LeaseLost(Exception):
    """Another process holds the role now."""


class LeaseHolder:
    """One process's hold on one role. The fence rises with every new holder."""

    def __init__(self, name: str, *, seconds: float = LEASE_SECONDS) -> None:
        self.name, self.seconds = name, seconds
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"[-120:]
        self.fence = 0
        self._renewed_at: datetime | None = None

    def acquire(self) -> bool:
        """Take the role if nobody holds it; True also while this holder has it already."""
        if self.fence and self.renew():
            return True
        now = db_now()
        until = now + timedelta(seconds=self.seconds)
        taken = Lease.objects.filter(Q(until__lte=now), name=self.name).update(
            owner=self.owner, until=until, fence=F("fence") + 1
        )
        if not taken:
            taken = self._insert(until)
        if not taken:
            self.fence = 0
            return False
        row = Lease.objects.filter(name=self.name, owner=self.owner).first()
        self.fence = row.fence if row else 0
        self._renewed_at = now
        return bool(self.fence)

    def renew(self) -> bool:
        """Hold on; False when the role went to somebody else."""
        now = db_now()
        until = now + timedelta(seconds=self.seconds)
        kept = Lease.objects.filter(
            name=self.name, owner=self.owner, fence=self.fence, until__gt=now
        ).update(until=until)
        self._renewed_at = now if kept else None
        if not kept:
            self.fence = 0
        return bool(kept)

    def keep(self) -> bool:
        """Renew when it is time to, acquire when it is not held."""
        recent = self._renewed_at
        if self.fence and recent and db_now() - recent < timedelta(seconds=RENEW_SECONDS):
            return True
        return self.acquire()

    def guard(self) -> None:
        """Inside a transaction: raise LeaseLost unless the row still carries the own fence.

        Nobody can take the role before the transaction ends.
        """
        held = Lease.objects.filter(name=self.name, owner=self.owner, fence=self.fence)
        if not self.fence or locked(held).first() is None:
            raise LeaseLost(self.name)

    def release(self) -> None:
        """Let the next one take it at once."""
        Lease.objects.filter(name=self.name, owner=self.owner, fence=self.fence).update(
            until=db_now()
        )
        self.fence = 0

    def _insert(self, until: datetime) -> bool:
        if Lease.objects.filter(name=self.name).exists():
            return False
        try:
            with transaction.atomic():
                Lease.objects.create(name=self.name, owner=self.owner, until=until, fence=1)
        except IntegrityError:
            return False
        return True


def mark(name: str, *, owner: str, seconds: float) -> None:
    """Write down that something was alive just now, such as the workers."""
    until = db_now() + timedelta(seconds=seconds)
    if not Lease.objects.filter(name=name).update(owner=owner, until=until):
        Lease.objects.bulk_create(
            [Lease(name=name, owner=owner, until=until)], ignore_conflicts=True
        )


def last_mark(name: str) -> datetime | None:
    """Until when a role or a mark holds; None: it never was there."""
    return Lease.objects.filter(name=name).values_list("until", flat=True).first()


def see_clock() -> None:
    """Note the time. When more than a day passed at once, hold back what is deleted by age.

    Either nothing ran for so long, or the clock is wrong: there is an hour to set it right.
    """
    now, seen, held = db_now(), last_mark(CLOCK), last_mark(AGES_HELD)
    if seen is not None and now - seen > LEAP:
        mark(AGES_HELD, owner="", seconds=HOLD_SECONDS)
        notice(
            CLOCK,
            "More than a day passed at once: Gangline was off, or the clock was changed."
            " Nothing is deleted by age for an hour.",
        )
    elif held is not None and not now < held <= now + timedelta(seconds=HOLD_SECONDS):
        # It is over, or the clock was put back.
        Lease.objects.filter(name=AGES_HELD).delete()
        clear_notice(CLOCK)
    mark(CLOCK, owner="", seconds=0)


def ages_held_until() -> datetime | None:
    """Until when nothing may be deleted for its age alone; None: it may be."""
    now = db_now()
    marks = Lease.objects.filter(name__in=(CLOCK, AGES_HELD)).values_list("name", "until")
    until = dict(marks)
    if CLOCK in until and now - until[CLOCK] > LEAP:
        return now + timedelta(seconds=HOLD_SECONDS)  # `see_clock` has yet to notice
    held = until.get(AGES_HELD)
    return held if held is not None and held > now else None


def notice(name: str, message: str) -> None:
    """Tell everybody on every page that a part of the machinery is in trouble."""
    SystemNotice.objects.bulk_create(
        [SystemNotice(name=name, message=message, since=db_now())], ignore_conflicts=True
    )


def clear_notice(name: str) -> None:
    """The trouble is over."""
    SystemNotice.objects.filter(name=name).delete()


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the banner of every page."""

    message: str
    is_for_all: bool = False
    """Whether it concerns everybody, and not just those who run the machinery."""


def notices() -> list[Notice]:
    """Troubles noted by the processes, and a ticker that is silent. One query: pages call this."""
    troubles = SystemNotice.objects.values_list("name", "message", "since")
    ticker = Lease.objects.filter(name=TICKER).values_list("name", "owner", "until")
    rows = sorted(troubles.union(ticker, all=True), key=lambda row: row[2])
    silent = timedelta(seconds=PAUSED_AFTER - LEASE_SECONDS)
    told = []
    for name, message, when in rows:
        if name != TICKER:
            told.append(Notice(f"{message} Since {when:%H:%M} UTC."))
        elif db_now() - when > silent:
            sentence = f"Submissions are saved; processing is paused since {when:%H:%M} UTC."
            told.insert(0, Notice(sentence, is_for_all=True))
    return told
