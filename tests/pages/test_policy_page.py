"""The editor of a policy: what is wrong stands where one looks before one types."""

import re
from html import unescape

import pytest
from django.test import Client

from gangline.policies.models import Policy
from tests.support.world import World

pytestmark = pytest.mark.django_db
TEXT = "rules:\n  worker:\n    numWorkers: {min: 1, max: four}\n    noSuchField: {min: 1}\n"


def test_lines_with_problems_stand_numbered_above_the_text(world: World) -> None:
    client = Client()
    client.force_login(world.people["administrator"])
    address = f"/policies/{world.vision.scope_id}"
    answer = client.post(address, {"text": TEXT, "version": "0", "check": "1"})
    assert answer.status_code == 422
    page = answer.content.decode()
    lines = re.findall(r'<li class="bad" value="(\d+)"><code>(.*?)</code>(.*?)</li>', page)
    told = {int(no): (unescape(line).strip(), unescape(said)) for no, line, said in lines}
    assert told.keys() == {3, 4}
    assert told[3][0] == "numWorkers: {min: 1, max: four}"
    assert "Must be a whole number, not four." in told[3][1]
    assert page.index('id="policy-lines"') < page.index("<textarea")
    assert 'aria-describedby="policy-lines"' in page


@pytest.mark.parametrize("version", ["9" * 5000, "²", "-1", ""])
def test_a_version_that_is_none_changes_nothing(world: World, version: str) -> None:
    client = Client()
    client.force_login(world.people["administrator"])
    address = f"/policies/{world.vision.scope_id}"
    fits = "\n".join(TEXT.splitlines()[:2] + ["    numWorkers: {min: 1, max: 4}"])
    assert client.post(address, {"text": fits, "version": "0"}).status_code == 302
    assert client.post(address, {"text": fits + "0", "version": version}).status_code == 422
    assert client.post(f"{address}/delete", {"version": version}).status_code == 302
    assert Policy.objects.get(scope=world.vision.scope_id).text == fits


def test_a_text_that_fits_has_no_such_lines(world: World) -> None:
    client = Client()
    client.force_login(world.people["administrator"])
    address = f"/policies/{world.vision.scope_id}"
    fits = [*TEXT.splitlines()[:2], "    numWorkers: {min: 1, max: 4}"]
    page = client.post(address, {"text": "\n".join(fits), "version": "0", "check": "1"})
    assert page.status_code == 200
    assert "policy-lines" not in page.content.decode()
