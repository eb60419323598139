"""What the figures say about the end of a pod that was killed for its memory."""

from gangline.drivers.base import MEMORY_LIMIT
from gangline.lib.sizes import bytes_in_words
from workloads.models import Attempt, Workload
from workloads.selectors import details
from workloads.selectors.figures import figures_of

from .words import percent


def memory_at_the_end(workload: Workload, attempt: Attempt) -> str:
    """`worker-0 had used 250 MB, 98 % of its limit of 256 MB.` Empty where nobody measured."""
    if attempt.cause_code != MEMORY_LIMIT:
        return ""
    name = attempt.cause_replica or attempt.first_failure
    replica = next((row for row in details.replicas(attempt) if row.name == name), None)
    if replica is None:
        return ""
    figures = figures_of(workload, attempt, [name])
    amounts = figures.asked_by(name)
    used = max(replica.peak_memory or 0, round(figures.of(name).peak("memory") or 0))
    limit, request = amounts.get("memory_limit"), amounts.get("memory")
    allowed = limit or request
    if not used or not allowed:
        return ""
    of = "its limit of" if limit else "the"
    rest = "" if limit else " that it requested"
    return (
        f"{name} had used {bytes_in_words(used)}, {percent(used / allowed * 100)} of {of}"
        f" {bytes_in_words(round(allowed))}{rest}."
    )
