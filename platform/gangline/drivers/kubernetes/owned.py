"""What bears an installation's label on a cluster, whether or not anybody knows it (§8.6)."""

from collections.abc import Mapping
from typing import Any

from gangline.drivers.base import Done, NotYet, OwnedObject, Refused, Result, Unknown

from . import errors, jobs, labels, quantities
from .client import Client
from .kinds import KINDS, JobKind
from .objects import Objects


class Owned:
    """Looks for objects and deletes single ones. Raises Doubt and Unreachable as `Objects` does."""

    def __init__(self, client: Client, objects: Objects) -> None:
        self.client, self.objects = client, objects

    def all(self, install: str) -> list[OwnedObject]:
        """Every job of this installation.

        Everything else that Gangline makes is owned by a job, and goes with it.
        """
        return [
            _owned(raw, jobs.read(raw, kind), kind)
            for kind in self.objects.served()
            for raw in self.objects.everywhere(kind.resource, install, labels.selector(install))
        ]

    def delete(self, owned: OwnedObject) -> Result:
        """By its uid, after a look whether it is still ours."""
        kind = next((k for k in KINDS.values() if k.resource.kind == owned.kind), None)
        if kind is None:
            return Refused(f"Gangline does not support objects of kind {owned.kind}.")
        ref = owned.ref
        raw = self.objects.raw_job(kind, ref.namespace, ref.name)
        job = None if raw is None else jobs.read(raw, kind)
        if job is None or job.uid != ref.ext_uid:
            return Done()
        if job.install != ref.install:
            return Refused("It no longer has the label of this installation.")
        if job.is_deleting:
            return NotYet()
        answer = self.client.delete(kind.resource, job.namespace, job.name, uid=job.uid)
        if answer.status == 409:
            return Unknown("It changed at the same moment. Try again.")
        return NotYet() if answer.ok or answer.status == 404 else errors.result(answer)


def _owned(raw: Mapping[str, Any], job: jobs.Job, kind: JobKind) -> OwnedObject:
    marks = raw["metadata"].get("labels") or {}
    return OwnedObject(
        ref=jobs.ref_of(job),
        kind=kind.resource.kind,
        labels={str(key): str(text) for key, text in marks.items()},
        gpus=_gpus(raw, kind),
        created_at=job.created_at,
        is_going=job.is_deleting,
    )


def _gpus(raw: Mapping[str, Any], kind: JobKind) -> int:
    """GPU devices of all its pods together."""
    parts = []
    for _, count, template in kind.parts(raw):
        pod = template.get("spec") or {}
        parts += [(count, quantities.requested(one)) for one in pod.get("containers") or ()]
    sums = quantities.total(parts)
    return sum(int(quantities.amount(sums[name])) for name in sums if quantities.is_gpu(name))
