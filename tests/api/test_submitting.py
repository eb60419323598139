"""POST /api/v1/workloads/distributed: what is stored, what is answered."""

import json

import pytest

from gangline.audit.models import AuditEntry
from gangline.spec.sources import DEFAULT, Value
from tests.support.api import ApiClient
from tests.support.world import IMAGE, World
from workloads.models import Attempt, Event, Workload

pytestmark = pytest.mark.django_db
SUBMIT = "workloads/distributed"


def test_a_submission_answers_202_with_what_is_stored(world: World, researcher: ApiClient) -> None:
    response = researcher.post(SUBMIT, world.body())
    assert response.status_code == 202, response.content
    body = response.json()
    assert body["name"] == body["requestedName"] == "digits"
    assert body["projectId"] == str(world.vision.pk)
    assert body["clusterId"] == str(world.cluster.pk)
    assert body["createdBy"] == "researcher-vision"
    assert (body["desiredPhase"], body["actualPhase"]) == ("Running", "Creating")
    assert body["configuration"] == "workersAndMaster"
    assert body["masterSpecSameAsWorker"] is True
    assert "masterSpec" not in body
    assert body["spec"]["numWorkers"] == 2
    assert body["spec"]["compute"]["cpuMemoryRequest"] == "256M"
    assert response["Location"] == f"/api/v1/workloads/distributed/{body['workloadId']}"


def test_what_is_left_open_takes_the_defaults(world: World, researcher: ApiClient) -> None:
    body = researcher.post(SUBMIT, world.spec_body(numWorkers=None, compute=None)).json()
    assert body["spec"]["numWorkers"] == 1
    assert body["spec"]["terminationGracePeriodSeconds"] == 30
    assert body["spec"]["backoffLimit"] == 0


def test_row_attempt_event_and_audit_row_are_written_together(
    world: World, researcher: ApiClient
) -> None:
    researcher.post(SUBMIT, world.body())
    workload = Workload.objects.get()
    attempt = Attempt.objects.get()
    assert workload.given["worker.command"] == Value("python train.py").to_json()
    assert (workload.num_workers, workload.pods_total) == (2, 3)
    assert workload.due_at is not None
    assert workload.seq == 1
    assert attempt.effective["worker.backoffLimit"] == Value(0, DEFAULT).to_json()
    assert attempt.rendered
    assert len(attempt.spec_hash) == 64
    assert Event.objects.filter(workload=workload, kind="Submitted").count() == 1
    audit = AuditEntry.objects.get(action="workload.create")
    assert (audit.result, audit.actor_name, audit.channel) == ("ok", "researcher-vision", "api")
    assert audit.token_kid
    assert audit.object_id == str(workload.pk)


def test_an_own_master_is_stored_and_shown(world: World, researcher: ApiClient) -> None:
    master = {"image": IMAGE, "command": "python master.py", "compute": {"cpuCoreRequest": 1}}
    body = researcher.post(
        SUBMIT, world.body(masterSpecSameAsWorker=False, masterSpec=master)
    ).json()
    assert body["masterSpec"]["command"] == "python master.py"
    assert body["masterSpecSameAsWorker"] is False
    assert body["spec"]["command"] == "python train.py"


def test_workers_only_is_said_by_configuration(world: World, researcher: ApiClient) -> None:
    asked = world.spec_body(distributedFramework="PyTorch") | {"configuration": "workersOnly"}
    response = researcher.post(SUBMIT, asked)
    assert response.status_code == 202, response.content
    assert response.json()["configuration"] == "workersOnly"
    assert Workload.objects.get().pods_total == 2


def test_same_false_without_a_master_means_workers_only(
    world: World, researcher: ApiClient
) -> None:
    asked = world.spec_body(distributedFramework="PyTorch") | {"masterSpecSameAsWorker": False}
    assert researcher.post(SUBMIT, asked).json()["configuration"] == "workersOnly"


def test_null_is_the_same_as_absent_at_every_depth(world: World, researcher: ApiClient) -> None:
    asked = world.body(masterSpec=None, templateId=None)
    asked["spec"] |= {"args": None, "environmentVariables": [{"name": "A", "value": None}]}
    asked["spec"]["compute"]["cpuCoreLimit"] = None
    response = researcher.post(SUBMIT, asked)
    assert response.status_code == 400
    assert [p["path"] for p in response.json()["problems"]] == ["environmentVariables.0.value"]
    del asked["spec"]["environmentVariables"]
    assert researcher.post(SUBMIT, asked).status_code == 202


