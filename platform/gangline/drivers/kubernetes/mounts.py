"""Data that is there already: volumes of a pod and, for Git, what fetches it. Pure.

https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/volume/
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gangline.drivers import git_fetch
from gangline.spec.data import (
    AWS,
    S3,
    ConfigMapVolume,
    EmptyDir,
    Git,
    HostPath,
    Nfs,
    SecretVolume,
)

Object = dict[str, Any]
GIT_IMAGE = "docker.io/alpine/git:2.47.2"
"""Has git and a shell."""
S3_IMAGE = "docker.io/rclone/rclone:1.69.1"
"""Its entry point is rclone."""
_WORKTREE = "code"
_FETCHED = "/fetched"


def add(native: Mapping[str, Sequence[Any]], pod: Object) -> None:
    """Add what ``native`` has, by kind, to a pod and to its main container."""
    container = pod["containers"][0]
    for kind, made in _MADE.items():
        for item in native.get(kind, ()):
            name = f"{kind.lower()}-{item.name}"
            volume, place = made(item)
            pod.setdefault("volumes", []).append({"name": name, **volume})
            container.setdefault("volumeMounts", []).append({"name": name, **place})
            if isinstance(item, Git):
                pod.setdefault("initContainers", []).append(_fetching(name, item))
            if isinstance(item, S3):
                pod.setdefault("initContainers", []).append(_downloading(name, item))


def _nfs(item: Nfs) -> tuple[Object, Object]:
    read_only = {"readOnly": True} if item.read_only else {}
    volume = {"nfs": {"server": item.server, "path": item.path, **read_only}}
    return volume, {"mountPath": item.mount_path, **read_only}


def _host_path(item: HostPath) -> tuple[Object, Object]:
    place: Object = {"mountPath": item.mount_path}
    if item.read_only:
        place["readOnly"] = True
    if item.mount_propagation is not None:
        place["mountPropagation"] = item.mount_propagation
    return {"hostPath": {"path": item.path}}, place


def _config_map(item: ConfigMapVolume) -> tuple[Object, Object]:
    place = {"mountPath": item.mount_path, "readOnly": True}
    sub_path = {"subPath": item.sub_path} if item.sub_path else {}
    return {"configMap": {"name": item.config_map, **_mode(item.default_mode)}}, place | sub_path


def _secret(item: SecretVolume) -> tuple[Object, Object]:
    volume = {"secret": {"secretName": item.secret, **_mode(item.default_mode)}}
    return volume, {"mountPath": item.mount_path, "readOnly": True}


def _empty(item: EmptyDir) -> tuple[Object, Object]:
    medium = {"medium": item.medium} if item.medium else {}
    size = {"sizeLimit": item.size_limit} if item.size_limit else {}
    return {"emptyDir": {**medium, **size}}, {"mountPath": item.path}


def _git(item: Git) -> tuple[Object, Object]:
    return {"emptyDir": {}}, {"mountPath": item.path, "subPath": _WORKTREE}


def _s3(item: S3) -> tuple[Object, Object]:
    return {"emptyDir": {}}, {"mountPath": item.path}


def _mode(text: str | None) -> Object:
    return {"defaultMode": int(text, 8)} if text else {}


_MADE: Mapping[str, Callable[[Any], tuple[Object, Object]]] = {
    "emptyDir": _empty,
    "nfs": _nfs,
    "git": _git,
    "s3": _s3,
    "configMap": _config_map,
    "secret": _secret,
    "hostPath": _host_path,
}


def _fetching(volume: str, item: Git) -> Object:
    """The container that clones ``item`` into ``volume`` before the main one starts."""
    wanted = [item.repository, item.branch or "", item.revision or ""]
    given = {**git_fetch.GIT, "HOME": "/tmp"}  # noqa: S108
    secret = item.secret_ref.model_dump(by_alias=True, exclude_none=True) if item.secret_ref else {}
    login = [_from_secret(*one) for one in git_fetch.login_of(secret)]
    return {
        "name": f"fetch-{item.name}",
        "image": GIT_IMAGE,
        "command": ["sh", "-ec", git_fetch.CLONE, "fetch", *wanted, f"{_FETCHED}/{_WORKTREE}"],
        "env": [*({"name": name, "value": value} for name, value in given.items()), *login],
        "volumeMounts": [{"name": volume, "mountPath": _FETCHED}],
    }


def _downloading(volume: str, item: S3) -> Object:
    """The container that copies a bucket into ``volume`` before the main one starts."""
    given = {
        "RCLONE_S3_PROVIDER": "Other" if item.url else "AWS",
        "RCLONE_S3_ENDPOINT": item.url or AWS,
        "RCLONE_CONFIG": "/dev/null",
    }
    login = []
    if secret := item.access_key_secret:
        key_id = item.secret_key_of_access_key_id or "AccessKeyId"
        login = [
            _from_secret("RCLONE_S3_ACCESS_KEY_ID", secret, key_id),
            _from_secret(
                "RCLONE_S3_SECRET_ACCESS_KEY", secret, item.secret_key_of_secret_key or "SecretKey"
            ),
        ]
    return {
        "name": f"fetch-{item.name}",
        "image": S3_IMAGE,
        "args": ["copy", f":s3:{item.bucket}", _FETCHED],
        "env": [*({"name": name, "value": value} for name, value in given.items()), *login],
        "volumeMounts": [{"name": volume, "mountPath": _FETCHED}],
    }


def _from_secret(variable: str, secret: str, key: str) -> Object:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
