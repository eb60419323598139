"""Testing connections: what was typed, or is stored, is reached as it would be when it is used.

Nothing is stored by it but an entry of the audit log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gangline.access.actor import Actor
from gangline.audit import actions
from gangline.audit.services import record
from gangline.db.leases import LeaseHolder
from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.checks import State
from gangline.drivers.trials import runner
from gangline.drivers.trials.places import Failed, Outcome, Place
from gangline.resources.resource import Resource
from gangline.scopes.models import Scope

from .connections import site

TEST = "test"
"""Verb of the button, end of the addresses, and action of the audit log."""
PAUSE = 2.0
"""Seconds between two tests of one person."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the audit log says that was tested."""

    resource: Resource[Any]
    scope: Scope
    name: str
    id: str = ""


def reach() -> AllowedAddresses:
    """Where this installation connects to when somebody asks it to."""
    return AllowedAddresses(tuple(site().networks), site().own)


def tested(actor: Actor, subject: Subject, place: Callable[[], Place]) -> Outcome:
    """Try the place; ``place`` raises Failed where there is nothing to try.

    One at a time for each person: it is this server that connects.
    """
    turn = LeaseHolder(f"trial:{actor.user.pk}", seconds=runner.SECONDS + 5)
    if not turn.acquire():
        return Failed("busy").outcome
    try:
        outcome = runner.outcome_of(place(), reach())
    except Failed as failed:
        outcome = failed.outcome
    finally:
        turn.seconds = PAUSE
        turn.renew()
    _audit(actor, subject, outcome)
    return outcome


def register(resource: Resource[Any]) -> None:
    """Let tests of what a resource holds be recorded."""
    actions.register(resource.key, (TEST,), str(resource.model._meta.verbose_name))


def _audit(actor: Actor, subject: Subject, outcome: Outcome) -> None:
    record(
        actor=actor,
        action=f"{subject.resource.key}.{TEST}",
        object_type=subject.resource.key,
        object_id=subject.id,
        object_name=subject.name,
        scope=subject.scope,
        result="failed" if outcome.state is State.FAILED else "ok",
        reason=outcome.problem.told,
    )
