"""Why pods wait for a place, in words: what schedulers say, made short. Pure.

The scheduler's sentence is ``0/4 nodes are available: 1 node(s) had untolerated taint {…}, 3
Insufficient nvidia.com/gpu. preemption: …``; see ``FitError`` in
https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/scheduler/framework/types.go
"""

import re
from collections.abc import Iterable

_FIT = re.compile(r"^(\d+)/(\d+) nodes are available:?\s*(.*)$", re.DOTALL)
_TAIL = re.compile(
    r"\.?\s*(?:no new claims to deallocate|preemption:|Preemption is not).*$", re.DOTALL
)
_PART = re.compile(r"^(\d+) (.*)$")
_INSUFFICIENT = re.compile(r"^Insufficient (\S+)$")
_TAINT = re.compile(r"^node\(s\) had untolerated taint\(?s?\)? ?\{?([^:}]*)")
_NAMES = {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "disk space", "pods": "pod slots"}
_KNOWN = (
    ("didn't match Pod's node affinity/selector", "are not of the wanted type"),
    ("were unschedulable", "take no new pods"),
    ("didn't match pod affinity rules", "lie outside the wanted topology"),
    ("didn't match pod topology spread constraints", "lie outside the wanted topology"),
    ("had volume node affinity conflict", "cannot reach its volume"),
    ("didn't find available persistent volumes to bind", "have no volume for it"),
)


def in_words(message: str, *, pods: int, gpus: int) -> str:
    """``Waits for 8 GPUs: 3 of 4 nodes have too few free, 1 is tainted (gpu-only).``

    ``pods`` wait, and ask for ``gpus`` together. A message of another kind is given as it is.
    """
    found = _FIT.match(message.strip())
    need = _need(pods, gpus)
    if found is None:
        text = message.strip().rstrip(".")
        return f"{need}: {text}." if text else f"{need}."
    total = int(found[2])
    parts = _split(_TAIL.sub("", found[3]).rstrip(". "))
    if not parts:
        return f"{need}: none of {total} nodes can take it."
    said = ", ".join(_node_words(count, text, total) for count, text in parts)
    return f"{need}: {said}."


def is_gpu(resource: str) -> bool:
    """Whether an extended resource is some kind of GPU."""
    name = resource.rpartition("/")[2]
    return "/" in resource and (name == "gpu" or name.startswith(("mig-", "gpu")))


def _need(pods: int, gpus: int) -> str:
    if gpus:
        return f"Waits for {gpus} GPU{'s' if gpus > 1 else ''}"
    return f"Waits for room for {pods} pods" if pods > 1 else "Waits for room"


def _split(text: str) -> list[tuple[int, str]]:
    """``1 node(s) …, 3 Insufficient cpu`` in its parts; commas inside of one do not count."""
    found: list[tuple[int, str]] = []
    for piece in re.split(r", (?=\d+ )", text):
        part = _PART.match(piece.strip())
        if part is not None:
            found.append((int(part[1]), part[2].strip()))
    return found


def _node_words(count: int, text: str, total: int) -> str:
    nodes = f"{count} of {total} nodes" if total > 1 else "the node"
    plural = count > 1 or total > 1
    if lacking := _INSUFFICIENT.match(text):
        return f"{nodes} {'have' if plural else 'has'} too {_little(lacking[1])} free"
    if taint := _TAINT.match(text):
        return f"{nodes} {'are' if plural else 'is'} kept for others ({taint[1].strip()})"
    bare = text.removeprefix("node(s) ").strip()
    for known, words in _KNOWN:
        if bare.startswith(known):
            return f"{nodes} {words}"
    return f"{nodes}: {bare}"


def _little(resource: str) -> str:
    if is_gpu(resource):
        return "few GPUs"
    name = _NAMES.get(resource, resource)
    return f"few {name}" if name == "pod slots" else f"little {name}"


def first(texts: Iterable[str]) -> str:
    """The first that says anything."""
    return next((text for text in texts if text), "")
