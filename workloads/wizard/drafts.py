"""Drafts: one unsent form each, saved at every step, sent at most once (R25)."""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.dateparse import parse_datetime

from gangline.access.refusals import NotVisible
from gangline.accounts.models import User
from gangline.db import locks
from gangline.db.clock import db_now
from workloads.models import Draft
from workloads.wizard.state import NAME, TEMPLATE, DraftState


class AlreadySubmitted(Exception):
    """The draft has become a workload."""

    def __init__(self, workload_id: uuid.UUID) -> None:
        super().__init__(f"submitted as {workload_id}")
        self.workload_id = workload_id


@dataclass(frozen=True, slots=True)
class Page:
    """Who writes: a tab of a browser, and the version of the step that it was shown."""

    tab: str
    seen: int
    wins: bool = False
    """The person has read the notice and chosen to keep this tab's texts."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The draft as it is stored now."""

    draft: Draft
    state: DraftState


class ChangedElsewhere(Exception):
    """Another tab has saved other texts for this step meanwhile; nothing was stored."""

    def __init__(self, *, at: datetime, mine: DraftState) -> None:
        super().__init__("changed in another tab")
        self.at = at
        self.mine = mine
        """What this tab wanted to store, so that its page can be shown again as it was."""


class CannotBeStored(Exception):
    """A text holds a character that no database takes; nothing was stored."""

    def __init__(self, mine: DraftState) -> None:
        super().__init__("cannot be stored")
        self.mine = mine


def find(*, owner: User, draft_id: uuid.UUID) -> Draft | None:
    """The person's draft, or None when nothing was saved yet. Raises NotVisible for another's."""
    return _owned(Draft.objects.filter(pk=draft_id).first(), owner)


WHOLE = "yaml"
"""Saved in place of a step: the text of all of them."""


def version_of(draft: Draft | None, step: str) -> int:
    return int(_mark(draft, step).get("version", 0)) if draft else 0


def _mark(draft: Draft, step: str) -> dict[str, Any]:
    """Who saved it last; of the whole draft, who saved any of it last."""
    marks: dict[str, dict[str, Any]] = draft.versions
    if step != WHOLE or not marks:
        return marks.get(step, {})
    newest = max(marks.values(), key=lambda mark: str(mark["at"]))
    return {**newest, "version": sum(int(mark["version"]) for mark in marks.values())}


def saved_at(draft: Draft | None) -> datetime | None:
    """When any step was saved last."""
    return draft.updated_at if draft else None


def visited(draft: Draft | None) -> frozenset[str]:
    """Steps that were ever saved."""
    return frozenset(draft.versions) if draft else frozenset()


@transaction.atomic
def save(
    *,
    owner: User,
    draft_id: uuid.UUID,
    step: str,
    page: Page,
    change: Callable[[DraftState], DraftState],
    start: DraftState,
) -> Saved:
    """Store ``change(stored)`` for ``step``; ``start`` is what a new draft begins with.

    Raises NotVisible, AlreadySubmitted, CannotBeStored, and ChangedElsewhere when another tab was
    there first.
    """
    now = db_now()
    draft = _locked(owner, draft_id) or _inserted(owner, draft_id, start, now)
    if draft.workload_id is not None:
        raise AlreadySubmitted(draft.workload_id)
    stored = DraftState.from_json(draft.inputs)
    wanted = change(stored)
    inputs = wanted.to_json()
    if _has_nul(inputs):
        raise CannotBeStored(wanted)
    mark = _mark(draft, step)
    version = int(mark.get("version", 0))
    if wanted == stored and mark:
        return Saved(draft, stored)
    # Pages without scripts have no name for their tab: none of them is known to be the same.
    is_same_tab = page.tab and mark.get("tab") == page.tab
    if version != page.seen and not is_same_tab and not page.wins:
        raise ChangedElsewhere(at=parse_datetime(mark["at"]) or now, mine=wanted)
    draft.inputs = inputs
    # Pages of other tabs that show what was just saved are out of date.
    for name in {*draft.versions, WHOLE} if step == WHOLE else {step}:
        count = int(draft.versions.get(name, {}).get("version", 0)) + 1
        draft.versions[name] = {"version": count, "tab": page.tab, "at": now.isoformat()}
    draft.updated_at = now
    draft.save(update_fields=["inputs", "versions", "updated_at"])
    return Saved(draft, wanted)


@transaction.atomic
def start(*, owner: User, draft_id: uuid.UUID, state: DraftState, steps: tuple[str, ...]) -> Draft:
    """A draft that begins filled in; the same id again gives the same draft."""
    now = db_now()
    draft = _locked(owner, draft_id)
    if draft is None:
        draft = _inserted(owner, draft_id, state, now)
        draft.versions = {s: {"version": 1, "tab": "", "at": now.isoformat()} for s in steps}
        draft.save(update_fields=["versions"])
    return draft


@transaction.atomic
def discard(*, owner: User, draft_id: uuid.UUID) -> None:
    """Throw it away; one that is not there is no error. Raises NotVisible, AlreadySubmitted."""
    draft = _locked(owner, draft_id)
    if draft is not None and draft.workload_id is not None:
        raise AlreadySubmitted(draft.workload_id)
    if draft is not None:
        draft.delete()


def discard_untouched(*, owner: User, like: Draft) -> None:
    """Throw away what earlier presses of the same "Run now" left, which nobody has looked into."""
    template = like.inputs.get("setup", {}).get(TEMPLATE, {}).get("text", "")
    others = Draft.objects.filter(
        owner=owner, workload=None, inputs__setup__templateId__text=template
    )
    for draft in others.exclude(pk=like.pk) if template else ():
        if draft.is_untouched:
            draft.delete()


def name_of(draft: Draft) -> str:
    """The name that was typed for the workload, or nothing."""
    return str(draft.inputs.get("setup", {}).get(NAME, {}).get("text", ""))


def locked(*, owner: User, draft_id: uuid.UUID) -> Draft:
    """The draft, locked until the transaction ends. Raises NotVisible when there is none."""
    draft = _locked(owner, draft_id)
    if draft is None:
        raise NotVisible
    return draft


def unfinished(*, owner: User, besides: uuid.UUID, most: int = 5) -> list[Draft]:
    """The person's drafts that can be gone on with, newest first."""
    return list(
        Draft.objects.filter(owner=owner, workload=None)
        .exclude(pk=besides)
        .order_by("-updated_at")[:most]
    )


def _has_nul(inputs: Mapping[str, Any]) -> bool:
    """Whether a text holds NUL, which no browser sends and PostgreSQL does not take."""
    escaped = json.dumps(inputs)
    return "\\u0000" in escaped.replace(r"\\", "")  # a typed \\u0000 is harmless


def _owned(draft: Draft | None, owner: User) -> Draft | None:
    if draft is not None and draft.owner_id != owner.pk:
        raise NotVisible
    return draft


def _locked(owner: User, draft_id: uuid.UUID) -> Draft | None:
    return _owned(locks.locked(Draft.objects.filter(pk=draft_id)).first(), owner)


def _inserted(owner: User, draft_id: uuid.UUID, state: DraftState, now: datetime) -> Draft:
    try:
        with transaction.atomic():
            return Draft.objects.create(
                id=draft_id, owner=owner, inputs=state.to_json(), created_at=now, updated_at=now
            )
    except IntegrityError:
        # Two first saves at once: the other one's row is there now.
        draft = _locked(owner, draft_id)
        if draft is None:
            raise
        return draft
