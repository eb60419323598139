"""Jobs of a cluster's scheduler that Gangline did not create: listed, and cancelled."""

from collections.abc import Sequence

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.accounts.models import User
from gangline.audit import actions
from gangline.audit.services import record
from gangline.clusters.connections import driver_for
from gangline.clusters.models import Cluster
from gangline.drivers.base import Done, Unknown
from gangline.drivers.jobs import ListsJobs, OthersJob
from gangline.drivers.kind import Unconnectable
from workloads import refs


class CannotSay(Exception):
    """The cluster did not answer, or does not do it; in words why."""


def sees(user: User, cluster: Cluster) -> bool:
    return cluster.engine.lists_jobs and can(user, Permission.JOB_VIEW, cluster.scope)


def may_cancel(user: User, cluster: Cluster) -> bool:
    return cluster.engine.lists_jobs and can(user, Permission.JOB_CANCEL, cluster.scope)


def listed(cluster: Cluster) -> Sequence[OthersJob]:
    """All of them, by one call to the cluster. Raises CannotSay."""
    found = _lister(cluster).others_jobs(refs.installation_id())
    if isinstance(found, Unknown):
        raise CannotSay(found.reason)
    return found


def text(cluster: Cluster, number: str) -> str:
    """The details of one from the scheduler, and its script. Raises CannotSay."""
    found = _lister(cluster).job_text(number)
    if isinstance(found, Unknown):
        raise CannotSay(found.reason)
    return found


def cancel(*, actor: Actor, cluster: Cluster, number: str) -> None:
    """Raises NotAllowed, and CannotSay with the scheduler's own words; both attempts are kept."""
    if not may_cancel(actor.user, cluster):
        raise NotAllowed(Permission.JOB_CANCEL, cluster.scope)
    result = _lister(cluster).cancel_job(refs.installation_id(), number)
    why = "" if isinstance(result, Done) else getattr(result, "reason", "")
    record(
        actor=actor,
        action=actions.JOB_CANCEL,
        object_type="job",
        object_id=number[:40],
        object_name=f"{cluster.name}/{number[:40]}",
        scope=cluster.scope,
        result="ok" if not why else "failed",
        reason=why,
    )
    if why:
        raise CannotSay(why)


def _lister(cluster: Cluster) -> ListsJobs:
    try:
        driver = driver_for(cluster)
    except Unconnectable as why:
        raise CannotSay(str(why)) from why
    if not isinstance(driver, ListsJobs):
        raise CannotSay("This kind of cluster does not list jobs.")
    return driver
