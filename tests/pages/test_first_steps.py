"""The first steps of Home can be put away and found again."""

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from assets.models import Template
from gangline.db.clock import db_now
from tests.support.world import World
from workloads.selectors.first_steps import SAMPLE

pytestmark = pytest.mark.django_db
TITLE = 'id="first-steps"'


def test_who_hides_the_first_steps_is_told_where_they_are_again(world: World) -> None:
    scope = world.vision.scope
    Template.objects.create(
        scope=scope, name=SAMPLE, framework="XGBoost", values={}, created_at=db_now()
    )
    client = Client()
    client.force_login(world.people["researcher-vision"])
    assert TITLE in client.get("/").content.decode()
    assert "Show again" not in client.get("/account/tokens").content.decode()
    home = client.post(reverse("home-hide-steps"), follow=True).content.decode()
    assert TITLE not in home
    assert "Show them again under API tokens." in unescape(home)
    assert "Show again" in client.get("/account/tokens").content.decode()
    assert (
        TITLE
        in client.post(reverse("home-hide-steps"), {"show": "1"}, follow=True).content.decode()
    )
