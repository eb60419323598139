"""Every route × method × kind of person, from one table; a route without an entry fails (§4.3)."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from gangline.accounts.models import ApiToken
from gangline.accounts.services import create_user, deactivate
from gangline.db.clock import db_now
from gangline.people.services import give
from gangline.resources.api_urls import all_urls
from tests.support.people import make_role
from tests.support.world import World, make_world
from workloads.api.bodies import read
from workloads.models import Attempt, Workload
from workloads.services import submission

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HERE = ("administrator", "head", "project_administrator-vision", "researcher-vision")
LOOKING = ("colleague", "viewer-vision", "own-role")
"""The last one has a custom role of one permission: to view workloads."""
ELSEWHERE = ("project_administrator-nlp", "researcher-nlp", "viewer-nlp", "stranger")
OUT = ("anonymous", "expired", "revoked", "deactivated")
PEOPLE = (*HERE, *LOOKING, *ELSEWHERE, *OUT)
Codes = dict[str, int]


def codes(here: int, looking: int, elsewhere: int, **others: int) -> Codes:
    """Status per person: those who work here, those who only look, those of elsewhere."""
    table = dict.fromkeys(HERE, here) | dict.fromkeys(LOOKING, looking)
    table |= dict.fromkeys(ELSEWHERE, elsewhere) | dict.fromkeys(OUT, 401)
    return table | {name.replace("__", "-"): code for name, code in others.items()}


EVERYBODY = codes(200, 200, 200)
SEEN = codes(200, 200, 404)
BAD = codes(400, 400, 400)
ACTS = codes(202, 403, 404)
_WORKLOAD = "<uuid:workload_id>"
API: dict[str, dict[str, Codes]] = {
    "v1/workloads": {"GET": EVERYBODY},
    "v1/workloads/count": {"GET": EVERYBODY},
    "v1/workloads/distributed": {"POST": codes(202, 202, 404, viewer__vision=403, own__role=404)},
    f"v1/workloads/distributed/{_WORKLOAD}": {"GET": SEEN, "DELETE": ACTS},
    f"v1/workloads/distributed/{_WORKLOAD}/suspend": {"POST": ACTS},
    f"v1/workloads/distributed/{_WORKLOAD}/resume": {"POST": ACTS},
    f"v1/workloads/distributed/{_WORKLOAD}/rerun": {"POST": ACTS},
    f"v1/workloads/{_WORKLOAD}": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/pods": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/events": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/history": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/logs": {
        "GET": codes(200, 200, 404, viewer__vision=403, own__role=403)
    },
    "v1/audit/log": {"GET": BAD},
    "v1/audit/log/file": {"GET": BAD},
    "v1/me/password": {"POST": BAD},
    "v1/authorization/permissions": {"GET": EVERYBODY},
    "v1/authorization/permitted-scopes": {"POST": BAD},
    "v1/authorization/me/access-rules": {"GET": EVERYBODY},
    "v1/authorization/me/access-rules/count": {"GET": EVERYBODY},
}
OF_KEYS = {
    f"v1/{path}{end}"
    for path, ends in {
        "apps": ("", "/<uuid:pk>", "/<uuid:pk>/secret"),
        "administration/access-keys": ("", "/<uuid:pk>"),
    }.items()
    for end in ends
}
"""Service accounts and access keys at their older addresses: tests/programs."""
WITHOUT_RIGHTS = OF_KEYS | {"v1/token", "v1/openapi.json", "v1/openapi.yaml", r"^.*\Z"}
"""The first takes credentials, the description names no data; the last one is the 404."""

PUBLIC_PAGES = {"login", "logout", "enter/<str:secret>", "theme"}
FOR_DEVELOPERS = {"styleguide"}
"""404 unless the server runs in debug mode."""


def routes(patterns: list[Any] | None = None, prefix: str = "") -> Iterator[str]:
    """Every route of the product."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def api_routes() -> set[str]:
    return {r.removeprefix("api/") for r in routes() if r.startswith("api/")}


