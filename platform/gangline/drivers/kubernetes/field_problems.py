"""From a refusal of the cluster to problems at the fields of the form. Pure."""

from collections.abc import Iterable
from typing import Any

from gangline.spec.problems import Problem, Role

from .client import Answer
from .objections import Objection, objections
from .places import Owner, Place, Places


def problems_of(places: Places, within: Place, answer: Answer) -> tuple[Problem, ...]:
    """Everything that a refusal of the object at ``within`` says, at the fields."""
    return once(_problem(places, within, each) for each in objections(answer))


def once(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The same words about the same field once, however many pods they are about."""
    found: dict[tuple[Role, str, str], Problem] = {}
    for each in problems:
        found.setdefault((each.role, each.path, each.message), each)
    return tuple(found.values())


def _problem(places: Places, within: Place, objection: Objection) -> Problem:
    """An objection to the object at ``within``, at the field that it means."""
    owner = places.owner(within, objection.place, objection.words)
    words = objection.words.rstrip(".")
    accepted = objection.accepted or "what the cluster asks for in these words"
    if not owner.path:
        # No field can be told: it is said of the whole, by the cluster itself.
        at = f"{objection.place}: " if objection.place else ""
        message = f"refuses it: {at}{words}"
        return Problem(owner.role, "", "cluster", message, accepted=accepted, label="The cluster")
    return Problem(
        role=owner.role,
        path=owner.path,
        rule="cluster",
        message=f"is not accepted by the cluster: {words}",
        value=_entered(owner),
        accepted=accepted,
        key=owner.key,
        label="Name" if owner.role is Role.WORKLOAD else owner.label,
    )


def _entered(owner: Owner) -> Any:
    return owner.value if isinstance(owner.value, str | int | float | bool) else None
