"""Jobs on a Slurm cluster that were not made with Gangline: listed, looked at, cancelled."""

from collections.abc import Iterator

import pytest
from django.test import Client

from gangline.accounts.services import create_user, make_token
from gangline.audit.models import AuditEntry
from gangline.people.services import give
from gangline.scopes.models import Scope
from tests.beds.slurm.lab import Lab
from tests.support import slurm_engine
from tests.support.slurm_engine import SlurmEngine
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_slurm


@pytest.fixture
def engine(slurm_lab: Lab, transactional_db: None) -> Iterator[SlurmEngine]:
    with slurm_engine.engine_on(slurm_lab) as made:
        yield made


def signed_in(name: str, role: str) -> Client:
    user = create_user(username=name)
    give(actor=None, user=user, role=role, scope=Scope.objects.get(kind="tenant"))
    client = Client()
    client.force_login(user)
    return client


def test_jobs_of_others_are_listed_looked_at_and_cancelled_by_who_may(
    engine: SlurmEngine, slurm_lab: Lab
) -> None:
    forged = "x\n1|root|RUNNING|main|1|1|N/A|N/A|1:00|None|mine"
    number = slurm_lab.run(
        "sbatch", "--parsable", "--hold", f"--job-name={forged}", "--output=/dev/null",
        "--wrap=sleep 60",
    ).strip()  # fmt: skip
    own = engine.submit("ours", command="sleep 60")
    engine.until(own, "Running")
    administrator, viewer = signed_in("a", "system_administrator"), signed_in("v", "viewer")
    base = f"/clusters/{engine.cluster.pk}/jobs"
    page = administrator.get(base).content.decode()
    assert f'data-job="{number}"' in page
    assert 'data-job="1"' not in page, "a name with a line of its own is no job"
    assert "ours." not in page, "what Gangline made is in its own list"
    assert "sleep 60" in administrator.get(f"{base}/{number}").content.decode()
    assert viewer.get(f"{base}/{number}").status_code == 404
    assert viewer.post(f"{base}/{number}/cancel").status_code == 404
    assert f"Cancel job {number}?" in administrator.get(f"{base}/{number}/cancel").content.decode()
    assert _states(slurm_lab, number) == "PENDING"
    for odd in ("1;id", "$(id)", "--me"):
        assert administrator.post(f"{base}/{odd}/cancel").status_code in (302, 404)
    ours = slurm_lab.run("squeue", "-h", "-t", "RUNNING", "-o", "%A").split()[0]
    administrator.post(f"{base}/{ours}/cancel")
    assert AuditEntry.objects.filter(action="job.cancel", object_id=ours, result="failed").exists()
    administrator.post(f"{base}/{number}/cancel")
    wait_for(lambda: _states(slurm_lab, number) in ("CANCELLED", ""), seconds=20)
    assert AuditEntry.objects.filter(action="job.cancel", object_id=number, result="ok").exists()
    own.refresh_from_db()
    assert own.status == "Running"


def test_programs_do_the_same_by_the_api(engine: SlurmEngine, slurm_lab: Lab) -> None:
    number = slurm_lab.run(
        "sbatch", "--parsable", "--hold", "--job-name=raw", "--output=/dev/null", "--wrap=sleep 60"
    ).strip()
    base = f"/api/v1/clusters/{engine.cluster.pk}/jobs"
    administrator, editor = by_token("a", "system_administrator"), by_token("e", "editor")
    assert engine.client.get(base).status_code == 404, "a researcher sees no jobs of others"
    jobs = administrator.get(base).json()["jobs"]
    (job,) = [one for one in jobs if one["number"] == number]
    assert (job["name"], job["state"], job["startAt"]) == ("raw", "PENDING", None)
    assert job["reason"]
    assert administrator.get(f"{base}?owner=nobody-{job['owner']}").json() == {"jobs": []}
    assert administrator.get(f"{base}?state=PENDING").status_code == 400
    assert "sleep 60" in administrator.get(f"{base}/{number}").json()["text"]
    assert administrator.get(f"{base}/999999999").status_code == 409
    assert editor.delete(f"{base}/{number}").status_code in (403, 404)
    assert _states(slurm_lab, number) == "PENDING"
    assert administrator.delete(f"{base}/$(id)").status_code == 409
    assert administrator.delete(f"{base}/{number}").status_code == 202
    wait_for(lambda: _states(slurm_lab, number) in ("CANCELLED", ""), seconds=20)
    assert AuditEntry.objects.filter(action="job.cancel", object_id=number, result="ok").exists()


def by_token(name: str, role: str) -> Client:
    user = create_user(username=name)
    give(actor=None, user=user, role=role, scope=Scope.objects.get(kind="tenant"))
    token = make_token(user=user, name="tests", days=1).text
    return Client(headers={"Authorization": f"Bearer {token}"})


def _states(lab: Lab, number: str) -> str:
    return lab.run("squeue", "-h", "-t", "all", "-j", number, "-o", "%T", check=False).strip()