def test_tensorflow_is_another_word_for_tf(world: World, researcher: ApiClient) -> None:
    response = researcher.post(SUBMIT, world.spec_body(distributedFramework="TensorFlow"))
    problem = response.json()["problems"][0]
    assert response.status_code == 400
    assert "TensorFlow" in problem["message"]
    assert "tensorflow cannot be imported" in problem["message"]
    assert problem["path"] == "distributedFramework"


def test_what_generated_clients_always_send_is_not_held_against_them(
    world: World, researcher: ApiClient
) -> None:
    asked = world.spec_body(slotsPerWorker=1, sshAuthMountPath="/root/.ssh")
    asked |= {"useGivenNameAsPrefix": False}
    assert researcher.post(SUBMIT, asked).status_code == 202


def test_a_body_wrapped_in_a_json_string_is_read(world: World, researcher: ApiClient) -> None:
    response = researcher.post(SUBMIT, json.dumps(json.dumps(world.body())))
    assert response.status_code == 202, response.content


def test_a_dry_run_stores_nothing_and_tells_where_values_come_from(
    world: World, researcher: ApiClient
) -> None:
    response = researcher.post(f"{SUBMIT}?dryRun=1", world.body())
    body = response.json()
    assert response.status_code == 200, body
    assert body["sources"]["worker.command"] == {"kind": "you"}
    assert body["sources"]["worker.backoffLimit"] == DEFAULT.to_json()
    assert body["totals"] == {
        "pods": 3, "workers": 2, "masters": 1, "gpus": 0, "cpus": 1.5, "memoryBytes": 768_000_000,
    }  # fmt: skip
    assert body["forecast"]["kind"] == "starts"
    assert not Workload.objects.exists()
    refused = researcher.post(f"{SUBMIT}?dryRun=1", world.body(name="Not A Name"))
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("cpus", "kind"), [(0.5, "starts"), (100, "cannot")], ids=["fits", "never fits"]
)
def test_a_dry_run_tells_whether_it_would_start(
    world: World, researcher: ApiClient, cpus: float, kind: str
) -> None:
    asked = world.spec_body(compute={"cpuCoreRequest": cpus})
    assert researcher.post(f"{SUBMIT}?dryRun=1", asked).json()["forecast"]["kind"] == kind


def test_all_problems_come_at_once(world: World, researcher: ApiClient) -> None:
    asked = world.spec_body(name="Bad_Name", numWorkers=0, backoffLimit=101, comand="x")
    asked["clusterId"] = "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"
    response = researcher.post(SUBMIT, asked)
    body = response.json()
    assert response.status_code == body["code"] == 400
    paths = {(p["role"], p["path"]) for p in body["problems"]}
    assert paths >= {
        ("workload", "name"),
        ("workload", "clusterId"),
        ("worker", "numWorkers"),
        ("worker", "backoffLimit"),
        ("worker", "comand"),
    }
    assert all(p["message"] for p in body["problems"])
    assert "did you mean command" in body["details"]
    assert not Workload.objects.exists()


def test_a_taken_name_is_409_with_a_free_one(world: World, researcher: ApiClient) -> None:
    researcher.post(SUBMIT, world.body("digits"))
    response = researcher.post(SUBMIT, world.body("digits"))
    body = response.json()
    assert response.status_code == body["code"] == 409
    assert body["problems"][0]["path"] == "name"
    assert body["problems"][0]["accepted"] == "digits-2"
    assert "digits-2" in body["details"]


def test_the_same_name_is_free_in_another_project(world: World) -> None:
    ApiClient(world, "researcher-vision").post(SUBMIT, world.body("digits"))
    other = world.body("digits", projectId=str(world.nlp.pk))
    assert ApiClient(world, "researcher-nlp").post(SUBMIT, other).status_code == 202


def test_a_viewer_may_not_submit_and_is_told_who_can_help(world: World) -> None:
    response = ApiClient(world, "viewer-vision").post(SUBMIT, world.body())
    body = response.json()
    assert response.status_code == body["code"] == 403
    assert "create workloads in project vision" in body["message"]
    assert "project_administrator-vision" in body["message"]
    assert AuditEntry.objects.filter(action="workload.create", result="denied").count() == 1


