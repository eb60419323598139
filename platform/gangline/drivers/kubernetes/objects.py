"""Reads of an attempt's objects: by name where it is known, by label where it is not.

Every read is a quorum read: no ``resourceVersion`` is given.
https://kubernetes.io/docs/reference/using-api/api-concepts/#the-resourceversion-parameter
"""

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.base import AttemptRef

from . import discovery, errors, jobs, labels, names, paging, pods
from .access import Options
from .client import Client, Doubt
from .jobs import Job
from .kinds import KINDS, JobKind, kind_made
from .pods import Pod
from .resources import NAMESPACES, PODS, Resource

SERVED_SECONDS = 300.0

Raw = dict[str, Any]


class Objects:
    """Reads for one cluster. Raises Doubt, and Unreachable as the client does."""

    def __init__(self, client: Client, options: Options) -> None:
        self.client, self.options = client, options
        self._served: tuple[float, list[JobKind]] | None = None
        self._lock = threading.Lock()

    def served(self) -> list[JobKind]:
        """The kinds of jobs that the cluster knows, asked anew every few minutes."""
        with self._lock:
            known = self._served
        if known is not None and time.monotonic() - known[0] < SERVED_SECONDS:
            return known[1]
        plurals: dict[str, set[str]] = {}
        for root, one in {kind.resource.root: kind.resource for kind in KINDS.values()}.items():
            answer = self.client.request("GET", root)
            if not answer.ok and not (answer.status == 404 and discovery.lacks(self.client, one)):
                raise Doubt(errors.reading(answer), answer)
            listed = answer.body.get("resources") or () if answer.ok else ()
            plurals[root] = {str(resource.get("name")) for resource in listed}
        found = [k for k in KINDS.values() if k.resource.plural in plurals[k.resource.root]]
        with self._lock:
            self._served = (time.monotonic(), found)
        return found

    def place(self, ref: AttemptRef) -> tuple[JobKind | None, str]:
        """Kind and namespace of an attempt, as far as ``ref`` tells."""
        native: Mapping[str, Any] = ref.rendered or {}
        namespace = ref.namespace or str(native.get("namespace") or "")
        if not namespace and ref.submission:
            namespace = names.namespace_of(ref.submission, self.options.namespace_prefix)
        if said := ref.submission:
            native = {"framework": said.framework, "launcher": said.worker.launcher}
        return kind_made(native), namespace

    def job(self, ref: AttemptRef) -> Job | None:
        """The object at the attempt's name, whoever made it; None when there is none for certain.

        Where ``ref`` is no more than an identity, the object that bears its labels.
        """
        found = self.found(ref)
        return None if found is None else found[0]

    def found(self, ref: AttemptRef) -> tuple[Job, Raw] | None:
        """The job, with the object as the cluster sent it."""
        found = self._raw(ref)
        return None if found is None else (jobs.read(*found), found[0])

    def raw_job(self, kind: JobKind, namespace: str, name: str) -> Raw | None:
        """The object with this name as it is; None when there is none for certain."""
        answer = self.client.get(kind.resource, namespace, name)
        if answer.ok:
            return dict(answer.body)
        if answer.status == 404 and answer.reason == "NotFound":
            return None
        if answer.status == 403:
            # Before a project's first workload Gangline may list there, and no more than that.
            wanted = f"metadata.name={name}"
            return next(self.every(kind.resource, namespace, "", fieldSelector=wanted), None)
        if answer.status == 404 and discovery.lacks(self.client, kind.resource):
            return None  # its operator was removed, and with the kind all objects of it
        raise Doubt(errors.reading(answer), answer)

    def search(self, ref: AttemptRef) -> Iterator[Job]:
        """Every object that bears the labels of the attempt, in any namespace."""
        return (jobs.read(*found) for found in self._labelled(ref))

    def pods(self, ref: AttemptRef, namespace: str = "") -> list[Pod]:
        """The attempt's pods, whatever became of the job that they were made for."""
        return [pods.read(raw) for raw in self.raw_pods(ref, namespace)]

    def raw_pods(self, ref: AttemptRef, namespace: str = "") -> Iterator[Raw]:
        """The same as the cluster sent them."""
        if namespace := namespace or self.place(ref)[1]:
            found = self.every(PODS, namespace, selector(ref))
        else:
            found = self.everywhere(PODS, ref.install, selector(ref))
        for raw in found:
            owner = pods.owner(raw)
            if owner is not None and owner.is_job(ref.name, ref.ext_uid):
                yield raw

    def everywhere(self, resource: Resource, install: str, wanted: str) -> Iterator[Raw]:
        """Objects of all namespaces or, where that is refused, of those that we have made."""
        try:
            yield from self.every(resource, "", wanted)
        except Doubt as why:
            if why.status != 403:
                raise
            for namespace in self.namespaces(install):
                yield from self.every(resource, namespace, wanted)

    def namespaces(self, install: str) -> list[str]:
        """The namespaces that bear the label of this installation."""
        found = self.every(NAMESPACES, "", labels.selector(install))
        return [str(raw["metadata"]["name"]) for raw in found]

    def every(self, resource: Resource, namespace: str, wanted: str, **query: str) -> Iterator[Raw]:
        """All objects of a collection, page by page."""
        if wanted:
            query["labelSelector"] = wanted
        for page in paging.pages(self.client, resource.path(namespace), query):
            if not page.ok:
                raise Doubt(errors.reading(page), page)
            yield from paging.items(page)

    def _raw(self, ref: AttemptRef) -> tuple[Raw, JobKind] | None:
        kind, namespace = self.place(ref)
        if kind is None or not namespace or not ref.name:
            return next(self._labelled(ref), None)
        raw = self.raw_job(kind, namespace, ref.name)
        return None if raw is None else (raw, kind)

    def _labelled(self, ref: AttemptRef) -> Iterator[tuple[Raw, JobKind]]:
        for kind in self.served():
            try:
                for raw in self.everywhere(kind.resource, ref.install, selector(ref)):
                    yield raw, kind
            except Doubt as why:
                if why.status == 404:
                    with self._lock:
                        self._served = None  # the kind was removed meanwhile, most likely
                raise


def selector(ref: AttemptRef) -> str:
    """Selects everything of one attempt."""
    marks = labels.of(ref)
    wanted = (labels.INSTALL, labels.WORKLOAD, labels.ATTEMPT)
    return ",".join(f"{key}={marks[key]}" for key in wanted)


def is_workload(job: Job, ref: AttemptRef) -> bool:
    """Made by this installation for this workload, in whichever attempt."""
    return is_seen(job, ref) or (job.install == ref.install and job.workload == ref.workload)


def is_attempt(job: Job, ref: AttemptRef) -> bool:
    """… and in this attempt; the very object that was seen first, where that is known."""
    if ref.ext_uid:
        return is_seen(job, ref)
    return is_workload(job, ref) and job.attempt == ref.attempt


def is_seen(job: Job, ref: AttemptRef) -> bool:
    """The very object that was seen as this attempt's: it is, whatever became of its labels."""
    return bool(ref.ext_uid) and job.uid == ref.ext_uid
