"""The whole way on this machine: data is declared, named by a client, and found by a process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.installation import Embedded, embedded
from tests.support.repositories import serving
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_bwrap


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """An installation that has looked at its machine."""
    with embedded(tmp_path_factory.mktemp("machine") / "data") as made:
        made.start()
        made.sign_in("administrator")
        wait_for(lambda: made.get("clusters")[0]["status"]["state"] == "Connected", seconds=60)
        yield made
        made.stop()


def project_of(site: Embedded) -> dict[str, Any]:
    found: dict[str, Any] = site.get("org-unit/projects")["projects"][0]
    return found


def claimed(site: Embedded, name: str) -> Path:
    """The folder of a new claim of the project."""
    volumes = site.folder / "volumes" / "projects"
    before = {*volumes.glob("*/*")}
    meta = {"name": name, "scope": "project", "projectId": project_of(site)["id"]}
    spec = {"path": f"/{name}", "claimInfo": {"size": "1G"}}
    made = site.request("POST", "asset/datasource/pvc", {"meta": meta, "spec": spec})
    assert made.status == 202, made

    def is_sound() -> bool:
        listed = site.get("asset/datasource/pvc?statusInfo=true")["entries"]
        return {one["status"]["status"] for one in listed} == {"No issues found"}

    wait_for(is_sound, seconds=30, what="the claim")
    (folder,) = {*volumes.glob("*/*")} - before
    return folder


def test_a_repository_and_a_claim_are_there_for_one_workload_after_the_other(
    site: Embedded, tmp_path: Path
) -> None:
    with serving(tmp_path / "served") as repository:
        repository.commit("from the repository")
        folder = claimed(site, "weights")
        storage = {
            "git": [{"repository": repository.url, "path": "/code"}],
            "pvc": [{"path": "/weights", "existingPvc": True, "claimName": folder.name}],
        }
        text = "sh -c 'cat /code/text; echo more >> /weights/a; wc -l < /weights/a'"
        for name, lines in (("first", "1"), ("second", "2")):
            started = site.started(name, text, workers=1, storage=storage)
            site.until(started, "Completed", seconds=60)
            log = site.log(started)
            assert "from the repository" in log
            assert lines in log.split()


def test_another_project_reads_a_data_volume_and_cannot_write_to_it(site: Embedded) -> None:
    project = project_of(site)
    other = site.request(
        "POST", "org-unit/projects", {"name": "readers", "clusterId": project["clusterId"]}
    ).body
    folder = claimed(site, "sets")
    (folder / "a").write_text("from the origin")
    volume = {"name": "sets", "projectId": project["id"], "originPvcName": folder.name}
    made = site.request("POST", "datavolumes", volume)
    assert made.status == 201, made
    storage = {"dataVolume": [{"id": made.body["id"], "mountPath": "/sets"}]}
    text = "sh -c 'cat /sets/a; touch /sets/b || echo refused'"
    body = site.body("reads", text, workers=1, storage=storage) | {"projectId": other["id"]}
    assert site.post_workload(body).status == 400
    shares = {"add": [{"scopeType": "project", "scopeId": other["id"]}]}
    shared = site.request("PATCH", f"datavolumes/{made.body['id']}/sharedScopes", shares)
    assert shared.status == 200, shared
    answer = site.post_workload(body)
    assert answer.status == 202, answer
    started = str(answer.body["workloadId"])
    site.until(started, "Completed", seconds=60)
    log = site.log(started)
    assert "from the origin" in log
    assert "refused" in log
    assert not (folder / "b").exists()
