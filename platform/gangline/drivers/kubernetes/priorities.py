"""Classes of priority: the cluster's own, and the product's where the cluster has none of the name.

What a class of the product is worth counts in Gangline, and for preemptibility; the scheduler of a
cluster without such a class takes all of them alike. Pods that name a class which is not there are
never made: such a name is not sent.
https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Choice, Facts
from gangline.spec.placement import NON_PREEMPTIBLE, PREEMPTIBLE, PRIORITIES, is_preemptible
from gangline.spec.problems import Advice, Problem, Role

SYSTEM = "system-"
"""Beginning of the classes that every cluster has for its own parts."""
FACT = "priorities"
PATH = "priorityClass"


def classes(listed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is kept of PriorityClasses, by name."""
    found = [
        {
            "name": str(raw["metadata"]["name"]),
            "value": int(raw.get("value") or 0),
            "preempts": raw.get("preemptionPolicy") != "Never",
            "default": bool(raw.get("globalDefault")),
        }
        for raw in listed
    ]
    return sorted(found, key=lambda one: one["name"])


def values(facts: Facts) -> Mapping[str, int]:
    """Of each class that is known, the cluster's before the product's; empty: of the default."""
    known = facts.detail.get(FACT) or ()
    default = next(({"": one["value"]} for one in known if one["default"]), {})
    return {**PRIORITIES, **{one["name"]: one["value"] for one in known}, **default}


def choices(facts: Facts) -> list[Choice]:
    """From the highest to the lowest, each with its value."""
    own = {one["name"]: one for one in _offered(facts)}
    found = [(one["value"], name, _word(one)) for name, one in own.items()]
    found += [
        (value, name, f"{name} – {value}, Gangline’s own")
        for name, value in PRIORITIES.items()
        if name not in own
    ]
    return [Choice(name, word) for _, name, word in sorted(found, key=lambda one: -one[0])]


def check(submission: Submission, facts: Facts) -> Iterator[Problem]:
    """A class that does not exist keeps every pod from being made, and the job waits for ever."""
    name, known = submission.worker.priority_class, facts.detail.get(FACT)
    if not name or known is None or name in values(facts):
        return
    accepted = ", ".join(one.value for one in choices(facts))
    yield Problem.of(Role.WORKER, PATH, "cluster:priority", value=name, accepted=accepted)


def advise(submission: Submission, facts: Facts) -> Iterator[Advice]:
    """A class of the product that the cluster's scheduler does not order by."""
    name, known = submission.worker.priority_class, facts.detail.get(FACT)
    if name not in PRIORITIES or known is None or any(one["name"] == name for one in known):
        return
    why = f"The cluster has no PriorityClass {name}: its scheduler does not put the workload first."
    yield Advice(Role.WORKER, PATH, why)


def sent(submission: Submission, known: Container[str]) -> Submission:
    """Without a class of the product that is not among the ``known`` ones of the cluster.

    A scheduler that knows preemptibility is told what follows from the class.
    """
    worker = submission.worker
    name = worker.priority_class or ""
    if name not in PRIORITIES or name in known:
        return submission
    gives_way = is_preemptible(worker.preemptibility, PRIORITIES[name])
    changes = {
        "priority_class": None,
        "preemptibility": PREEMPTIBLE if gives_way else NON_PREEMPTIBLE,
    }
    return replace(submission, worker=worker.model_copy(update=changes))


def _offered(facts: Facts) -> list[Mapping[str, Any]]:
    known = facts.detail.get(FACT) or ()
    return [one for one in known if not one["name"].startswith(SYSTEM)]


def _word(one: Mapping[str, Any]) -> str:
    return f"{one['name']} – {one['value']}{'' if one['preempts'] else ', preempts none'}"
