"""What replicas find at container paths: folders, volumes, clones and downloads of this machine.

Only a sandbox has paths of its own. A volume is a folder: nothing keeps it to its size.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangline.drivers import git_fetch
from gangline.drivers.base import Submission
from gangline.spec.data import AWS
from gangline.spec.problems import Problem, Role
from gangline.spec.types import quantity_bytes
from gangline.spec.workload import ReplicaSpec

from . import roots, sandbox
from .run_folder import RunFolder
from .sandbox import Mount, Places

PATHS: Mapping[str, str] = {
    "pvc": "path",
    "emptyDir": "path",
    "git": "path",
    "s3": "path",
    "hostPath": "mountPath",
    "secret": "mountPath",
}
"""Lists of the rendered form, each with the attribute that is the container path."""
_FIELDS = {"emptyDir": "emptyDirVolume", "secret": "secretVolume"}
_SECRET_MODE = "0400"  # noqa: S105  no password
SYSTEM = tuple(
    map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev"))
)
"""Without what is in there no program starts."""
FETCH_SECONDS = 1800
FORGET_SECONDS = 20
DOWNLOAD = Path(__file__).with_name("download.py")
_NAME = re.compile(r"[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?")


def volumes(data_dir: Path) -> Path:
    return data_dir / "volumes"


def claim_folder(data_dir: Path, project: str, claim: str) -> Path:
    """Where a claim of a project lies. Raises ValueError for what is no name of one."""
    if not _NAME.fullmatch(project) or not _NAME.fullmatch(claim):
        raise ValueError(claim)
    return volumes(data_dir) / "projects" / project / claim


def kept_folder(data_dir: Path, workload: str) -> Path:
    """Where the volumes of a workload lie, which outlive its attempts."""
    return volumes(data_dir) / "workloads" / workload


def forget(folder: Path) -> bool:
    """Remove what is in a volume; False while that takes its time, or cannot be done."""
    if not folder.exists():
        return True
    try:
        # Unlike `shutil.rmtree` it removes what is nested deeper than Python's stack.
        line = ["/bin/rm", "-rf", "--", str(folder)]
        return subprocess.run(line, check=False, timeout=FORGET_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def problems(
    role: Role, spec: ReplicaSpec, places: Places, submission: Submission
) -> Iterator[Problem]:
    """What cannot be found or mounted here, before anything is submitted."""
    taken: dict[str, str] = {}
    for kind, number, item in _items(spec):
        at = f"storage.{_FIELDS.get(kind, kind)}.{number}"
        target = str(item.get(PATHS[kind], ""))
        where = os.path.normpath(target)
        unfit = unfit_target(where, places)
        if not unfit and where in taken:
            unfit = Problem("cluster:path_taken", "", {"other": taken[where]})
        if unfit:
            accepted = "another path such as /data"
            yield unfit.at(role=role, path=f"{at}.{PATHS[kind]}", value=target, accepted=accepted)
        taken[where] = str(item.get("name", ""))
        for fault in _faults(kind, item, places, submission):
            yield fault.at(role=role, path=f"{at}.{fault.path}")


def _faults(
    kind: str, item: Mapping[str, Any], places: Places, submission: Submission
) -> Iterator[Problem]:
    """What is wrong with where the data comes from, with paths inside of the item."""
    if kind == "hostPath":
        if item.get("mountPropagation") == "HostToContainer":
            params = {"value": "HostToContainer", "accepted": "None"}
            yield Problem("cluster:propagation", "mountPropagation", params)
        try:
            roots.folder(item["path"], places)
        except roots.UnfitFolder as unfit:
            yield unfit.problem.at(path="path", value=item["path"])
    elif kind == "pvc":
        elsewhere = submission.volumes_elsewhere
        project = elsewhere.get(str(item.get("name")), submission.namespace)
        yield from _volume_faults(item, places, project)
    elif kind == "git" and shutil.which("git") is None:
        yield Problem("cluster:git", "repository", {"value": item["repository"]})


def _volume_faults(item: Mapping[str, Any], places: Places, project: str) -> Iterator[Problem]:
    info = item.get("claimInfo") or {}
    if name := info.get("storageClass"):
        params = {"value": name, "accepted": "no value"}
        yield Problem("cluster:folder_class", "claimInfo.storageClass", params)
    if given := info.get("addedAttrValues"):
        params = {"value": given, "accepted": "no value"}
        yield Problem("cluster:folder_class", "claimInfo.addedAttrValues", params)
    if info.get("volumeMode") == "Block":
        params = {"value": "Block", "accepted": "Filesystem"}
        yield Problem("cluster:folder_mode", "claimInfo.volumeMode", params)
    if item.get("existingPvc") and not _claim_is_there(places, project, item):
        params = {"value": item.get("claimName"), "accepted": "the claim of a PVC data source"}
        yield Problem("cluster:claim", "claimName", params)


_ATTRIBUTES = {
    "emptyDir": "empty_dir_volume",
    "hostPath": "host_path",
    "secret": "secret_volume",
}


def _items(spec: ReplicaSpec) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for kind in PATHS:
        attribute = _ATTRIBUTES.get(kind, kind)
        for number, item in enumerate(getattr(spec.storage, attribute) or ()):
            yield kind, number, item.model_dump(by_alias=True, exclude_none=True)


def _claim_is_there(places: Places, project: str, item: Mapping[str, Any]) -> bool:
    try:
        return claim_folder(places.data_dir, project, str(item.get("claimName", ""))).is_dir()
    except ValueError:
        return False


def around(path: str, mounts: Sequence[Mount]) -> bool:
    """Whether ``path`` is a container path, or lies in one."""
    clean = os.path.normpath(path) if path else ""
    return any(Path(clean).is_relative_to(one.target) for one in mounts) if clean else False


def holds(spec: ReplicaSpec, path: str) -> bool:
    """The same of what a spec mounts."""
    targets = [str(item.get(PATHS[kind], "/")) for kind, _, item in _items(spec)]
    return around(path, [Mount(os.path.normpath(one)) for one in targets])


def unfit_target(target: str, places: Places) -> Problem | None:
    """Why nothing can be mounted at a container path; None when it can."""
    way = _unfit(Path(target), places) if places.sandboxed else "sandbox"
    if way:
        return Problem(f"cluster:{way}")
    if (unmade := sandbox.cannot_be_made(Path(target))) is None:
        return None
    around, can_be_read = unmade
    code = "cluster:path_crowded" if can_be_read else "cluster:path_unread"
    return Problem(code, "", {"around": str(around)})


def _unfit(path: Path, places: Places) -> str:
    needed = [*SYSTEM, places.data_dir, *places.code, *places.hidden, *places.roots]
    if any(Path(os.path.realpath(one)).is_relative_to(path) for one in needed):
        return "path_hides"
    if any(path.is_relative_to(one) for one in (*roots.KERNEL, places.data_dir, *places.hidden)):
        return "path_kernel"
    if path.is_file():
        return "path_file"
    lies_in_roots = any(path.is_relative_to(os.path.realpath(one)) for one in places.roots)
    if lies_in_roots and not path.is_dir():
        return "path_missing"
    return ""


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica that finds something at container paths."""

    places: Places
    folder: RunFolder
    name: str
    project: str
    elsewhere: Mapping[str, str]
    """Project of each existing claim that is another one's, by the name of its volume."""
    native: Mapping[str, Sequence[Mapping[str, Any]]]
    role: Role

    def mounts(self) -> list[Mount]:
        """Everything to mount, outer paths first. Raises `CannotMount`."""
        found = [self._mount(kind, item) for kind in PATHS for item in self.native.get(kind, ())]
        for one in found:
            if unfit := unfit_target(one.target, self.places):
                raise CannotMount(f"The container path {one.target} {unfit.told}", self.role)
        found.sort(key=lambda one: one.target)
        for inner in found:
            outer = next((o for o in found if inner is not o and _lies_in(inner, o)), None)
            if outer is not None and not outer.writable:
                why = f"lies in {outer.target}, which is read-only"
                raise CannotMount(f"The container path {inner.target} {why}.", self.role)
        return found

    def files(self) -> list[dict[str, Any]]:
        """Credentials whose keys are files: what is in them is known only at the start."""
        return [
            {
                "target": os.path.normpath(str(item[PATHS["secret"]])),
                "credential": item["secret"],
                "mode": item.get("defaultMode") or _SECRET_MODE,
            }
            for item in self.native.get("secret", ())
        ]

    def fetches(self) -> list[dict[str, Any]]:
        """What must arrive before the command starts."""
        return [
            *(self._clone(item) for item in self.native.get("git", ())),
            *(self._download(item) for item in self.native.get("s3", ())),
        ]

    def _own(self, kind: str, item: Mapping[str, Any]) -> Path:
        """A folder of this replica alone."""
        return self.folder.path / self.name / "mounts" / f"{kind.lower()}-{item['name']}"

    def _mount(self, kind: str, item: Mapping[str, Any]) -> Mount:
        target = os.path.normpath(str(item[PATHS[kind]]))
        if kind == "hostPath":
            try:
                folder = roots.folder(item["path"], self.places)
            except roots.UnfitFolder as unfit:
                reason = f"The host path {item['path']} {unfit.problem.told}"
                raise CannotMount(reason, self.role) from unfit
            writes = item.get("readOnly") is False
            return Mount(target, str(folder), writable=writes, is_chosen=True)
        if kind == "pvc":
            return Mount(target, str(self._volume(item)), writable=not item.get("readOnly"))
        if kind == "secret":
            return Mount(target)
        if kind == "emptyDir" and item.get("medium") == "Memory":
            limit = item.get("sizeLimit")
            return Mount(target, writable=True, size=quantity_bytes(limit) if limit else 0)
        return Mount(target, str(self._own(kind, item)), writable=True)

    def _volume(self, item: Mapping[str, Any]) -> Path:
        if item.get("existingPvc"):
            try:
                project = self.elsewhere.get(str(item["name"]), self.project)
                folder = claim_folder(self.places.data_dir, project, str(item["claimName"]))
            except ValueError:
                folder = self.places.data_dir / "volumes" / "none"
            if not folder.is_dir():
                raise CannotMount(f"The claim {item['claimName']} does not exist.", self.role)
            return folder
        if item.get("ephemeral"):
            return self.folder.path / "volumes" / str(item["name"])
        return kept_folder(self.places.data_dir, self.folder.workload) / str(item["name"])

    def _clone(self, item: Mapping[str, Any]) -> dict[str, Any]:
        wanted = [item["repository"], item.get("branch", ""), item.get("revision", "")]
        into = self._own("git", item)
        line = ["/bin/sh", "-ec", git_fetch.CLONE, "fetch", *wanted, str(into)]
        late = git_fetch.login_of(item.get("secretRef") or {})
        return self._step(f"The repository {item['repository']}", line, into, git_fetch.GIT, late)

    def _download(self, item: Mapping[str, Any]) -> dict[str, Any]:
        into = self._own("s3", item)
        line = [sys.executable, "-I", str(DOWNLOAD), item.get("url") or AWS, item["bucket"]]
        secret, late = item.get("accessKeySecret"), []
        if secret:
            key = item.get("secretKeyOfAccessKeyId") or "AccessKeyId"
            late = [["AWS_ACCESS_KEY_ID", secret, key]]
            key = item.get("secretKeyOfSecretKey") or "SecretKey"
            late.append(["AWS_SECRET_ACCESS_KEY", secret, key])
        return self._step(f"The bucket {item['bucket']}", [*line, str(into)], into, {}, late)

    def _step(
        self,
        what: str,
        line: list[str],
        into: Path,
        environment: Mapping[str, str],
        late: list[list[str]],
    ) -> dict[str, Any]:
        """``late``: variable, credential and key of what is known only at the start."""
        shown = [Path(sys.prefix), Path(sys.base_prefix), *self.places.code]
        box = sandbox.prefix(
            self.places, cwd="/", readable=[one for one in shown if one.is_dir()], work=into
        )
        inherited = ("PATH", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
        own = {name: os.environ[name] for name in inherited if name in os.environ}
        return {
            "what": what,
            "line": [*box, "--", *line],
            "env": {"LANG": "C.UTF-8", "HOME": sandbox.PRIVATE, **own, **environment},
            "late": late,
            "seconds": FETCH_SECONDS,
        }


class CannotMount(Exception):
    """In words, why a replica cannot find what it should."""

    def __init__(self, reason: str, role: Role) -> None:
        super().__init__(reason)
        self.problem = Problem.of(role, "storage", "cluster:mount", reason=reason)


def _lies_in(inner: Mount, outer: Mount) -> bool:
    return Path(inner.target).is_relative_to(outer.target)
