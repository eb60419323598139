"""What Kubernetes says of the shape of its answers, as far as Gangline reads them. Pure.

An API server checks what it stores. What answers in another shape is none: a proxy's page, an
aggregated API with a fault, or somebody who tries what happens.
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
"""

from collections.abc import Mapping
from typing import Any

_TEXTS = {str: str}
"""An object of any texts, by any names."""
_OBJECT: dict[Any, Any] = {}
"""An object of whatever it likes."""
_META = {
    **dict.fromkeys(
        ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "continue"), str
    ),
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "ownerReferences": [_OBJECT],
    "finalizers": [str],
}
_CONTAINER = {"name": str, "resources": {"requests": _OBJECT, "limits": _OBJECT}}
_CONTAINER_STATUS = {"name": str, "state": _OBJECT, "lastState": _OBJECT}
_ONE = {
    "metadata": _META,
    "spec": {"containers": [_CONTAINER], "initContainers": [_CONTAINER], "taints": [_OBJECT]},
    "status": {
        "conditions": [_OBJECT],
        "containerStatuses": [_CONTAINER_STATUS],
        "initContainerStatuses": [_CONTAINER_STATUS],
        "allocatable": _OBJECT,
        "capacity": _OBJECT,
    },
    "rules": [_OBJECT],
}
_ANSWER = {
    **_ONE,
    "items": [_ONE],
    "resources": [_OBJECT],
    "groups": [{"name": str, "versions": [_OBJECT]}],
}
_STATUS = {"metadata": _OBJECT, "details": {"causes": [_OBJECT]}}
"""Of a ``Status``, whose ``status`` is a word."""


def is_answer(body: Any) -> bool:
    """Whether ``body`` can be what a request for JSON is answered with.

    What is left out or null is so everywhere; every object of a list has a name.
    """
    if not isinstance(body, dict):
        return False
    if body.get("kind") == "Status":
        return _fits(body, _STATUS)
    return _fits(body, _ANSWER) and all(map(_is_named, body.get("items") or ()))


def _fits(value: Any, shape: Any) -> bool:
    if value is None:
        return True
    if isinstance(shape, type):
        return isinstance(value, shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(
            one is not None and _fits(one, shape[0]) for one in value
        )
    if not isinstance(value, dict):
        return False
    if shape is _TEXTS:
        return all(isinstance(one, str) for one in value.values())
    return all(_fits(value[name], inner) for name, inner in shape.items() if name in value)


def _is_named(one: Mapping[str, Any]) -> bool:
    return bool((one.get("metadata") or {}).get("name"))
