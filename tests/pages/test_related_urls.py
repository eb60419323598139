"""Related URLs on the page of a workload: filled in from its variables, and safe to follow."""

import pytest

from tests.support.engine import new_workload
from tests.support.forms import Page
from tests.support.world import IMAGE, World

pytestmark = pytest.mark.django_db


def test_related_urls_stand_on_the_page_of_the_workload(world: World) -> None:
    """What a placeholder has no plain value for, or makes no address, is no link."""
    links = {
        "run": "https://wandb.ai/team/${RUN}?tab=${TAB}",
        "hidden": "https://wandb.ai/${TOKEN}",
        "unsaid": "https://wandb.ai/${NOBODY}",
        "host": "https://${HOST}/x",
    }
    variables = [
        {"name": "RUN", "value": "digits-7"},
        {"name": "TAB", "value": "logs"},
        {"name": "TOKEN", "secret": {"name": "genericsecret-token", "key": "k"}},
        {"name": "HOST", "value": "a b"},
    ]
    owner = world.people["researcher-vision"]
    asked = {
        "image": IMAGE,
        "environmentVariables": variables,
        "relatedUrls": [{"name": name, "url": url} for name, url in links.items()],
    }
    made = new_workload(name="linked", project=world.vision, owner=owner, values=asked)
    page = Page(world.client("viewer-vision").get(f"/workloads/{made.pk}").content.decode())
    tools = page.one(aria_label="Tools")
    shown = {
        line.text.split()[0]: [e for e in line.inside if e.tag == "a"]
        for line in tools.inside
        if line.tag == "li"
    }
    assert shown.keys() == links.keys()
    (link,) = shown.pop("run")
    assert link.attributes["href"] == "https://wandb.ai/team/digits-7?tab=logs"
    assert {"noopener", "noreferrer"} <= set(link.attributes["rel"].split())
    assert not any(shown.values())
