"""What pages can follow. Applications above register their feeds; the hub only moves frames."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gangline.accounts.models import User

Heads = Mapping[int, int]
"""Sequence number of the last shown change by scope (project id)."""


class Refused(Exception):
    """The page may not follow this, or asked in a way that makes no sense."""


@dataclass(frozen=True, slots=True)
class View:
    """One query as one page sees it. Views with the same key and ids share every computation."""

    feed: str
    key: str
    scopes: frozenset[int]
    ids: frozenset[str]
    """Rows on the page."""
    data: Any = None


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed for a view between two heads: the newest value of each cell (R13)."""

    to: Heads
    items: list[dict[str, Any]] = field(default_factory=list)
    """``{"id": …, "seq": …, "cells": {column: html}}``."""
    left: list[str] = field(default_factory=list)
    """On the page, but no longer matching its filter."""
    gone: list[str] = field(default_factory=list)
    new: int | None = None
    """Rows that match and came since the page was loaded; None: not counted this time."""
    counts: Mapping[str, str] | None = None
    said: str = ""
    """One sentence for the screen reader's live region, or nothing."""

    @property
    def is_empty(self) -> bool:
        return not (self.items or self.left or self.gone or self.counts) and self.new is None

    def frame(self, after: Heads) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": "delta",
            "from": {str(scope): seq for scope, seq in after.items()},
            "to": {str(scope): seq for scope, seq in self.to.items()},
            "items": self.items,
            "left": self.left,
            "gone": self.gone,
        }
        optional = {"new": self.new, "counts": self.counts, "said": self.said or None}
        return body | {name: value for name, value in optional.items() if value is not None}


class Feed(Protocol):
    """All methods run in a database thread, never in the event loop."""

    def open(self, user: User, hello: Mapping[str, Any]) -> View:
        """The view that ``hello`` asks for, limited to what ``user`` may see; raises Refused."""

    def heads(self, scopes: frozenset[int]) -> dict[int, int]: ...

    def delta(self, view: View, after: Heads) -> Delta:
        """Changes of ``view`` since ``after``, read in one transaction."""


_feeds: dict[str, Feed] = {}


def register(name: str, feed: Feed) -> None:
    """Called once by the application that owns the feed, in ``AppConfig.ready``."""
    _feeds[name] = feed


def get(name: object) -> Feed:
    """The feed called ``name``; raises Refused."""
    try:
        return _feeds[str(name)]
    except KeyError:
        raise Refused(f"There is no feed {name!r}.") from None
