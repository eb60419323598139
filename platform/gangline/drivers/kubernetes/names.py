"""Names of objects on a cluster, and those that could be taken for something else there."""

import hashlib
import re
from collections.abc import Mapping

from gangline.drivers.base import Submission

from .kinds import ROLES, JobKind

LONGEST_LABEL = 63
"""A DNS label, and the value of a Kubernetes label.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""
_OF_A_REPLICA = re.compile(rf"-(?:{'|'.join(ROLES)})-[0-9]+\Z")
_HASH_LENGTH = 8


def namespace(prefix: str, project: str) -> str:
    """The namespace of a project: ``<prefix>-<project>``, with a hash in place of what is too long.

    Two projects of a cluster have two names, hence two namespaces, also when both are cut.
    """
    name = f"{prefix}-{project}"
    if len(name) <= LONGEST_LABEL:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: LONGEST_LABEL - _HASH_LENGTH - 1].rstrip('-')}-{digest}"


def namespace_of(submission: Submission, prefix: str) -> str:
    """Where a submission's objects lie: the project's own namespace, or the one made for it."""
    return submission.namespace or namespace(prefix, submission.project)


def longest_made(kind: JobKind, name: str, pods: Mapping[str, int]) -> str:
    """The longest name that the operators derive from a workload's: ``<name>-worker-<last>``.

    Pods and Services bear it, and a label of every pod has it as its value. ``pods``: by role.
    """
    last = {native: max(pods.get(role, 1) - 1, 0) for role, native in kind.roles.items()}
    return name + max((kind.pod(native, index) for native, index in last.items()), key=len)


def problem(kind: JobKind, name: str, pods: Mapping[str, int]) -> str | None:
    """Why a workload of this kind cannot bear ``name`` on a cluster, as a predicate."""
    made = longest_made(kind, name, pods)
    if (over := len(made) - LONGEST_LABEL) > 0:
        return (
            f"is too long by {over} for {pods['worker']} workers: the last of them would be called "
            f"{made}, and the cluster takes {LONGEST_LABEL} characters"
        )
    # MPI's operator and JobSet name a Service after the workload itself.
    if kind.framework in ("MPI", "MXNet") and (match := _OF_A_REPLICA.search(name)):
        return (
            f"must not end in “{match[0]}”: the Service of a replica of another workload could "
            "have the same name"
        )
    return None
