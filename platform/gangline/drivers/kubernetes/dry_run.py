"""Asks the cluster what it would say to an attempt, without making anything.

The job, what stands beside it, and one pod of each role are sent with ``dryRun=All``: an API server
then runs everything but the write. A custom resource runs none of the admission of pods, so quotas,
limit ranges, PodSecurity and priorities speak up only for a pod.
https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
"""

import copy
import re
from collections.abc import Mapping
from typing import Any

from gangline.drivers.base import AttemptRef, Busy, DryRunResult, Unknown
from gangline.spec.frameworks import role_of
from gangline.spec.problems import Problem, Role

from . import errors, manifests, refusals
from .client import Answer, Client, Doubt, understood
from .deadlines import InTime, in_time
from .effects import DEPENDENTS
from .kinds import JobKind, kind_made
from .mapping import Place
from .namespaces import Namespaces, foreign
from .objects import Objects
from .resources import NAMESPACES, PODS, Resource
from .schedulers import adapter
from .wording import cleaned

ONE_ANSWER = 10.0
OURS = "a namespace that Gangline made or was handed over to it"
_NO_DRY_RUN = re.compile(r'admission webhook "([^"]+)" does not support dry run')
_NOT_YET = re.compile(r'(?:serviceaccount "[^"]*"|[Pp]od[Gg]roup\b.*) not found')
"""What exists by the time the real pods are made, and need not exist now."""


