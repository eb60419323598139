"""Which data and volumes a job cannot have, by value, before anything is submitted."""

from collections.abc import Iterator, Sequence

from gangline.drivers.facts import Facts
from gangline.spec.mounts import Storage
from gangline.spec.problems import Problem, Role
from gangline.spec.workload import ReplicaSpec

from . import containers

S3_TOOLS = ("rclone", "aws")


def problems(role: Role, spec: ReplicaSpec, facts: Facts) -> Iterator[Problem]:
    programs: Sequence[str] | None = facts.detail.get("programs")
    if programs is not None:
        yield from _fetched(role, spec.storage, programs)
    yield from _host_paths(role, spec.storage, is_contained=bool(spec.image))
    yield from _volumes(role, spec.storage)
    has_pyxis = facts.detail.get("containers") == containers.PYXIS
    yield from _folders(role, spec.storage, is_possible=not (spec.image and has_pyxis))


def _fetched(role: Role, storage: Storage, programs: Sequence[str]) -> Iterator[Problem]:
    if "git" not in programs:
        for number, git in enumerate(storage.git or ()):
            yield Problem.of(
                role, f"storage.git.{number}.repository", "cluster:no_git", value=git.repository,
                accepted="a host path",
            )  # fmt: skip
    if not set(S3_TOOLS) & set(programs):
        for number, s3 in enumerate(storage.s3 or ()):
            yield Problem.of(
                role, f"storage.s3.{number}.bucket", "cluster:no_s3_tool", value=s3.bucket,
                accepted="a host path",
            )  # fmt: skip


def _host_paths(role: Role, storage: Storage, *, is_contained: bool) -> Iterator[Problem]:
    for number, one in enumerate(storage.host_path or ()):
        at = f"storage.hostPath.{number}"
        if one.mount_propagation == "HostToContainer":
            yield Problem.of(
                role, f"{at}.mountPropagation", "cluster:no_propagation",
                value="HostToContainer", accepted="None",
            )  # fmt: skip
        if is_contained and {":", ","} & set(one.path):
            yield Problem.of(
                role, f"{at}.path", "cluster:bind_path", value=one.path,
                accepted="a path without “:” and “,”",
            )  # fmt: skip


def _volumes(role: Role, storage: Storage) -> Iterator[Problem]:
    for number, volume in enumerate(storage.pvc or ()):
        at, info = f"storage.pvc.{number}", volume.claim_info
        if volume.existing_pvc:
            yield Problem.of(
                role, f"{at}.claimName", "cluster:no_claims", value=volume.claim_name,
                accepted="a host path",
            )  # fmt: skip
        elif not volume.ephemeral:
            yield Problem.of(
                role, f"{at}.ephemeral", "cluster:not_kept", value=False, accepted="true"
            )
        if info is not None and info.storage_class:
            yield Problem.of(
                role, f"{at}.claimInfo.storageClass", "cluster:no_classes",
                value=info.storage_class, accepted="no value",
            )  # fmt: skip
        if info is not None and info.volume_mode == "Block":
            yield Problem.of(
                role, f"{at}.claimInfo.volumeMode", "cluster:no_block", value="Block",
                accepted="Filesystem",
            )  # fmt: skip


def _folders(role: Role, storage: Storage, *, is_possible: bool) -> Iterator[Problem]:
    for number, folder in enumerate(storage.empty_dir_volume or ()):
        at = f"storage.emptyDirVolume.{number}"
        if folder.size_limit:
            yield Problem.of(
                role, f"{at}.sizeLimit", "cluster:no_size_limit", value=folder.size_limit,
                accepted="no value",
            )  # fmt: skip
        if not is_possible:
            yield Problem.of(
                role, f"{at}.path", "cluster:no_fresh_folder", value=folder.path,
                accepted="no temporary folder",
            )  # fmt: skip
