"""Data that is there already: volumes of a pod and, for Git, what fetches it. Pure.

https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/volume/
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gangline.spec.data import ConfigMapVolume, EmptyDir, Git, HostPath, Nfs, SecretVolume

Object = dict[str, Any]
GIT_IMAGE = "docker.io/alpine/git:2.47.2"
"""Has git and a shell."""
_WORKTREE = "code"
_FETCHED = "/git"


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


def _mode(text: str | None) -> Object:
    return {"defaultMode": int(text, 8)} if text else {}


_MADE: Mapping[str, Callable[[Any], tuple[Object, Object]]] = {
    "emptyDir": _empty,
    "nfs": _nfs,
    "git": _git,
    "configMap": _config_map,
    "secret": _secret,
    "hostPath": _host_path,
}


def _fetching(volume: str, item: Git) -> Object:
    """The container that clones ``item`` into ``volume`` before the main one starts."""
    wanted = [item.repository, item.branch or "", item.revision or ""]
    return {
        "name": f"fetch-{item.name}",
        "image": GIT_IMAGE,
        "command": ["sh", "-ec", _CLONE, "fetch", *wanted],
        "env": [
            {"name": "GIT_TERMINAL_PROMPT", "value": "0"},
            {"name": "HOME", "value": "/tmp"},  # noqa: S108
            *_login(item.password_secret),
        ],
        "volumeMounts": [{"name": volume, "mountPath": _FETCHED}],
    }


_CLONE = f"""\
cd {_FETCHED}
rm -rf {_WORKTREE}
if [ -n "$PASSWORD" ]; then
  git config --global credential.helper \
    '!f() {{ echo "username=$USERNAME"; echo "password=$PASSWORD"; }}; f'
fi
if [ -n "$3" ]; then
  git clone --no-checkout -- "$1" {_WORKTREE}
  git -C {_WORKTREE} checkout --detach "$3" --
elif [ -n "$2" ]; then
  git clone --depth 1 --branch "$2" -- "$1" {_WORKTREE}
else
  git clone --depth 1 -- "$1" {_WORKTREE}
fi
"""


def _login(secret: str | None) -> Iterator[Object]:
    for name in ("username", "password") if secret else ():
        key = {"name": secret, "key": name}
        yield {"name": name.upper(), "valueFrom": {"secretKeyRef": key}}