class DryRun:
    """One dry run of ``ref``. Never raises for what a cluster does."""

    def __init__(self, client: Client, objects: Objects, ref: AttemptRef) -> None:
        self.client, self.objects, self.ref = InTime(client), objects, ref
        self.problems: list[Problem] = []
        self.asked: list[str] = []
        self.doubts: list[str] = []

    @in_time
    def result(self) -> DryRunResult:
        """Ask everything that there is time for."""
        try:
            with understood(f"the dry run of {self.ref.name}"):
                self._all()
        except Doubt as why:
            self.doubts.append(f"{str(why).rstrip('.')}; the rest was not checked.")
        return DryRunResult(
            refusals.once(self.problems),
            tuple(dict.fromkeys(self.asked)),
            tuple(dict.fromkeys(self.doubts)),
        )

    def _all(self) -> None:
        ref, kind = self.ref, kind_made(self.ref.rendered or {})
        if kind is None or ref.submission is None:
            self.doubts.append("Gangline has no object for this framework.")
            return
        if not self._namespace():
            return
        body = manifests.job(ref)
        answer = self._try(kind.resource, body)
        uid = str(answer.body["metadata"].get("uid")) if answer.ok else "dry-run"
        self._judge(answer, ("job",), f"the {kind.resource.kind}", kind)
        for role, _, template in kind.parts(body):
            self._pod(kind, role, template)
        if answer.ok:
            self._dependents(uid)

    def _namespace(self) -> bool:
        """Whether the project's namespace is there and Gangline may work in it.

        Nothing can be tried in one that is not; elsewhere other limits and checks hold.
        """
        name = self.ref.namespace
        answer = self._get(NAMESPACES, "", name)
        if answer.status == 404:
            answer = Namespaces(self.client).dry_run(name, self.ref.install)
            if answer.ok:
                self.doubts.append(
                    f"The namespace {name} does not exist yet: it is created with the project's "
                    f"first workload. Its quotas, limits and checks cannot be tested before then."
                )
            else:
                self._judge(answer, (), f"the namespace {name}", None)
            return False
        if not answer.ok and answer.status != 403:
            self.doubts.append(_in_doubt(answer) or errors.reading(answer))
            return False
        return True

    def _pod(self, kind: JobKind, role: str, template: Mapping[str, Any]) -> None:
        """One pod as the operator would make it."""
        made = copy.deepcopy(dict(template))
        marks = made.get("metadata", {})
        body = {
            "apiVersion": PODS.api_version,
            "kind": PODS.kind,
            "metadata": {
                **marks,
                "name": f"{self.ref.name}-{role.lower()}-0",
                "namespace": self.ref.namespace,
            },
            "spec": {**made["spec"], "restartPolicy": "Never"},
        }
        known = role_of(kind.framework, kind.role(role))
        words = f"a pod of the {known.word}s" if known.counts else f"the pod of the {known.word}"
        answer = self._try(PODS, body)
        if errors.missing_right(answer):
            self.doubts.append(f"{_clause(errors.words(answer))}; {words} was not checked.")
            return
        within = ("job", "spec", kind.replicas, role, "template")
        self._judge(answer, within, words, None)

    def _dependents(self, uid: str) -> None:
        for index, body in enumerate(manifests.dependents(self.ref, uid)):
            resource = DEPENDENTS[(body["apiVersion"], body["kind"])]
            answer = self._try(resource, body)
            if errors.lacks_kind(answer):
                title = adapter(self.ref.rendered["scheduler"]).title
                why = errors.no_scheduler(resource, title)
                self.problems.append(_refusing(why, "a scheduler that the cluster has"))
                continue
            self._judge(answer, ("dependents", str(index)), f"the {body['kind']}", None)

    def _judge(self, answer: Answer, within: Place, what: str, job: JobKind | None) -> None:
        """An answer to a trial: accepted, in doubt, or refused at a field."""
        if answer.ok:
            self.asked.append(what)
        elif answer.status == 409 and answer.reason == "AlreadyExists":
            # Everything but the name has been let through.
            self.asked.append(what)
            if job is not None:
                self._taken(job)
        elif job is not None and errors.lacks_kind(answer):
            self.problems.append(_unknown_kind(job))
        elif doubt := _in_doubt(answer):
            self.doubts.append(f"{_clause(doubt)}; {what} was not checked.")
        elif job is not None and errors.missing_right(answer):
            self._without_right(answer, what)
        else:
            self.problems += refusals.problems(self.ref, within, answer)

    def _taken(self, kind: JobKind) -> None:
        job = self.objects.job(self.ref)
        if job is None or job.install == self.ref.install:
            return  # what Gangline made itself is waited for
        self.problems.append(
            Problem.of(
                Role.WORKLOAD, "name", "cluster:name_taken", value=self.ref.name,
                kind=kind.resource.kind,
                accepted=f"a name that namespace {self.ref.namespace} does not have yet",
                label="Name",
            )
        )  # fmt: skip

    def _without_right(self, answer: Answer, what: str) -> None:
        """Gangline gives itself the right with the first workload there, if it may."""
        namespace = self._get(NAMESPACES, "", self.ref.namespace)
        if namespace.ok and (why := foreign(namespace, self.ref.install)):
            self.problems.append(_refusing(why, OURS))
        elif Namespaces(self.client).dry_run_binding(self.ref.namespace, self.ref.install):
            self.doubts.append(
                "Gangline does not have access yet to namespace {self.ref.namespace}: it gets it "
                "with the next workload; {what} was not checked."
            )
        else:
            self.problems += refusals.problems(self.ref, (), answer)

    def _try(self, resource: Resource, body: Mapping[str, Any]) -> Answer:
        return self.client.create(
            resource, self.ref.namespace, body, dry_run=True, read_seconds=ONE_ANSWER
        )

    def _get(self, resource: Resource, namespace: str, name: str) -> Answer:
        return self.client.request("GET", resource.path(namespace, name), read_seconds=ONE_ANSWER)


def _in_doubt(answer: Answer) -> str:
    """Why an answer says nothing about the object; empty if it does."""
    if match := _NO_DRY_RUN.search(answer.message):
        return f"The check {match[1]} of the cluster does not support dry runs"
    if errors.lacks_namespace(answer):
        return "The namespace no longer exists"
    if answer.status == 409:
        return "Another client was changing the same object"
    if answer.status == 403 and _NOT_YET.search(answer.message):
        return f"Something that a pod needs is made later ({cleaned(errors.core(answer))})"
    told = errors.result(answer)
    if isinstance(told, Unknown | Busy):
        return told.reason or "The cluster is rate limiting requests"
    return ""


def _refusing(why: str, accepted: str) -> Problem:
    """Of the whole: no field can be told."""
    return Problem.of(
        Role.WORKLOAD, "", "cluster:would_refuse", said=why,
        accepted=accepted, label="The cluster",
    )  # fmt: skip


def _unknown_kind(kind: JobKind) -> Problem:
    return Problem.of(
        Role.WORKER, "distributedFramework", "cluster:no_kind", value=kind.framework,
        kind=kind.resource.kind, version=kind.resource.api_version, operator=kind.operator,
        accepted="a framework whose operator the cluster has",
    )  # fmt: skip


def _clause(text: str) -> str:
    return text.rstrip(".")
