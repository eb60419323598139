"""Who is told what about the machinery, on every page."""

from datetime import timedelta
from typing import cast

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from gangline.access.notices import notices_for
from gangline.db import leases
from gangline.db.clock import db_now
from gangline.db.models import Lease
from gangline.web import navigation
from tests.support.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def _asked_by(world: World, name: str) -> HttpRequest:
    request = RequestFactory().get("/workloads")
    request.user = world.people[name]
    return request


def _ticker_was_seen(ago: timedelta) -> None:
    Lease.objects.create(name=leases.TICKER, owner="a", until=db_now() - ago)


def test_nobody_is_told_anything_while_all_is_well(world: World) -> None:
    _ticker_was_seen(timedelta(seconds=-10))
    assert notices_for(_asked_by(world, "administrator")) == []


def test_a_trouble_of_the_machinery_is_for_administrators(world: World) -> None:
    leases.notice("message-service", "The message service is down.")
    (told,) = notices_for(_asked_by(world, "administrator"))
    assert told.startswith("The message service is down. Since ")
    assert notices_for(_asked_by(world, "researcher-vision")) == []


def test_a_silent_ticker_is_for_everybody(world: World) -> None:
    _ticker_was_seen(timedelta(seconds=20))
    for person in ("administrator", "researcher-vision"):
        (told,) = notices_for(_asked_by(world, person))
        assert told.startswith("Submissions are saved; processing is paused since ")


def test_a_trouble_that_is_over_is_not_told(world: World) -> None:
    leases.notice("workers", "Workers are silent.")
    leases.clear_notice("workers")
    assert notices_for(_asked_by(world, "administrator")) == []


def test_a_part_of_a_page_does_not_ask_for_banners(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[HttpRequest] = []

    def ask(request: HttpRequest) -> list[str]:
        asked.append(request)
        return ["Down."]

    monkeypatch.setattr(navigation, "notices_for", ask)
    context = navigation.context(_asked_by(world, "administrator"))
    assert asked == []
    assert list(cast("list[str]", context["system_notices"])) == ["Down."]
