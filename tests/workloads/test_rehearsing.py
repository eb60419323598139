"""What a check of the form or the API shows to the cluster is what a submission would."""

import pytest
from django.test import Client

from gangline.clusters import credentials
from gangline.clusters.models import Cluster
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.organization.models import Project
from tests.support.api_server import Script, answering
from tests.support.world import make_world

KIND = KINDS["XGBoost"].resource


@pytest.mark.usefixtures("loopback_admitted")
def test_the_check_names_the_projects_queue_as_the_submission_does(transactional_db: None) -> None:
    world = make_world()
    Cluster.objects.filter(pk=world.cluster.pk).update(
        kind="kubernetes", host_id="", config={"scheduler": "volcano"}
    )
    Project.objects.filter(pk=world.vision.pk).update(own_queue="team-a")
    script = Script(groups={"kubeflow.org": {"v1": [KIND.plural]}})
    with answering(script) as access:
        credentials.store(Cluster.objects.get(pk=world.cluster.pk), access, by=None)
        answer = Client().post(
            "/api/v1/workloads/distributed?dryRun=All",
            world.spec_body(image="registry.example/training:1"),
            content_type="application/json",
            headers=world.headers("researcher-vision"),
        )
    assert answer.status_code == 200, answer.content
    jobs = [body for path, body in script.sent if path.endswith(f"/{KIND.plural}")]
    assert [job["spec"]["runPolicy"]["schedulingPolicy"]["queue"] for job in jobs] == ["team-a"]
