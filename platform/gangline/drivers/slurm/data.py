"""What replicas of a job find beside their program: folders, clones, downloads, keys as files.

Without a container nothing can be mounted: a program finds the folder's own path in a variable,
``GANGLINE_DATA_SETS`` for what is called ``sets``. In a container it is bound to its container
path, which the variable then holds. What is fetched comes before the ranks, once for each role,
into ``data`` of the run folder, and goes with the job.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gangline.drivers import git_fetch
from gangline.spec.base import SpecModel
from gangline.spec.data import AWS

from .commands import quoted
from .texts import NOT_FETCHED

KINDS: Mapping[str, str] = {
    "pvc": "path",
    "emptyDirVolume": "path",
    "git": "path",
    "s3": "path",
    "nfs": "mountPath",
    "hostPath": "mountPath",
    "secretVolume": "mountPath",
}
"""Lists of the spec under ``storage``, each with the attribute that is the container path."""
DEFAULT_MODE = "0400"
_WRITABLE = frozenset({"pvc", "emptyDirVolume", "git", "s3"})
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,253}")


@dataclass(frozen=True, slots=True)
class Place:
    """One of them for the replicas of a role."""

    name: str
    source: str
    """A word of bash: the folder on the node."""
    target: str
    is_writable: bool
    is_fresh: bool = False
    """Each replica has one of its own, on its node, which goes with it."""

    @property
    def variable(self) -> str:
        return "GANGLINE_DATA_" + re.sub(r"[^A-Z0-9]", "_", self.name.upper())

    @property
    def mode(self) -> str:
        return "rw" if self.is_writable else "ro"


def items(specs: Sequence[SpecModel]) -> list[dict[str, Any]]:
    return [one.model_dump(by_alias=True, exclude_none=True) for one in specs]


def places(part: Mapping[str, Any]) -> Iterator[Place]:
    for kind, item in _each(part):
        name, target = str(item["name"]), str(item[KINDS[kind]])
        is_writable = kind in _WRITABLE or item.get("readOnly") is False
        if item.get("readOnly"):
            is_writable = False
        source = _source(kind, part["role"], item)
        yield Place(name, source, target, is_writable, is_fresh=kind == "emptyDirVolume")


def _source(kind: str, role: str, item: Mapping[str, Any]) -> str:
    name = item["name"]
    if kind == "hostPath":
        return quoted(item["path"])
    if kind == "nfs":
        return f'"$(mounted {quoted(item["server"])} {quoted(item["path"])})"'
    if kind == "emptyDirVolume":
        is_memory = item.get("medium") == "Memory"
        return "/dev/shm" if is_memory else '"${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"'  # noqa: S108
    if kind == "secretVolume":
        return f'"$RUN/secrets/files/{role}/{name}"'
    if kind == "pvc":
        return f'"$RUN/data/volumes/{name}"'
    return f'"$RUN/data/{role}/{name}"'


def fetches(part: Mapping[str, Any]) -> Iterator[str]:
    """Lines of bash, each for one thing that must be there before the ranks start."""
    role = part["role"]
    for kind, item in _each(part):
        into = _source(kind, role, item)
        if kind == "pvc":
            yield f"mkdir -p {into}"
        elif kind == "git":
            wanted = [item["repository"], item.get("branch", ""), item.get("revision", "")]
            words = " ".join(map(quoted, wanted))
            yield f"fetch {_login_file(role, item)} {into} clone {words} {into}"
        elif kind == "s3":
            words = f"{quoted(item['bucket'])} {quoted(item.get('url') or AWS)}"
            yield f"fetch {_login_file(role, item)} {into} bucket {words} {into}"


def _login_file(role: str, item: Mapping[str, Any]) -> str:
    return f'"secrets/fetch-{role}-{item["name"]}"'


def logins(part: Mapping[str, Any]) -> Iterator[tuple[str, list[list[str]]]]:
    """Path of the file for each login, and variable, credential and key of what is in it."""
    for kind, item in _each(part):
        path = f"secrets/fetch-{part['role']}-{item['name']}"
        if kind == "git" and (login := git_fetch.login_of(item.get("secretRef") or {})):
            yield path, login
        elif kind == "s3" and (secret := item.get("accessKeySecret")):
            key_id = item.get("secretKeyOfAccessKeyId") or "AccessKeyId"
            key = item.get("secretKeyOfSecretKey") or "SecretKey"
            yield path, [["ACCESS_KEY", secret, key_id], ["SECRET_KEY", secret, key]]


def files(part: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Folder, credential and mode of each one whose keys are files."""
    for kind, item in _each(part):
        if kind == "secretVolume":
            folder = f"secrets/files/{part['role']}/{item['name']}"
            yield folder, str(item["secret"]), str(item.get("defaultMode") or DEFAULT_MODE)


