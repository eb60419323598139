"""What a replica of this machine finds at container paths."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.base import AttemptRef, ObservedState, Refused
from gangline.drivers.local.driver import LocalDriver, Options
from tests.support.local_cluster import LocalCluster
from tests.support.repositories import Repository, serving
from tests.support.s3 import KEY, KEY_ID, S3Server
from tests.support.s3 import serving as s3_server
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_bwrap
Start = Callable[..., AttemptRef]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The one folder that workloads may use."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def cluster(tmp_path: Path, home: Path) -> Iterator[LocalCluster]:
    options = Options(roots=(home,), use_sandbox=True)
    made = LocalCluster(LocalDriver(tmp_path / "data", "host-a", options))
    yield made
    made.close()


def start(cluster: LocalCluster, text: str, storage: Mapping[str, Any], **more: Any) -> AttemptRef:
    values = {f"storage.{kind}": items for kind, items in storage.items()}
    return cluster.start(f"sh -c {shlex.quote(text)}", values=values, **more)


def told(cluster: LocalCluster, ref: AttemptRef) -> str:
    cluster.over(ref)
    return b"\n".join(cluster.log(ref)).decode()


def host(path: Path, at: str, **more: Any) -> dict[str, Any]:
    return {"name": "sets", "path": str(path), "mountPath": at, **more}


@pytest.mark.parametrize("at", ["/sets", "/mnt/deep/sets", "/opt/sets", "/tmp/sets"])
def test_a_folder_of_this_machine_stands_at_a_path_that_is_not_there(
    cluster: LocalCluster, home: Path, at: str
) -> None:
    (home / "one.txt").write_text("first")
    text = f"cat {at}/one.txt; touch {at}/two; echo; ls /usr/bin/env; ls /"
    said = told(cluster, start(cluster, text, {"hostPath": [host(home, at)]}))
    assert "first" in said
    assert "Read-only file system" in said
    assert "/usr/bin/env" in said
    assert [one.name for one in home.iterdir()] == ["one.txt"]


def test_what_may_be_written_is_written(cluster: LocalCluster, home: Path) -> None:
    ref = start(cluster, "echo 7 > /sets/x", {"hostPath": [host(home, "/sets", readOnly=False)]})
    assert cluster.over(ref).state is ObservedState.SUCCEEDED
    assert (home / "x").read_text() == "7\n"


def test_the_sandbox_shows_no_more_than_before(cluster: LocalCluster, home: Path) -> None:
    """Room for a mount point is made of what was read-only, and brings nothing of ours to light."""
    data = cluster.driver.data_dir
    text = f"ls -A {data}; echo x > /new; mkdir /usr/x; echo done"
    said = told(cluster, start(cluster, text, {"hostPath": [host(home, "/sets")]}))
    assert "runs" in said  # the way to its own folder
    assert "logs" not in said
    assert said.count("Read-only file system") == 2


@pytest.mark.parametrize(
    ("path", "at"),
    [
        ("/etc", "/sets"),
        ("{home}", "/usr"),
        ("{home}", "/"),
        ("{home}", "/proc/x"),
        ("{home}", "{home}/none"),
        ("{home}", "{data}/x"),
        ("{home}/none", "/sets"),
        ("{home}/../data", "/sets"),
    ],
)
def test_a_place_that_is_not_allowed_is_refused_at_the_start(
    cluster: LocalCluster, home: Path, path: str, at: str
) -> None:
    names = {"home": home, "data": cluster.driver.data_dir}
    item = host(Path(path.format(**names)), at.format(**names))
    ref = cluster.ref("true", native={"mounts": {"hostPath": [item]}})
    assert isinstance(cluster.driver.create(ref), Refused)


def test_a_folder_that_became_a_link_is_not_followed(
    cluster: LocalCluster, home: Path, tmp_path: Path
) -> None:
    (home / "sets").symlink_to(tmp_path / "data")
    ref = cluster.ref("true", native={"mounts": {"hostPath": [host(home / "sets", "/sets")]}})
    assert isinstance(cluster.driver.create(ref), Refused)


def test_a_volume_outlives_the_attempt_and_goes_with_the_workload(cluster: LocalCluster) -> None:
    volumes = [
        {"name": "kept", "path": "/kept", "claimInfo": {"size": "1G"}},
        {"name": "gone", "path": "/gone", "claimInfo": {"size": "1G"}, "ephemeral": True},
    ]
    first = start(cluster, "echo 1 > /kept/a; echo 1 > /gone/a", {"pvc": volumes}, replicas=2)
    assert cluster.over(first).state is ObservedState.SUCCEEDED
    cluster.driver.delete(replace(first, goes_on=True))
    again = replace(first, attempt=2)
    cluster.driver.create(again)
    cluster.over(again)
    assert (cluster.driver.data_dir / "volumes/workloads" / first.workload / "kept/a").exists()
    third = cluster.ref("ls /kept /gone", values={"storage.pvc": volumes})
    third = replace(third, workload=first.workload, attempt=3)
    cluster.driver.create(third)
    assert told(cluster, third).split() == ["/gone:", "/kept:", "a"]
    wait_for(lambda: not isinstance(cluster.driver.delete(third), Refused), seconds=5)
    assert not (cluster.driver.data_dir / "volumes/workloads" / first.workload).exists()


def test_a_temporary_folder_is_of_each_replica(cluster: LocalCluster) -> None:
    folders = [
        {"name": "disk", "path": "/scratch"},
        {"name": "memory", "path": "/quick", "medium": "Memory", "sizeLimit": "1M"},
    ]
    fills = "head -c 2000000 /dev/zero > /quick/x"
    # Who fails ends the other, which may have said nothing yet.
    text = f"echo $RANK > /scratch/$RANK; ls /scratch | wc -l; {fills} || true"
    ref = start(cluster, text, {"emptyDirVolume": folders}, replicas=2)
    said = told(cluster, ref)
    assert "1" in [line.strip() for line in said.splitlines()]
    assert "No space left on device" in said


def test_a_program_and_a_working_directory_may_lie_in_what_is_mounted(
    cluster: LocalCluster, home: Path
) -> None:
    (home / "train.sh").write_text("#!/bin/sh\npwd\n")
    (home / "train.sh").chmod(0o755)
    values = {"storage.hostPath": [host(home, "/sets")], "workingDir": "/sets"}
    ref = cluster.start("./train.sh", values=values)
    assert told(cluster, ref) == "/sets"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with serving(tmp_path / "served") as found:
        yield found


def test_a_repository_is_there_before_the_command(
    cluster: LocalCluster, repository: Repository
) -> None:
    old = repository.commit("old")
    repository.commit("new")
    repository.branch("side", "aside")
    items = [
        {"name": "main", "repository": repository.url, "path": "/main"},
        {"name": "old", "repository": repository.url, "path": "/old", "revision": old},
        {"name": "side", "repository": repository.url, "path": "/side", "branch": "side"},
    ]
    # With these git itself would find nothing; they are the command's alone.
    variables = [{"name": "GIT_DIR", "value": "/none"}, {"name": "GIT_EXEC_PATH", "value": "/none"}]
    text = "cat /main/text /old/text /side/text; touch /main/x; echo $GIT_DIR$GIT_EXEC_PATH"
    ref = start(cluster, text, {"git": items}, environmentVariables=variables)
    said = told(cluster, ref)
    assert "/none/none" in said
    assert [line for line in said.splitlines() if line in ("new", "old", "aside")] == [
        "new",
        "old",
        "aside",
    ]
    assert cluster.over(ref).state is ObservedState.SUCCEEDED


def test_a_repository_that_cannot_be_fetched_is_the_reason(
    cluster: LocalCluster, repository: Repository
) -> None:
    repository.commit("new")
    for item, why in (
        ({"branch": "none"}, "Remote branch none not found"),
        ({"repository": f"{repository.url}x"}, "not found"),
    ):
        git = {"name": "main", "repository": repository.url, "path": "/main", **item}
        seen = cluster.over(start(cluster, "echo never", {"git": [git]}))
        assert seen.state is ObservedState.FAILED
        assert "could not be fetched" in seen.reason
        assert why in seen.reason


def test_a_stop_does_not_wait_for_a_repository(
    cluster: LocalCluster, repository: Repository
) -> None:
    repository.commit("new")
    repository.hold()
    git = {"name": "main", "repository": repository.url, "path": "/main"}
    ref = start(cluster, "echo never", {"git": [git]})
    cluster.until(ref, ObservedState.STARTING)
    repository.wait_for_a_call()
    cluster.driver.suspend(ref)
    assert cluster.over(ref).state is ObservedState.SUSPENDED
    assert b"never" not in b"".join(cluster.log(ref))


def test_a_login_opens_a_repository_and_stands_in_no_file(
    cluster: LocalCluster, repository: Repository
) -> None:
    repository.commit("new")
    repository.login = ("me", "s3cr3t-canary")
    git = {"name": "main", "repository": repository.url, "path": "/main"}
    assert cluster.over(start(cluster, "true", {"git": [git]})).state is ObservedState.FAILED
    known = {"login": {"User": "me", "Password": "s3cr3t-canary"}}
    ref = cluster.ref("cat /main/text", values={"storage.git": [{**git, **LOGIN}]})
    assert isinstance(cluster.driver.create(ref), Refused)
    ref = cluster.ref("cat /main/text", values={"storage.git": [{**git, **LOGIN}]})
    cluster.driver.create(replace(ref, secrets=known))
    assert told(cluster, ref).endswith("new")
    files = [path for path in cluster.driver.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if b"s3cr3t-canary" in path.read_bytes()]


LOGIN = {"secretRef": {"name": "login"}}


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    with s3_server(tmp_path / "s3") as server:
        yield server


@pytest.mark.needs_s3
def test_a_bucket_is_there_before_the_command(cluster: LocalCluster, s3: S3Server) -> None:
    s3.bucket("sets", one="1", deep__er__two="2")
    item = {"name": "sets", "bucket": "sets", "url": s3.url, "path": "/sets"}
    item["accessKeySecret"] = "keys"
    ref = cluster.ref(
        "sh -c 'cat /sets/one /sets/deep/er/two'", values={"storage.s3": [item]}, replicas=2
    )
    known = {"keys": {"AccessKeyId": KEY_ID, "SecretKey": KEY}}
    cluster.driver.create(replace(ref, secrets=known))
    assert told(cluster, ref) == "12"
    assert b"".join(cluster.log(ref, "worker-1")) == b"12"


@pytest.mark.needs_s3
@pytest.mark.parametrize(
    ("change", "key", "why"),
    [
        ({"bucket": "none"}, KEY, "bucket does not exist"),
        ({}, "wrong", "signature"),
        ({"url": "http://127.0.0.1:9"}, KEY, "could not be fetched"),
    ],
)
def test_a_bucket_that_cannot_be_read_is_the_reason(
    cluster: LocalCluster, s3: S3Server, change: Mapping[str, str], key: str, why: str
) -> None:
    s3.bucket("sets", one="1")
    item = {"name": "sets", "bucket": "sets", "url": s3.url, "path": "/sets", **change}
    ref = cluster.ref("true", values={"storage.s3": [item | {"accessKeySecret": "keys"}]})
    known = {"keys": {"AccessKeyId": KEY_ID, "SecretKey": key}}
    cluster.driver.create(replace(ref, secrets=known))
    seen = cluster.over(ref, seconds=60)
    assert seen.state is ObservedState.FAILED
    assert why in seen.reason


def test_a_credential_stands_as_files_that_only_the_command_sees(cluster: LocalCluster) -> None:
    item = {"name": "keys", "secret": "keys", "mountPath": "/keys"}
    text = "cat /keys/a.txt /keys/b; stat -c %a /keys/b; echo x > /keys/c; echo over"
    ref = cluster.ref(f"sh -c {shlex.quote(text)}", values={"storage.secretVolume": [item]})
    assert isinstance(cluster.driver.create(ref), Refused)
    ref = cluster.ref(f"sh -c {shlex.quote(text)}", values={"storage.secretVolume": [item]})
    known = {"keys": {"a.txt": "s3cr3t-canary\n", "b": "two\n"}}
    cluster.driver.create(replace(ref, secrets=known))
    said = told(cluster, ref)
    assert [one for one in said.splitlines() if "annot" not in one] == [
        "s3cr3t-canary", "two", "400", "over",
    ]  # fmt: skip
    assert "Read-only file system" in said
    written = [path for path in cluster.driver.data_dir.rglob("*") if path.is_file()]
    held = [path for path in written if b"canary" in path.read_bytes()]
    assert {path.relative_to(cluster.driver.data_dir).parts[0] for path in held} == {"logs"}
