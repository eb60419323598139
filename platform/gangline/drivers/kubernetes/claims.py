"""Claims on storage over the life of a workload: made, handed on, emptied, collected.

The job owns its claims, so the cluster removes them together. A persistent one outlives the job of
an attempt while the workload goes on: it is let go before that job is deleted, and owned again by
the next attempt's. In between nobody owns it, which is how `collect` knows what to remove.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gangline.drivers.base import AttemptRef, Busy, Refused, Result, Unknown

from . import errors, labels, manifests
from .client import Answer, Client, Doubt, Unreachable
from .jobs import Job
from .objects import Objects
from .resources import CLAIMS
from .volumes import EPHEMERAL, PERSISTENCY, PERSISTENT

SOON = 2.0
MOST_TOLD = 500
"""So many claims of a namespace are offered."""
Claim = Mapping[str, Any]
Refusal = Callable[[str, Answer], Result]
"""Gets the namespace and the answer to a write that was not carried out."""


class Claims:
    """Raises Doubt, and Unreachable as the client does."""

    def __init__(self, client: Client, objects: Objects, refusal: Refusal) -> None:
        self.client, self.objects, self.refusal = client, objects, refusal

    def make(self, ref: AttemptRef, job: Job, body: dict[str, Any]) -> Result | None:
        """Have the claim ``body`` there, owned by ``job``; None when it is."""
        name = body["metadata"]["name"]
        answer = self.client.create(CLAIMS, job.namespace, body)
        if answer.ok:
            return None
        if answer.status != 409:
            return self.refusal(job.namespace, answer)
        found = self._get(job.namespace, name)
        if not _is_of_workload(found, ref):
            return Refused(f"The claim {name} already exists and does not belong to this workload.")
        if _is_going(found):
            return Busy(SOON, f"The content of volume {name} is still being removed.")
        if job.uid in _owners(found):
            return None
        if _persistency(found) == EPHEMERAL:
            self._delete(job.namespace, found)
            return Busy(SOON, f"The content of volume {name} is still being removed.")
        return self._own(ref, job, found)

    def take_over(self, ref: AttemptRef, job: Job) -> Result | None:
        """Own what earlier attempts kept, also what this one does not mount."""
        kept = self._kept(ref, job.namespace) if ref.attempt > 1 else ()
        for claim in kept:
            if job.uid in _owners(claim) or _is_going(claim):
                continue
            if told := self._own(ref, job, claim):
                return told
        return None

    def let_go(self, ref: AttemptRef, job: Job) -> Result | None:
        """Before the job of an attempt is deleted: keep what must outlive it."""
        for claim in self._kept(ref, job.namespace):
            if job.uid in _owners(claim) and not _is_going(claim):
                left = [o for o in claim["metadata"]["ownerReferences"] if o["uid"] != job.uid]
                if told := self._patch(job.namespace, claim, {"ownerReferences": left}):
                    return told
        return None

    def empty(self, ref: AttemptRef, namespace: str) -> None:
        """At a stop: delete what is ephemeral. The cluster waits for the pods that use it.

        https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection
        """
        for claim in self._of(ref, namespace, EPHEMERAL):
            if not _is_going(claim):
                self._delete(namespace, claim)

    def collect(self, ref: AttemptRef, namespace: str) -> bool:
        """After the workload's last job is gone: whether no claim is left; ends those that are."""
        left = self._kept(ref, namespace) if namespace else []
        for claim in left:
            if not _owners(claim) and not _is_going(claim):
                self._delete(namespace, claim)
        return not left

    def _kept(self, ref: AttemptRef, namespace: str) -> list[Claim]:
        return self._of(ref, namespace, PERSISTENT)

    def _of(self, ref: AttemptRef, namespace: str, persistency: str) -> list[Claim]:
        """The workload's claims, of whichever attempt."""
        wanted = {
            labels.INSTALL: ref.install,
            labels.WORKLOAD: ref.workload,
            PERSISTENCY: persistency,
        }
        selector = ",".join(f"{key}={value}" for key, value in wanted.items())
        answer = self.client.list(CLAIMS, namespace, labelSelector=selector)
        if answer.status == 403 and errors.missing_right(answer):
            return []  # where Gangline was never given its role it has made nothing
        if not answer.ok:
            raise Doubt(errors.reading(answer), answer)
        return list(answer.body.get("items") or ())

    def _get(self, namespace: str, name: str) -> Claim:
        answer = self.client.get(CLAIMS, namespace, name)
        if answer.status == 404:
            raise Doubt("A volume of the workload is being removed.")
        if not answer.ok:
            raise Doubt(errors.reading(answer), answer)
        return dict(answer.body)

    def _own(self, ref: AttemptRef, job: Job, claim: Claim) -> Result | None:
        """Other owners were jobs of this workload, which are gone."""
        changes = {"ownerReferences": [manifests.owner(ref, job.uid)], "labels": labels.of(ref)}
        return self._patch(job.namespace, claim, changes)

    def _patch(self, namespace: str, claim: Claim, changes: dict[str, Any]) -> Result | None:
        meta = claim["metadata"]
        read = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        body = {"metadata": read | changes}
        answer = self.client.patch(CLAIMS, namespace, meta["name"], body)
        if answer.ok:
            return None
        if answer.status in (404, 409):
            raise Doubt("A volume of the workload was changed at the same time.")
        return self.refusal(namespace, answer)

    def _delete(self, namespace: str, claim: Claim) -> None:
        meta = claim["metadata"]
        answer = self.client.delete(CLAIMS, namespace, meta["name"], uid=meta["uid"])
        if not answer.ok and answer.status not in (404, 409):
            raise Doubt(errors.reading(answer), answer)


def there(client: Client, namespace: str) -> Sequence[str] | Unknown:
    """Names of the claims in a namespace that others made."""
    try:
        answer = client.list(CLAIMS, namespace, limit=MOST_TOLD)
    except Unreachable as why:
        return Unknown(str(why))
    if not answer.ok:
        return Unknown(errors.reading(answer))
    listed = (one["metadata"] for one in answer.body.get("items") or ())
    return sorted(one["name"] for one in listed if labels.INSTALL not in (one.get("labels") or {}))


def _is_of_workload(claim: Claim, ref: AttemptRef) -> bool:
    marks = claim["metadata"].get("labels") or {}
    told = (marks.get(labels.INSTALL), marks.get(labels.WORKLOAD))
    return told == (ref.install, ref.workload)


def _owners(claim: Claim) -> set[str]:
    return {owner["uid"] for owner in claim["metadata"].get("ownerReferences") or ()}


def _is_going(claim: Claim) -> bool:
    return "deletionTimestamp" in claim["metadata"]


def _persistency(claim: Claim) -> str:
    return str((claim["metadata"].get("labels") or {}).get(PERSISTENCY, ""))