def is_file_name(key: str) -> bool:
    return _KEY.fullmatch(key) is not None and key not in (".", "..")


def host_paths(native: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Role, number in its list, and path of each folder that must be there."""
    for part in native["parts"]:
        for number, item in enumerate(part.get("data", {}).get("hostPath", ())):
            yield part["role"], number, str(item["path"])


def _each(part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    data: Mapping[str, Sequence[Mapping[str, Any]]] = part.get("data") or {}
    for kind in KINDS:
        for item in data.get(kind, ()):
            yield kind, item


FETCH = rf"""mounted() {{
  # Where this node has a folder of an NFS server, itself or one above it.
  local device at rest found=
  while read -r device at rest; do
    case $2/ in "${{device#"$1":}}"/*) [ "$device" = "${{device#"$1":}}" ] \
      || found=$at${{2#"${{device#"$1":}}"}} ;; esac
  done < /proc/mounts
  printf %s "${{found:-$1:$2}}"
}}
clone() {{
  command -v git > /dev/null || {{ echo "There is no git on this node." >&2; return 1; }}
  export {" ".join(f"{name}={quoted(value)}" for name, value in git_fetch.GIT.items())}
  sh -ec {quoted(git_fetch.CLONE)} fetch "$@"
}}
bucket() {{
  if command -v rclone > /dev/null; then
    export RCLONE_S3_PROVIDER=Other RCLONE_S3_ENDPOINT=$2 RCLONE_CONFIG=/dev/null
    [ -z "${{ACCESS_KEY-}}" ] \
      || export RCLONE_S3_ACCESS_KEY_ID=$ACCESS_KEY RCLONE_S3_SECRET_ACCESS_KEY=$SECRET_KEY
    rclone copy ":s3:$1" "$3"
  elif command -v aws > /dev/null; then
    local sign=--no-sign-request
    [ -z "${{ACCESS_KEY-}}" ] \
      || {{ export AWS_ACCESS_KEY_ID=$ACCESS_KEY AWS_SECRET_ACCESS_KEY=$SECRET_KEY; sign=; }}
    aws s3 sync --only-show-errors $sign --endpoint-url "$2" "s3://$1" "$3"
  else
    echo "Neither rclone nor aws is on this node." >&2; return 1
  fi
}}
fetch() {{
  local login=$1 into=$2
  shift 2
  ( export HOME="$RUN/secrets/home"
    mkdir -p "$HOME" "$into"
    if [ -r "$login" ]; then set -a; . "$login"; set +a; fi
    "$@" ) > job.fetch 2>&1 & P=$!
  await "$P" || {{ cat job.fetch >&2; echo "$2 could not be fetched." >&2; finish {NOT_FETCHED}; }}
  rm -rf secrets/home "$login"
  [ $STOPPING = 0 ] || finish 75
}}
"""
PLACE = r"""CONTAINER=() BINDS=()
place() {
  # Variable, folder on this node, container path, rw or ro.
  if [ "${GANGLINE_CONTAINER:-}" != pyxis ] && [ ! -r "$2" ]; then
    echo "$2 cannot be read on ${SLURMD_NODENAME:-this node}." >&2; return 67
  fi
  BINDS+=(--bind "$2:$3:$4")
  if [ -n "$IMAGE" ]; then export "$1=$3"; else export "$1=$2"; fi
}
fresh() {
  local folder=$2/gangline-$SLURM_JOB_ID-$GANGLINE_REPLICA-${1,,}
  mkdir "$folder" || return 67
  echo "$folder" >> "$RUN/state/$GANGLINE_REPLICA.fresh"
  place "$1" "$folder" "$3" rw
}
"""
