"""The scheduler that every cluster has: pods are placed one by one, without gangs or queues.

https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.kubernetes import placement, quantities
from gangline.drivers.kubernetes.wording import sentence

from . import insufficient_resources
from .base import Gang, Object, Suspending, Waiting, condition, keep_pods_together

_VERDICT = re.compile(r"0/([0-9]+) nodes are available: (.*?)(?:\. |\.?\Z)", re.DOTALL)
_PART = re.compile(r"([0-9]+) (.+)", re.DOTALL)
_LACKING = re.compile(r"Insufficient ([^\s,.]+(?:\.[^\s,.]+)*)")
_TAINT = re.compile(r"node\(s\) had untolerated taint(?:\(s\)|s)? ?(?:\{([^}:]*)[^}]*\})?")
_CAUSES = (
    ("didn't match Pod's node affinity/selector", "not of the requested kind"),
    ("were unschedulable", "closed to new pods"),
    ("didn't match pod topology spread", "ruled out by topology"),
    ("didn't match pod affinity rules", "ruled out by topology"),
    ("Too many pods", "full of pods"),
)
_SHORT = {"cpu": "too little free CPU", "memory": "too little free memory"}


class Plain(Suspending):
    """No gang: two jobs that both start in part can wait for each other."""

    name = "plain"
    title = "kube-scheduler"
    api = ""
    is_proven = True
    unsupported: Mapping[str, str] = {
        **placement.whole_only(title),
        **placement.by_priority_only(title),
    }

    def decorate(self, job: Object, gang: Gang) -> None:
        """It is the default of every pod, and binds none to the others but by their own wish."""
        keep_pods_together(job, gang)

    def pending_reason(self, waiting: Waiting) -> str:
        return sentence(of_pods(waiting))


def of_pods(waiting: Waiting) -> str:
    """What the pods without a node lack: "waiting for 8 GPUs, 3 free on 4 nodes".

    Where nothing is lacking that is counted, the scheduler is quoted: "2 of 3 pods wait for a node;
    …". Empty: all have one.
    """
    waits = unplaced(waiting)
    if not waits:
        return ""
    if short := shortage(waiting):
        return short
    pods = f"{len(waits)} of {len(waiting.pods)} pods" if len(waiting.pods) > 1 else "its pod"
    verb = "waits" if len(waits) == 1 else "wait"
    why = verdict(next(filter(None, map(_message, waits)), ""))
    return f"{pods} {verb} for a node{f'; {why}' if why else ''}"


def unplaced(waiting: Waiting) -> list[Mapping[str, Any]]:
    """Pods that have no node yet."""
    return [pod for pod in waiting.pods if not pod.get("spec", {}).get("nodeName")]


def gang_reason(waiting: Waiting, members: int, key: str = "") -> str:
    """Of ``members`` that are placed together or not at all, where ``key`` names a bond of nodes.

    Schedulers of gangs say no more of such pods than that they wait for each other.
    """
    if short := shortage(waiting, key):
        return short
    place = f"in any one {key.rpartition('/')[2]} " if key else ""
    return f"there is no room {place}for all {members} pods together"


def shortage(waiting: Waiting, key: str = "") -> str:
    """What is lacking, if that has been counted; ``key``: on nodes that share its value."""
    if waiting.room is None:
        return ""
    demands = insufficient_resources.unplaced(waiting.job, waiting.pods)
    short = insufficient_resources.shortage(waiting.room, demands)
    return short or (
        insufficient_resources.within(waiting.room, demands, key)[0] if key and demands else ""
    )


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
