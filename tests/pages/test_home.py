"""The first steps on Home: each is done by doing it."""

import re

import pytest

from assets.models import Template
from assets.services.templates import create_template
from gangline.people.services import give
from gangline.policies.services import save
from gangline.scopes.selectors import tenant_scope
from gangline.spec.frameworks import WORKERS_AND_MASTER
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Draft

pytestmark = pytest.mark.django_db


@pytest.fixture
def sample(world: World) -> Template:
    return create_template(
        actor=None,
        scope=tenant_scope(),
        name="digits-xgboost",
        description="",
        framework="XGBoost",
        configuration=WORKERS_AND_MASTER,
        master="same",
        values={"worker.image": IMAGE, "worker.command": "python train.py"},
    )


def done(filler: Filler) -> list[str]:
    """Titles of the first steps that are done."""
    page = filler.client.get("/").content.decode()
    cards = re.findall(r"<article.*?</article>", page, re.DOTALL)
    titles = ("Run the sample", "Look around the form")
    return [t for t in titles for card in cards if t in card and ">Done<" in card]


def test_looking_around_is_done_by_the_sample_in_the_form_alone(
    world: World, sample: Template
) -> None:
    filler = Filler(world)
    assert done(filler) == []
    filler.post("setup", {"workload.name": "of-my-own"})
    assert done(filler) == [], "a draft of one's own says nothing about the sample"
    assert filler.client.post(f"/templates/{sample.pk}/run").status_code == 303
    assert Draft.objects.filter(workload__template=sample).exists()
    assert done(filler) == [], "one click runs it and shows no form"
    other = Filler(world)
    shown = other.get("setup", template=str(sample.pk)).page
    assert other.post("setup", {"workload.name": "look"}, page=shown).status == 303
    assert done(filler) == ["Look around the form"]


def test_looking_around_opens_a_project_that_has_a_policy(world: World, sample: Template) -> None:
    filler = Filler(world)
    give(actor=None, user=world.people[filler.person], role="researcher", scope=world.nlp.scope)
    link = f"?template={sample.pk}"
    page = filler.client.get("/").content.decode()
    assert f'{link}"' in page
    assert "lock" not in page, "nothing is promised that the form does not show"
    rules = "rules:\n  worker:\n    numWorkers: {max: 1}\n"
    save(actor=None, scope=world.vision.scope, text=rules)
    page = filler.client.get("/").content.decode()
    assert f'{link}&amp;project={world.vision.pk}"' in page
    assert "a lock and the summary" in page
