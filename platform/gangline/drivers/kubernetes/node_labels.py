"""Labels of nodes: what a probe keeps of them, and what is refused because of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangline.drivers.base import Submission
from gangline.drivers.facts import Facts
from gangline.spec.problems import Problem

from .placement import NODE_TYPE

TOPOLOGY = "podAffinity.key"
MOST_KEYS, MOST_TYPES = 200, 40
_HOST = "kubernetes.io/hostname"
_WORDS = ("zone", "region", "rack", "block", "row", "spine", "switch", "hostname")


def labels_of(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every key of a label that nodes have; the first `MOST_KEYS` of too many."""
    return sorted({key for node in nodes for key in _labels(node)})[:MOST_KEYS]


def suggestions(
    nodes: Sequence[Mapping[str, Any]], node_type: str = NODE_TYPE
) -> dict[str, list[str]]:
    """Values of fields, by path, that fit these nodes: the form offers them."""
    types = {str(_labels(node)[node_type]) for node in nodes if node_type in _labels(node)}
    keys = [key for key in labels_of(nodes) if _is_topology(key)]
    return {"nodeType": sorted(types)[:MOST_TYPES], TOPOLOGY: keys}


def check(submission: Submission, facts: Facts) -> Iterator[Problem]:
    """A topology by a label that no node has; what a probe has not seen is taken on trust."""
    known = (facts.detail.get("nodes") or {}).get("labels") or []
    if not known or len(known) >= MOST_KEYS:
        return
    for role, spec in submission.halves:
        key = spec.pod_affinity.key
        if key and key not in known:
            fit = [each for each in known if _is_topology(each)] or known
            yield Problem.of(role, TOPOLOGY, "cluster:topology", value=key, accepted=", ".join(fit))


def _is_topology(key: str) -> bool:
    domain, _, name = key.rpartition("/")
    return key == _HOST or domain.startswith("topology.") or name.rpartition("-")[2] in _WORDS


def _labels(node: Mapping[str, Any]) -> Mapping[str, Any]:
    return (node.get("metadata") or {}).get("labels") or {}