@pytest.fixture
def world(db: None) -> World:
    made = make_world()
    made.people["colleague"] = create_user(username="colleague")
    give(actor=None, user=made.people["colleague"], role="researcher", scope=made.vision.scope)
    made.people["own-role"] = create_user(username="own-role")
    role = make_role("looks", "workload.view")
    give(actor=None, user=made.people["own-role"], role=role.key, scope=made.vision.scope)
    for name in ("expired", "revoked", "deactivated"):
        made.people[name] = create_user(username=name)
        give(actor=None, user=made.people[name], role="researcher", scope=made.vision.scope)
        made.token(name)
    now = db_now()
    ApiToken.objects.filter(user__username="expired").update(expires_at=now)
    ApiToken.objects.filter(user__username="revoked").update(revoked_at=now)
    deactivate(made.people["deactivated"])
    return made


def owned(world: World, name: str, *, ended: bool) -> str:
    """A workload of researcher-vision."""
    actor = world.actor("researcher-vision")
    made = submission.submit(actor=actor, request=read(actor.user, world.body(name))).workload
    if ended:
        Attempt.objects.filter(workload=made).update(
            outcome="Failed", observed_state="Failed", create_state="seen"
        )
        Workload.objects.filter(pk=made.pk).update(status="Failed", phase="Failed")
    return str(made.pk)


def send(world: World, person: str, method: str, route: str, number: int) -> int:
    where = (
        route.replace("<uuid:cluster_id>", str(world.cluster.pk))
        .replace("<int:project_id>", str(world.vision.pk))
    )  # fmt: skip
    if _WORKLOAD in where:
        made = owned(world, f"w-{number}", ended=route.endswith("rerun"))
        where = where.replace(_WORKLOAD, made)
    body = world.body(f"new-{number}") if method == "POST" else None
    response = _client().generic(
        method,
        f"/api/{where}",
        data=b"" if body is None else json.dumps(body).encode(),
        content_type="application/json",
        headers={} if person == "anonymous" else world.headers(person),
    )
    return response.status_code


@cache
def _client() -> Client:
    """One for all: making a client loads the middleware anew."""
    return Client()


def test_every_route_of_the_api_has_an_entry() -> None:
    by_contract = {f"v1/{one.pattern}" for one in all_urls()}
    assert api_routes() == set(API) | by_contract | WITHOUT_RIGHTS


ALLOWED = [(route, method) for route, methods in API.items() for method in methods]


@pytest.mark.parametrize(("route", "method"), ALLOWED)
def test_rights(world: World, route: str, method: str) -> None:
    found = {
        person: send(world, person, method, route, number) for number, person in enumerate(PEOPLE)
    }
    assert found == API[route][method]


def test_every_other_method_is_405_for_everybody_who_is_signed_in(world: World) -> None:
    made = owned(world, "w", ended=False)
    for route, methods in API.items():
        for method in set(METHODS) - set(methods):
            for person, expected in (("administrator", 405), ("stranger", 405), ("expired", 401)):
                where = route.replace(_WORKLOAD, made)
                assert send(world, person, method, where, 0) == expected, f"{method} {route}"
    assert Workload.objects.get().desired == "Running"


def test_every_page_needs_a_sign_in(client: Client, db: None) -> None:
    """Whatever is asked for: pages send strangers to the sign-in page and tell them nothing."""
    open_pages = []
    for route in sorted(set(routes())):
        if route.startswith(("api/", "v1/")) or route in PUBLIC_PAGES | FOR_DEVELOPERS:
            continue
        for method in ("GET", "POST"):
            response = client.generic(method, "/" + _example(route))
            if response.status_code == 405:
                continue
            sent_away = response.status_code == 302 and response["Location"].startswith("/login")
            if not sent_away:
                open_pages.append((method, route, response.status_code))
    assert not open_pages


_UUID = "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"


def _example(route: str) -> str:
    """An address that the route matches."""
    plain = re.sub(r"\(\?P<workload_id>[^)]*\)", _UUID, route).lstrip("^").rstrip("$")
    plain = re.sub(r"<uuid:\w+>", _UUID, plain)
    plain = re.sub(r"<int:\w+>", "1", plain)
    plain = re.sub(r"\(\?P<\w+>([\w-]+)(?:\|[\w|-]+)?\)", r"\1", plain)
    return re.sub(r"<\w+:\w+>", "setup", plain)
