"""Stop, start again, run again, delete: who may, and what each answers."""

import pytest

from gangline.audit.models import AuditEntry
from gangline.policies.services import save
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.models import Attempt, Workload

pytestmark = pytest.mark.django_db
SUBMIT = "workloads/distributed"


@pytest.fixture
def made(world: World, researcher: ApiClient) -> str:
    workload_id: str = researcher.post(SUBMIT, world.body()).json()["workloadId"]
    return workload_id


def end(workload_id: str, outcome: str = "Failed") -> None:
    """The cluster has reported the end."""
    state = "Failed" if outcome == "Failed" else "Succeeded"
    Attempt.objects.filter(workload_id=workload_id).update(
        outcome=outcome, observed_state=state, create_state="seen"
    )
    word = "Failed" if outcome == "Failed" else "Completed"
    Workload.objects.filter(pk=workload_id).update(status=word, phase=word)


def test_suspend_and_resume_write_the_intent(researcher: ApiClient, made: str) -> None:
    stopped = researcher.post(f"{SUBMIT}/{made}/suspend")
    assert stopped.status_code == 202
    assert stopped.json() == {"code": 202, "message": "digits is being stopped."}
    workload = Workload.objects.get()
    assert (workload.desired, workload.desired_by) == ("Stopped", "researcher-vision")
    assert workload.desired_gen == 2
    assert researcher.post(f"{SUBMIT}/{made}/resume").status_code == 202
    assert Workload.objects.get().desired == "Running"
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert [a for a in actions if a.startswith("workload")] == [
        "workload.create", "workload.stop", "workload.resume",
    ]  # fmt: skip


def test_asking_twice_changes_nothing_and_leaves_one_audit_row(
    researcher: ApiClient, made: str
) -> None:
    for _ in range(3):
        assert researcher.post(f"{SUBMIT}/{made}/suspend").status_code == 202
    assert Workload.objects.get().desired_gen == 2
    assert AuditEntry.objects.filter(action="workload.stop").count() == 1


def test_stopping_what_has_ended_is_409(researcher: ApiClient, made: str) -> None:
    end(made)
    response = researcher.post(f"{SUBMIT}/{made}/suspend")
    assert response.status_code == response.json()["code"] == 409
    assert response.json()["message"] == "digits had already finished."


def test_deleting_answers_202_and_wants_it_gone(researcher: ApiClient, made: str) -> None:
    assert researcher.delete(f"{SUBMIT}/{made}").status_code == 202
    assert Workload.objects.get().desired == "Deleted"
    assert researcher.delete(f"{SUBMIT}/{made}").status_code == 202
    assert researcher.post(f"{SUBMIT}/{made}/suspend").status_code == 409
    assert researcher.post(f"{SUBMIT}/{made}/rerun").status_code == 409


def test_a_name_that_is_being_deleted_is_still_taken(
    world: World, researcher: ApiClient, made: str
) -> None:
    researcher.delete(f"{SUBMIT}/{made}")
    response = researcher.post(SUBMIT, world.body())
    assert response.status_code == 409
    assert "still being deleted" in response.json()["details"]


def test_running_again_makes_a_new_attempt(researcher: ApiClient, made: str) -> None:
    assert researcher.post(f"{SUBMIT}/{made}/rerun").status_code == 409
    end(made)
    response = researcher.post(f"{SUBMIT}/{made}/rerun")
    assert response.status_code == 202, response.content
    assert response.json()["workloadId"] == made
    attempts = Attempt.objects.order_by("no").values_list("no", "cause")
    assert list(attempts) == [(1, "submit"), (2, "rerun")]
    assert Workload.objects.get().attempt_no == 2


def test_running_again_is_judged_by_todays_policy(
    world: World, researcher: ApiClient, made: str
) -> None:
    end(made)
    save(
        actor=world.actor("administrator"),
        scope=world.vision.scope,
        text="rules:\n  worker:\n    numWorkers:\n      max: 1\n",
    )
    response = researcher.post(f"{SUBMIT}/{made}/rerun")
    assert response.status_code == 400, response.content
    (problem,) = response.json()["problems"]
    assert (problem["path"], problem["rule"]) == ("numWorkers", "max")
    assert problem["source"] == "project vision"
    assert Attempt.objects.count() == 1
    assert Workload.objects.get().status == "Failed"


@pytest.mark.parametrize("action", ["suspend", "resume", "rerun", "delete"])
def test_only_owners_and_administrators_act(world: World, made: str, action: str) -> None:
    end(made) if action == "rerun" else None
    path = f"{SUBMIT}/{made}"
    for person, expected in (("viewer-vision", 403), ("researcher-nlp", 404), ("stranger", 404)):
        client = ApiClient(world, person)
        response = client.delete(path) if action == "delete" else client.post(f"{path}/{action}")
        assert response.status_code == expected, person
    lead = ApiClient(world, "project_administrator-vision")
    response = lead.delete(path) if action == "delete" else lead.post(f"{path}/{action}")
    assert response.status_code == 202, response.content


def test_a_colleague_may_see_but_not_stop(world: World) -> None:
    by_lead = ApiClient(world, "project_administrator-vision").post(SUBMIT, world.body())
    path = f"{SUBMIT}/{by_lead.json()['workloadId']}"
    client = ApiClient(world, "researcher-vision")
    assert client.get(path).status_code == 200
    assert client.post(f"{path}/suspend").status_code == 403
    assert AuditEntry.objects.filter(action="workload.stop", result="denied").count() == 1


def test_an_unknown_and_a_hidden_workload_look_alike(world: World, made: str) -> None:
    client = ApiClient(world, "researcher-nlp")
    absent = "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"
    for sub in ("", "/suspend", "/resume", "/rerun"):
        send = client.get if sub == "" else client.post
        hidden, unknown = send(f"{SUBMIT}/{made}{sub}"), send(f"{SUBMIT}/{absent}{sub}")
        assert hidden.status_code == unknown.status_code == 404
        assert hidden.json() == unknown.json()
