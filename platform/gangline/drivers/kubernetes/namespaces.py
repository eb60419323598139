"""The namespace of a project, made on demand, and the right to work in it.

Gangline holds little more than reading on the whole cluster. In a project's namespace it binds
itself to the shipped ClusterRole, which is all that its right to ``bind`` allows.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gangline.drivers.base import Busy, Refused, Result

from . import errors, labels
from .client import Answer, Client
from .connection_steps import dated
from .permissions import PROJECT_ROLE, RBAC
from .resources import NAMESPACES, SELF_REVIEWS, Resource

BINDINGS = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
SETTLE = 0.3
"""Seconds after which an API server has usually heard of a new binding."""
YOUNG = 60.0
"""Seconds after which every API server has: a refusal then means that the right is missing."""
LATER = 5.0
TRIES = 3


class Namespaces:
    """Raises Unreachable as the client does."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._subject: dict[str, Any] | None = None
        self._settled_at: dict[str, float] = {}
        """By namespace, as ``time.monotonic()`` says it."""

    def prepare(self, name: str, install: str) -> Result | None:
        """Make the namespace and the binding; None when both are there.

        Of a namespace that somebody else made, such as ``kube-system``, Gangline takes no rights.
        """
        answer = _unless_changed(lambda: self._have(name, install))
        if not answer.ok:
            return _said(answer, name)
        if why := foreign(answer, install):
            return Refused(why)
        if answer.body["metadata"].get("deletionTimestamp"):
            return Busy(errors.GOING, errors.NAMESPACE_GOES)
        return self._bind(name, install)

    def settle(self, name: str, deadline: float, pause: float) -> Result | None:
        """After a refusal in spite of `prepare`: None when it is worth another try at once."""
        if time.monotonic() + pause < deadline:
            time.sleep(pause)
            return None
        return _not_known(name)

    def is_settling(self, name: str) -> bool:
        """Whether Gangline bound itself there so lately that an API server may not know of it."""
        return time.monotonic() < self._settled_at.get(name, 0.0)

    def refusal(self, name: str, answer: Answer) -> Result:
        """What a write into a namespace that was not carried out means."""
        if errors.missing_right(answer) and self.is_settling(name):
            return _not_known(name)
        return errors.result(answer)

    def dry_run(self, name: str, install: str) -> Answer:
        """What the cluster would say to the namespace. Makes nothing."""
        return self.client.apply(NAMESPACES, "", name, _namespace(name, install), dry_run=True)

    def dry_run_binding(self, namespace: str, install: str) -> bool:
        """Whether the cluster would let Gangline bind itself there. Makes nothing."""
        subject = self._who()
        if not isinstance(subject, dict):
            return False
        body = _binding(subject, install)
        return self.client.apply(BINDINGS, namespace, PROJECT_ROLE, body, dry_run=True).ok

    def _have(self, name: str, install: str) -> Answer:
        answer = self.client.get(NAMESPACES, "", name)
        if answer.status == 404:
            answer = self.client.apply(NAMESPACES, "", name, _namespace(name, install))
        return answer

    def _bind(self, namespace: str, install: str) -> Result | None:
        subject = self._who()
        if not isinstance(subject, dict):
            return subject
        body = _binding(subject, install)
        answer = _unless_changed(lambda: self.client.apply(BINDINGS, namespace, PROJECT_ROLE, body))
        if answer.ok:
            self._settled_at[namespace] = time.monotonic() + YOUNG - _age(answer)
            time.sleep(SETTLE)
            return None
        # Where everything is granted on the whole cluster, the role need not even exist.
        return None if answer.status in (403, 404) else _said(answer, namespace)

    def _who(self) -> dict[str, Any] | Result | None:
        """Our own identity; None where there is none to bind: everything is granted on the whole
        cluster then, or the next refusal says what is missing."""
        if self._subject is not None:
            return self._subject
        body = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
        answer = self.client.request("POST", SELF_REVIEWS.path(), body=body)
        if not answer.ok:
            return None if answer.status in (403, 404) else errors.result(answer)
        user = str(answer.body["status"]["userInfo"].get("username", ""))
        self._subject = _subject(user)
        return self._subject


def foreign(answer: Answer, install: str) -> str:
    """Why Gangline does not give itself rights in a namespace that is there, and what to do."""
    meta = answer.body.get("metadata") or {}
    name, owner = meta.get("name", ""), (meta.get("labels") or {}).get(labels.INSTALL)
    if owner == install:
        return ""
    made = "created by another Gangline" if owner else "not created by Gangline"
    return (
        f"The namespace {name} was {made}, so Gangline does not use it. To hand it over: "
        f"kubectl label --overwrite namespace {name} {labels.INSTALL}={install}"
    )


def _unless_changed(ask: Callable[[], Answer]) -> Answer:
    """The answer; asked again a few times while somebody changes the same at the same moment."""
    for _ in range(TRIES):
        answer = ask()
        if answer.status != 409:
            break
        time.sleep(SETTLE)
    return answer


def _not_known(name: str) -> Busy:
    return Busy(
        LATER, f"The cluster has not yet applied Gangline's permission in namespace {name} yet."
    )


def _said(answer: Answer, name: str) -> Result:
    """What a refusal means; what somebody else changes at the same moment is tried again later."""
    if answer.status == 409:
        return Busy(LATER, f"Another client is changing the namespace {name}.")
    return errors.result(answer)


def _age(answer: Answer) -> float:
    """Seconds since anybody changed the object, by the cluster's own clock; 0 if it says none."""
    meta = answer.body.get("metadata") or {}
    changes = [one.get("time") for one in meta.get("managedFields") or ()]
    changed = max(filter(None, (meta.get("creationTimestamp"), *changes)), default="")
    if not changed:
        return 0.0
    try:
        now = dated(answer)
    except ValueError:
        now = datetime.now(UTC)
    return max(0.0, (now - datetime.fromisoformat(changed)).total_seconds())


def _binding(subject: dict[str, Any], install: str) -> dict[str, Any]:
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": PROJECT_ROLE, "labels": _labels(install)},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": PROJECT_ROLE},
        "subjects": [subject],
    }


def _subject(user: str) -> dict[str, Any] | None:
    """The identity as RBAC names it."""
    if not user or user == "system:anonymous":
        return None
    parts = user.split(":")
    if user.startswith("system:serviceaccount:") and len(parts) == 4:
        return {"kind": "ServiceAccount", "namespace": parts[2], "name": parts[3]}
    return {"kind": "User", "apiGroup": RBAC, "name": user}


def _namespace(name: str, install: str) -> dict[str, Any]:
    return {
        "apiVersion": NAMESPACES.api_version,
        "kind": NAMESPACES.kind,
        "metadata": {"name": name, "labels": _labels(install)},
    }


def _labels(install: str) -> dict[str, str]:
    return {labels.MANAGED_BY: labels.MANAGER, labels.INSTALL: install}
