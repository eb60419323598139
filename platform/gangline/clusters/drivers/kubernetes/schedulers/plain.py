"""The scheduler that every cluster has: pods are placed one by one, without gangs or queues.

https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gangline.clusters.drivers.base import Submission
from gangline.clusters.drivers.kubernetes import quantities, sharing
from gangline.clusters.drivers.kubernetes.resources import Resource
from gangline.spec.problems import Problem

from .base import Gang, Object, Objects, Room, Waiting, condition, keep_pods_together, sentence

_VERDICT = re.compile(r"0/([0-9]+) nodes are available: (.*?)(?:\. |\.?\Z)", re.DOTALL)
_PART = re.compile(r"([0-9]+) (.+)", re.DOTALL)
_LACKING = re.compile(r"Insufficient ([^\s,.]+(?:\.[^\s,.]+)*)")
_TAINT = re.compile(r"node\(s\) had untolerated taint(?:\(s\)|s)? ?(?:\{([^}:]*)[^}]*\})?")
_CAUSES = (
    ("didn't match Pod's node affinity/selector", "not of the kind asked for"),
    ("were unschedulable", "closed to new pods"),
    ("didn't match pod topology spread", "ruled out by topology"),
    ("didn't match pod affinity rules", "ruled out by topology"),
    ("Too many pods", "full of pods"),
)
_SHORT = {"cpu": "too little free CPU", "memory": "too little free memory"}


class Plain:
    """No gang: two jobs that both start in part can wait for each other."""

    name = "plain"
    title = "kube-scheduler"
    api = ""
    is_proven = True
    reads: tuple[Resource, ...] = ()
    unsupported: Mapping[str, str] = sharing.whole_only(title)

    def check(self, submission: Submission) -> Iterator[Problem]:
        return iter(())

    def decorate(self, job: Object, gang: Gang) -> None:
        """No name: it is the default of every pod.

        The first pod of a required topology decides where all of them go, fit they or not.
        """
        keep_pods_together(job, gang)

    def objects(self, gang: Gang) -> list[Object]:
        return []

    def pending_reason(self, waiting: Waiting) -> str:
        return sentence(of_pods(waiting))


def of_pods(waiting: Waiting) -> str:
    """What the pods without a node say: "2 of 3 pods wait for a node; …". Empty: all have one."""
    waits = unplaced(waiting)
    if not waits:
        return ""
    pods = f"{len(waits)} of {len(waiting.pods)} pods" if len(waiting.pods) > 1 else "its pod"
    verb = "waits" if len(waits) == 1 else "wait"
    message = next(filter(None, map(_message, waits)), "")
    if waiting.room is not None and _lacks_gpus(message) and (gpus := gpus_of(waits)):
        return _for_gpus(gpus, waiting.room)
    why = verdict(message)
    return f"{pods} {verb} for a node{f'; {why}' if why else ''}"


def unplaced(waiting: Waiting) -> list[Mapping[str, Any]]:
    """Pods that have no node yet."""
    return [pod for pod in waiting.pods if not pod.get("spec", {}).get("nodeName")]


def gang_reason(waiting: Waiting, members: int, gpus: int) -> str:
    """Of ``members`` that are placed together or not at all, and ask for ``gpus`` in all.

    Schedulers of gangs say no more of such pods than that they wait for each other.
    """
    if waiting.room is not None and gpus > waiting.room.gpus:
        return _for_gpus(gpus, waiting.room)
    return f"there is no room for all {members} pods together"


def _for_gpus(gpus: int, room: Room) -> str:
    nodes = f"{room.nodes} {'node' if room.nodes == 1 else 'nodes'}"
    return f"waiting for {gpus} {'GPU' if gpus == 1 else 'GPUs'}, {room.gpus} free on {nodes}"


def gpus_of(pods: Objects) -> int:
    """GPUs that these pods ask for together."""
    return int(
        sum(
            quantities.amount(quantity)
            for pod in pods
            for container in pod.get("spec", {}).get("containers", ())
            for resource, quantity in quantities.requested(container).items()
            if quantities.is_gpu(resource)
        )
    )


def _lacks_gpus(message: str) -> bool:
    return any(quantities.is_gpu(resource) for resource in _LACKING.findall(message))


def verdict(message: str) -> str:
    """The scheduler's own sentence, without its words for engineers.

    "0/4 nodes are available: 3 Insufficient nvidia.com/gpu, 1 Too many pods." becomes
    "none of 4 nodes fits: 3 have too few free GPUs, 1 is full of pods". What is in another form
    stays as it is.
    """
    match = _VERDICT.match(message.strip())
    if match is None:
        return message.strip().rstrip(".")
    nodes = f"none of {match[1]} nodes fits" if match[1] != "1" else "the only node does not fit"
    parts = list(_parts(match[2]))
    return f"{nodes}: {', '.join(parts)}" if parts else nodes


def _parts(text: str) -> Iterator[str]:
    # A comma inside of a taint's braces separates nothing.
    for part in re.split(r", (?![^{]*\})", text):
        match = _PART.fullmatch(part.strip())
        if match is None:
            if part.strip():
                yield part.strip()
            continue
        is_one = match[1] == "1"
        if lacking := _LACKING.fullmatch(match[2]):
            yield f"{match[1]} {'has' if is_one else 'have'} {_too_little(lacking[1])}"
        elif taint := _TAINT.fullmatch(match[2]):
            verb = "keeps" if is_one else "keep"
            named = f" (taint {taint[1].strip()})" if taint[1] else ""
            yield f"{match[1]} {verb} such pods away{named}"
        else:
            cause = next((words for sign, words in _CAUSES if sign in match[2]), "")
            yield f"{match[1]} {'is' if is_one else 'are'} {cause}" if cause else match[0]


def _too_little(resource: str) -> str:
    gpus = "too few free GPUs" if quantities.is_gpu(resource) else f"too little free {resource}"
    return _SHORT.get(resource, gpus)


def _message(pod: Mapping[str, Any]) -> str:
    found = condition(pod, "PodScheduled")
    return str(found.get("message") or "") if found.get("status") == "False" else ""
