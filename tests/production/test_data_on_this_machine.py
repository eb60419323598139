"""The whole way on this machine: data is declared, named by a client, and found by a process."""

from pathlib import Path

import pytest

from tests.support.installation import embedded
from tests.support.repositories import serving
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_bwrap


def test_a_repository_and_a_claim_are_there_for_one_workload_after_the_other(
    tmp_path: Path,
) -> None:
    with serving(tmp_path / "served") as repository, embedded(tmp_path / "data") as site:
        repository.commit("from the repository")
        site.start()
        site.sign_in("administrator")
        wait_for(lambda: site.get("clusters")[0]["status"]["state"] == "Connected", seconds=60)
        project = site.get("org-unit/projects")["projects"][0]
        meta = {"name": "weights", "scope": "project", "projectId": project["id"]}
        claim = {"path": "/weights", "claimInfo": {"size": "1G"}}
        made = site.request("POST", "asset/datasource/pvc", {"meta": meta, "spec": claim})
        assert made.status == 202, made

        def state() -> str:
            (found,) = site.get("asset/datasource/pvc?statusInfo=true")["entries"]
            return str(found["status"]["status"])

        wait_for(lambda: state() == "No issues found", seconds=30, what="the claim")
        (folder,) = (tmp_path / "data/volumes/projects").glob("*/*")
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
        site.stop()


def test_another_project_reads_a_data_volume_and_cannot_write_to_it(tmp_path: Path) -> None:
    with embedded(tmp_path / "data") as site:
        site.start()
        site.sign_in("administrator")
        wait_for(lambda: site.get("clusters")[0]["status"]["state"] == "Connected", seconds=60)
        project = site.get("org-unit/projects")["projects"][0]
        other = site.request(
            "POST", "org-unit/projects", {"name": "readers", "clusterId": project["clusterId"]}
        ).body
        meta = {"name": "sets", "scope": "project", "projectId": project["id"]}
        spec = {"path": "/sets", "claimInfo": {"size": "1G"}}
        site.request("POST", "asset/datasource/pvc", {"meta": meta, "spec": spec})

        def folders() -> list[Path]:
            return list((tmp_path / "data/volumes/projects").glob(f"*{project['id']}/*"))

        wait_for(lambda: bool(folders()), seconds=30, what="the claim")
        (folder,) = folders()
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
        site.stop()
