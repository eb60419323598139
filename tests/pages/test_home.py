"""Home: its numbers are those of the lists that they lead to, and its first steps go away."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from assets.models import Template
from gangline.clusters.models import Cluster, Credential
from gangline.db.clock import db_now
from gangline.organization.models import Project
from gangline.people.services import give
from gangline.policies.services import save
from gangline.resources.registry import get
from gangline.resources.services import create, make
from gangline.scopes.selectors import tenant_scope
from gangline.spec.frameworks import WORKERS_AND_MASTER
from tests.support.engine import new_workload
from tests.support.forms import Filler
from tests.support.world import IMAGE, World
from workloads.models import Workload

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def sample(world: World) -> Template:
    made: Template = make(
        "template",
        scope=tenant_scope(),
        name="digits-xgboost",
        description="",
        framework="XGBoost",
        configuration=WORKERS_AND_MASTER,
        master="same",
        values={"worker.image": IMAGE, "worker.command": "python train.py"},
    )
    return made


def browser(world: World, person: str) -> Client:
    return world.client(person)


def steps(client: Client, strip: str) -> dict[str, bool]:
    """The steps of a strip on Home by their words, each with whether it is done."""
    page = client.get("/").content.decode()
    found = re.search(rf'aria-labelledby="{strip}".*?</ol>', page, re.DOTALL)
    rows = re.findall(r"<li( data-done)?>(.*?)</li>", found[0] if found else "", re.DOTALL)
    words = ((re.sub(r"<[^>]+>", " ", row).split(), bool(done)) for done, row in rows)
    return {" ".join(word for word in row if word != "done"): done for row, done in words}


def tiles(client: Client) -> dict[str, tuple[str, str]]:
    """Number and address of each tile."""
    page = client.get("/").content.decode()
    found = re.findall(
        r'class="tile[^"]*"\s+href="([^"]+)">\s*<span[^>]*>([^<]+)</span> <b[^>]*>([^<]+)<', page
    )
    return {label: (value, unescape(url)) for url, label, value in found}


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        (
            "researcher-vision",
            {"Running": 2, "Waiting": 3, "Needs attention": 2, "Done in 24 hours": 1},
        ),
        ("administrator", {"Waiting over 1 hour": 1, "Failed in 24 hours": 1}),
    ],
)
def test_a_number_is_the_number_of_rows_of_its_list(
    world: World, person: str, expected: dict[str, int]
) -> None:
    now = db_now()
    for status, age, count in (
        ("Running", DAY, 2),
        ("Pending", timedelta(minutes=59), 2),
        ("Pending", timedelta(minutes=61), 1),
        ("Failed", timedelta(hours=23), 1),
        ("Failed", timedelta(hours=25), 1),
        ("Completed", timedelta(hours=1), 1),
        ("Completed", 2 * DAY, 3),
    ):
        at = now - age
        for n in range(count):
            row = new_workload(
                name=f"{status.lower()}-{int(age.total_seconds())}-{n}",
                project=world.vision,
                owner=world.people["researcher-vision"],
                values={"image": IMAGE, "command": "python train.py"},
            )
            ended = at if status in ("Failed", "Completed") else None
            shown = {"created_at": at, "phase_since": at, "ended_at": ended}
            Workload.objects.filter(pk=row.pk).update(status=status, **shown)
    client = browser(world, person)
    found = tiles(client)
    assert {name: found[name][0] for name in expected} == {k: str(v) for k, v in expected.items()}
    for name, count in expected.items():
        page = client.get(found[name][1]).content.decode()
        assert len(re.findall(r'<tr data-id="', page)) == count, name


def test_looking_around_is_done_by_the_sample_in_the_form_alone(
    world: World, sample: Template
) -> None:
    filler = Filler(world)
    undone = {"Run the sample": False, "Explore the form": False}
    assert steps(filler.client, "first-steps") == undone
    filler.post("setup", {"workload.name": "of-my-own"})
    assert steps(filler.client, "first-steps") == undone, "another draft says nothing about it"
    assert filler.client.post(f"/templates/{sample.pk}/run").status_code == 303
    assert not any(steps(filler.client, "first-steps").values()), "one click shows no form"
    assert len(steps(filler.client, "first-steps")) == 2
    other = Filler(world)
    shown = other.get("setup", template=str(sample.pk)).page
    assert other.post("setup", {"workload.name": "look"}, page=shown).status == 303
    assert steps(filler.client, "first-steps")["Explore the form"]
    Workload.objects.update(status="Completed")
    assert steps(filler.client, "first-steps") == {}, "what is done goes away"


def test_looking_around_is_done_by_a_workload_of_one_s_own_from_the_form(
    world: World, sample: Template
) -> None:
    made = new_workload(
        name="mine", project=world.vision, owner=world.people["researcher-vision"], values={}
    )
    Workload.objects.filter(pk=made.pk).update(channel="form")
    assert steps(Filler(world).client, "first-steps")["Explore the form"]


def test_home_lists_the_templates_that_were_used_last_and_then_the_sample(
    world: World, sample: Template
) -> None:
    used, _ = (
        make(
            "template", scope=tenant_scope(), name=name, description="", framework="PyTorch",
            configuration=WORKERS_AND_MASTER, master="same", values=sample.values,
        )
        for name in ("digits-torch", "a-first")
    )  # fmt: skip
    client = Filler(world).client
    listed = [one.name for one in client.get("/").context["templates"]]
    assert listed == ["digits-xgboost", "a-first", "digits-torch"]
    made = new_workload(
        name="mine", project=world.vision, owner=world.people["researcher-vision"], values={}
    )
    Workload.objects.filter(pk=made.pk).update(template=used)
    listed = [one.name for one in client.get("/").context["templates"]]
    assert listed == ["digits-torch", "digits-xgboost", "a-first"]


def test_looking_around_opens_a_project_that_has_a_policy(world: World, sample: Template) -> None:
    filler = Filler(world)
    give(actor=None, user=world.people[filler.person], role="researcher", scope=world.nlp.scope)
    link = f"?template={sample.pk}"
    page = filler.client.get("/").content.decode()
    assert f'{link}"' in page
    assert "a lock" not in page, "nothing is promised that the form does not show"
    rules = "rules:\n  worker:\n    numWorkers: {max: 1}\n"
    save(actor=None, scope=world.vision.scope, text=rules)
    page = filler.client.get("/").content.decode()
    assert f'{link}&amp;project={world.vision.pk}"' in page
    assert "a lock and the summary" in page


@pytest.mark.parametrize("strip", ["first-steps", "set-up"])
def test_steps_are_dismissed_one_strip_at_a_time_and_shown_again(
    world: World, sample: Template, strip: str
) -> None:
    client = browser(world, "administrator")
    other = {"first-steps": "set-up", "set-up": "first-steps"}[strip]
    assert steps(client, strip)
    assert steps(client, other)
    client.post("/home/hide-first-steps", {"set_up": "1"} if strip == "set-up" else {})
    assert not steps(client, strip)
    assert steps(client, other)
    client.post("/home/hide-first-steps", {"show": "1"})
    assert steps(client, strip)


def test_what_an_administrator_sets_up_is_done_by_people_alone(world: World) -> None:
    admin = browser(world, "administrator")
    assert not any(steps(admin, "set-up").values()), "what came with the installation"
    assert steps(browser(world, "head"), "set-up") == {}
    actor = world.actor("administrator")
    values = {"department": world.department, "name": "team-a"}
    create(get("project"), actor=actor, values=values)
    assert steps(admin, "set-up")["Create a project"]
    assert admin.post("/users/new", {"username": "dana"}).status_code == 200
    assert steps(admin, "set-up")["Invite users"]
    save(actor=actor, scope=world.vision.scope, text="defaults: {}\n")
    found = steps(admin, "set-up")
    assert found == dict.fromkeys(found, True) | {"Connect a cluster": False}
    Cluster.objects.update(credential_at=db_now(), last_ok_at=None)
    Credential.objects.create(cluster=world.cluster, sealed="", added_at=db_now())
    assert not steps(admin, "set-up")["Connect a cluster"], "one that never answered"
    assert "Create project team-a" in admin.get("/").content.decode()


def test_a_project_is_made_from_its_cluster_or_from_the_form_of_a_workload(world: World) -> None:
    admin, viewer = browser(world, "administrator"), browser(world, "viewer-vision")
    link = f"/projects/new?cluster={world.cluster.pk}"
    assert link in admin.get(f"/clusters/{world.cluster.pk}").content.decode()
    assert link not in viewer.get(f"/clusters/{world.cluster.pk}").content.decode()
    form = admin.get(link).content.decode()
    assert f'<option value="{world.department.pk}" selected' in form
    empty = f"{link[:-4]}0000"
    assert f"/departments/new?cluster={empty[-36:]}" in admin.get(empty).content.decode()
    page = browser(world, "stranger").get("/workloads/new", follow=True).content.decode()
    assert "/projects/new" not in page
    Project.objects.all().delete()
    assert "/projects/new" in admin.get("/workloads/new", follow=True).content.decode()


def test_without_a_role_home_names_who_gives_one_and_leads_nowhere_forbidden(world: World) -> None:
    client = browser(world, "stranger")
    page = client.get("/").content.decode()
    assert 'data-state="no-access"' in page
    main = page[page.index("<main") : page.index("</main>")]
    assert "administrator" in main
    links = set(re.findall(r'href="(/[^"#?]*)"', page))
    assert "/account" in links
    answers = {link: client.get(link).status_code for link in links if "/static/" not in link}
    assert set(answers.values()) == {200}, answers
    give(actor=None, user=world.people["stranger"], role="viewer", scope=world.nlp.scope)
    assert 'data-state="empty"' in client.get("/").content.decode()