@pytest.mark.parametrize("address", [SUBMIT, f"{SUBMIT}?dryRun=1"])
def test_another_projects_id_looks_like_no_id_at_all(world: World, address: str) -> None:
    """It is told at its field with everything else that is wrong, and not as a wrong address."""
    client = ApiClient(world, "researcher-nlp")
    hidden, absent = (
        client.post(address, world.spec_body(numWorkers=0) | {"projectId": key})
        for key in (str(world.vision.pk), "999999")
    )
    assert hidden.status_code == absent.status_code == 404
    assert absent.json()["message"] == (
        "The project does not exist, or you do not have access to it."
    )
    said = f"You entered {world.vision.pk}.", "You entered 999999."
    project, workers = absent.json()["problems"]
    assert hidden.json() == absent.json() | {
        "details": absent.json()["details"].replace(*reversed(said)),
        "problems": [project | {"value": str(world.vision.pk)}, workers],
    }
    assert (project["role"], project["path"], project["value"]) == (
        "workload", "projectId", "999999"
    )  # fmt: skip
    assert absent.json()["details"].startswith(
        "Project does not exist, or you do not have access to it. You entered 999999."
    )
    assert workers["path"] == "numWorkers"


def test_another_cluster_than_the_projects_is_told_at_its_field(
    world: World, researcher: ApiClient
) -> None:
    response = researcher.post(SUBMIT, world.body(clusterId="99999"))
    (problem,) = response.json()["problems"]
    assert (response.status_code, problem["path"], problem["value"]) == (400, "clusterId", "99999")
    assert str(world.cluster.pk) in problem["accepted"]


@pytest.mark.parametrize("half", ["spec", "masterSpec"])
@pytest.mark.parametrize(("value", "shown"), [([], "a list of 0 items"), ("x", "x"), (1, "1")])
def test_a_half_that_is_no_object_is_named(
    world: World, researcher: ApiClient, half: str, value: object, shown: str
) -> None:
    body = researcher.post(SUBMIT, world.body() | {half: value}).json()
    problem = next(p for p in body["problems"] if p["path"] == half)
    assert (body["code"], problem["role"], problem["rule"]) == (400, "workload", "type")
    assert f"{half} must be an object with named fields. You entered {shown}." in body["details"]


def test_an_unreachable_cluster_queues_or_rejects_as_it_is_set(
    world: World, researcher: ApiClient
) -> None:
    type(world.cluster).objects.update(health="Unreachable")
    assert researcher.post(SUBMIT, world.body("one")).status_code == 202
    type(world.cluster).objects.update(when_unreachable="reject")
    response = researcher.post(SUBMIT, world.body("two"))
    assert response.status_code == response.json()["code"] == 503
    assert Workload.objects.count() == 1


def test_a_full_queue_is_429(
    world: World, researcher: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.services.submission.MAX_WAITING", 1)
    researcher.post(SUBMIT, world.body("one"))
    response = researcher.post(SUBMIT, world.body("two"))
    assert response.status_code == response.json()["code"] == 429


def test_parts_of_gpus_add_up(world: World, researcher: ApiClient) -> None:
    compute = {"gpuDevicesRequest": 1, "gpuRequestType": "portion", "gpuPortionRequest": 0.1}
    body = world.body("tenths", configuration="workersAndMaster", masterSpecSameAsWorker=True)
    body["spec"] |= {"numWorkers": 2, "compute": compute}
    answer = researcher.post(SUBMIT, body)
    assert answer.status_code == 202, answer.content
    row = researcher.get(f"workloads/{answer.json()['workloadId']}").json()
    assert row["workloadRequestedResources"] == {"gpu": {"request": 0.3}}


def test_a_prefix_leaves_room_for_its_suffix(world: World, researcher: ApiClient) -> None:
    body = world.body("a" * 46, useGivenNameAsPrefix=True)
    (problem,) = researcher.post(SUBMIT, body).json()["problems"]
    assert (problem["path"], problem["rule"]) == ("name", "maxLength")
    assert researcher.post(SUBMIT, body | {"name": "a" * 45}).status_code == 202
