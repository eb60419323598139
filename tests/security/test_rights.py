"""Every route × method × kind of person or built-in role; a route without an entry fails (§4.3)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
from django.db import transaction
from django.template.backends.django import Template
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from gangline.access.grants import custom_role
from gangline.access.permissions import Permission
from gangline.access.roles import ROLES, SYSTEM_ADMINISTRATOR, Role
from gangline.accounts.models import ApiToken
from gangline.accounts.services import create_user, deactivate
from gangline.db.clock import db_now
from gangline.people.services import give
from gangline.resources.api_urls import all_urls, urlpatterns_of
from gangline.resources.registry import get, resources
from gangline.resources.services import make
from tests.resources.samples import SAMPLES
from tests.security.api_rights import (
    _WORKLOAD,
    API,
    FOR_DEVELOPERS,
    METHODS,
    PEOPLE,
    PUBLIC_PAGES,
    WITHOUT_RIGHTS,
)
from tests.support.people import make_role
from tests.support.world import World, make_world
from workloads.models import Attempt, Workload
from workloads.services import submission
from workloads.services.bodies import read


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
        .replace("projects/<int:pk>", f"projects/{world.vision.pk}")
        .replace("departments/<int:pk>", f"departments/{world.department.pk}")
        .replace("<slug:pod>", "worker-0")
        .replace("<uuid:category_id>", str(world.cluster.pk))
        .replace("<uuid:pk>", str(world.cluster.pk))
        .replace("<uuid:type_id>", str(world.cluster.pk))
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


# Routes of resources × built-in roles, each given in the whole installation

P = Permission
OPEN_TO_ALL = {"list", "csv", "count"}
"""They hold what one may see: tests/resources."""
VERBS = {"detail": "view", "copy": "create", "retrieve": "view", "update": "edit",
         "partial_update": "edit", "destroy": "delete"}  # fmt: skip
ACTIONS: Mapping[str, tuple[str, Permission | None]] = {
    "cluster-check": ("POST", P.CLUSTER_EDIT),
    "cluster:install_info": ("GET", P.CLUSTER_VIEW),
    "cluster-credential": ("GET", P.CLUSTER_EDIT),
    "cluster-forget": ("POST", P.CLUSTER_DELETE),
    "cluster-role": ("GET", None),
    "role-built-in": ("GET", P.ROLE_VIEW),
    "user-link": ("POST", P.USER_EDIT),
    "user-activate": ("POST", P.USER_EDIT),
    "user-sign-out": ("POST", P.USER_EDIT),
    "service_account-secret": ("POST", P.SERVICE_ACCOUNT_EDIT),
    "access_key-secret": ("POST", P.ACCESS_KEY_VIEW),
    "credential-values": ("GET", P.CREDENTIAL_EDIT),
    "identity_provider-test": ("POST", P.IDENTITY_PROVIDER_EDIT),
    "git-test": ("POST", P.DATA_SOURCE_EDIT),
    "s3-test": ("POST", P.DATA_SOURCE_EDIT),
    "personal_credential-values": ("GET", None),
    "storage_class:classes": ("GET", None),
    "storage_class:create": ("POST", P.CLUSTER_EDIT),
    "storage_class:destroy": ("DELETE", P.CLUSTER_EDIT),
    "data_volume:name_availability": ("GET", P.DATA_VOLUME_VIEW),
    "data_volume:shared_scopes": ("GET", P.DATA_VOLUME_VIEW),
    "data_volume:listed_scopes": ("GET", P.DATA_VOLUME_VIEW),
    "data_volume:share": ("PATCH", P.DATA_VOLUME_EDIT),
    "data_volume:change_scopes": ("PATCH", P.DATA_VOLUME_EDIT),
    "template:all_templates": ("GET", None),
    "template:all_count": ("GET", None),
    "template:any_template": ("GET", P.TEMPLATE_VIEW),
    "template:name_availability": ("GET", P.TEMPLATE_VIEW),
    "node:telemetry": ("GET", None),
    "pvc:history": ("GET", P.DATA_SOURCE_VIEW),
    "department:telemetry": ("GET", None),
    "project:telemetry": ("GET", None),
    "cluster:nodes": ("GET", P.CLUSTER_VIEW),
    "cluster:node_count": ("GET", P.CLUSTER_VIEW),
    "department:replace_resources": ("PUT", P.DEPARTMENT_EDIT),
    "department:change_resources": ("PATCH", P.DEPARTMENT_EDIT),
    "project:replace_resources": ("PUT", P.PROJECT_EDIT),
    "project:change_resources": ("PATCH", P.PROJECT_EDIT),
    "access_rule:batch": ("POST", None),
    "access_rule:batch_create": ("POST", None),
    "user:password": ("POST", P.USER_EDIT),
    "user:logout": ("POST", P.USER_EDIT),
    "service_account:renew": ("POST", P.SERVICE_ACCOUNT_EDIT),
    "access_key:renew": ("POST", P.ACCESS_KEY_VIEW),
}
"""What a resource has beside its verbs: name of the page, or resource and method of the viewset.

The access key is the administrator's own, who alone may view those of others, too.
"""
OF_OTHERS = {"template-run", "credential-test", "personal_credential-test"}
"""The first submits a workload, by the rights of that: tests/wizard. Of credentials only those of
registries are tested: tests/assets/test_trials.py."""
QUERIES = {
    "node:telemetry": "?telemetryType=TOTAL_GPUS",
    "department:telemetry": "?telemetryType=GPU_QUOTA",
    "project:telemetry": "?telemetryType=GPU_QUOTA",
    "data_volume:name_availability": "?dataName=new&clusterId={}",
    "storage_class:classes": "?clusterId={}",
    "template:name_availability": "?templateName=new&scopeType=cluster&scopeId={}",
}
"""What an address must ask for."""
OTHER_PAGES = {
    "": {"home", "settings", "environment", "tokens", "account", "theme", "login", "logout",
         "enter", "styleguide", "access-check"},
    "workload-": {"list", "export", "changes", "bulk", "bulk-result", "bulk-retry", "new", "act",
                  "detail", "detail-changes", "log", "log-download", "file", "tab", "report",
                  "figures"},
    "draft-": {"step", "discard", "start", "yaml", "as"},
    "tool-": {"open", "auth"},
    "policy-": {"list", "edit", "delete", "effective", "effective-export"},
    "job-": {"look", "cancel"},
    "device": {""},
    "program-": {"end"},
    "provider-": {"begin", "come-back", "connect"},
    "orphan-": {"delete", "ignore", "list"},
    "token-": {"create", "revoke"},
    "table-": {"views"},
    "home-": {"hide-steps"},
    "settings-": {"category"},
    "account-": {"password"},
    "quota-": {"sums"},
}  # fmt: skip
"""Pages of no resource: each has a test of its own; one that is added wants one."""
HELD = (
    *("environment", "compute", "credential", "template", "nfs", "pvc", "s3", "git"),
    *("host_path", "config_map", "secret_volume"),
)
NAMING = {
    *("access_rule:create", "project:create", "data_volume:create", "storage_class:create"),
    *("template:name_availability", "data_volume:name_availability"),
    *(f"{key}:create" for key in HELD),
}
"""Whose bodies name a subject, a department or the scope to make it in."""
OTHERWISE = re.compile(
    r"(POST|DELETE) access_rule[-:](create|delete|destroy)"
    r"|\S+ access_key\W.*"
)
"""Rules ask for all of the role that they give, keys of others are seen and no more: each
has tests of its own, and a role of one permission proves nothing there."""
PERSONAL = "personal_credential"
"""Only their owner, here the administrator, sees one: tests/assets/test_credentials.py."""
SEEN_BY_PROJECT = re.compile(r"cluster\W\S+")
"""A cluster is seen by who sees a project on it (S6a); its storage classes are not."""


@dataclass(frozen=True)
class Cell:
    """One method of one route. ``name`` has a colon if it is of the API."""

    name: str
    method: str
    url: str
    needs: Permission | None
    """None: everybody who is signed in."""
    body: Any = None
    is_own: bool = False
    """Of what only its owner sees, who is the administrator here."""

    def admits(self, role: Role) -> bool:
        if self.is_own:
            return role.key == SYSTEM_ADMINISTRATOR
        if self.needs is None:
            return True
        if self.needs == P.CLUSTER_VIEW and SEEN_BY_PROJECT.fullmatch(self.name):
            return not role.permissions.isdisjoint({self.needs, P.PROJECT_VIEW})
        return self.needs in role.permissions


def _cells_of(world: World, key: str) -> Iterator[Cell]:
    """Every route of a resource; KeyError: one that nothing says the permission of."""
    resource, sample = get(key), SAMPLES[key]
    name_of = f"{{}}-{key.replace('_', '-')}".format
    made = sample.make(world, name_of("whose"))
    one, arguments = resource.id_of(made), {"role-built-in": ["viewer"], "cluster-role": []}
    for name in sorted({name for name in _names() if name.startswith(f"{key}-")}):
        end = name.removeprefix(f"{key}-")
        if end == "tab" or name in OF_OTHERS:
            continue  # The detail page at another address, or no page of the resource.
        if name in ACTIONS:
            method, needs = ACTIONS[name]
            yield Cell(name, method, reverse(name, args=arguments.get(name, [one])), needs, {})
            continue
        needs = _needs(resource, end)
        url = reverse(name, args=[] if end in OPEN_TO_ALL | {"create"} else [one])
        yield Cell(name, "GET", url, needs)
        if end == "create" and sample.form:
            yield Cell(name, "POST", url, needs, sample.form(world, name_of("by-form")))
        if end == "delete":
            yield Cell(name, "POST", url, needs, {"name": resource.name_of(made)})
    for pattern in urlpatterns_of(resource):
        url = "/api/v1/" + re.sub(r"<\w+:pk>", one, str(pattern.pattern))
        bodies: dict[str, Any] = {
            "create": sample.body(world, name_of("by-api")) if sample.body else None,
            "batch": {"ids": ["0"], "action": "validate_delete"},
            "batch_create": {"payload": {"roleId": 0, "subjects": [{}], "scopes": [{}]}},
            "update": {**sample.body_edit},
            "partial_update": {**sample.body_edit},
            "replace_resources": [],
            "change_resources": [],
        }
        for body in bodies.values():
            if isinstance(body, dict):
                body.pop("resources", None)  # A quota needs a permission of its own.
        for method, action in pattern.callback.actions.items():  # type: ignore[attr-defined]
            name, body = f"{key}:{action}", bodies.get(action)
            at = url + QUERIES.get(name, "").format(world.cluster.pk)
            yield Cell(name, method.upper(), at, _needs(resource, action), body)


def cells_of(world: World, key: str) -> Iterator[Cell]:
    """The same; what one has for oneself alone is nobody else's."""
    resource = get(key)
    is_own = bool(resource.own_path) and not resource.is_governed("view")
    for cell in _cells_of(world, key):
        end = cell.name.removeprefix(f"{key}-").removeprefix(f"{key}:")
        yield replace(cell, is_own=is_own and end not in OPEN_TO_ALL | {"create"})


def _needs(resource: Any, end: str) -> Permission | None:
    if end in OPEN_TO_ALL:
        return None
    verb = VERBS.get(end, end)
    if verb not in resource.verbs:
        return ACTIONS[f"{resource.key}:{end}"][1]
    if resource.is_governed(verb):
        permission: Permission = resource.permission(verb)
        return permission
    assert resource.own_path, f"{resource.key}.{verb} is no permission"
    if verb == "create" or not resource.is_governed("view"):
        return None
    return resource.permission("view")  # type: ignore[no-any-return]


def _names() -> set[str]:
    """Names in the URL configuration."""
    found, stack = set(), list(get_resolver().url_patterns)
    while stack:
        pattern = stack.pop()
        stack += getattr(pattern, "url_patterns", [])
        found.add(getattr(pattern, "name", None) or "")
    return found


def test_every_page_belongs_to_a_resource_or_has_an_entry() -> None:
    keys = tuple(f"{one.key}-" for one in resources())
    entries = {f"{start}{end}" for start, ends in OTHER_PAGES.items() for end in ends}
    of_none = {name for name in _names() if name and not name.startswith(keys)}
    assert of_none == entries


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_every_route_of_a_resource_asks_for_its_permission(
    world: World, monkeypatch: pytest.MonkeyPatch, every: bool
) -> None:
    """Each is asked by nobody, by who may no more than that, and by who may see it and no more.

    With ``every`` it is asked by each built-in role, and by each own role that has one permission
    with its view; own roles that are allowed the same of a resource stand for each other.
    """
    # What a page looks like is not asked here, and drawing a thousand takes a minute.
    monkeypatch.setattr(Template, "render", lambda *given, **more: "")
    browsers: dict[str, Client] = {}
    own = [custom_role(make("role", name=f"only {one}", permissions=[one])) for one in Permission]
    roles = [*ROLES.values(), *own]
    found: dict[str, int] = {}
    expected: dict[str, int] = {}
    tried: set[str] = set()
    for resource in resources():
        cells: list[Cell] = list(cells_of(world, resource.key))
        tried |= {cell.name for cell in cells}
        view = resource.permission("view") if resource.is_governed("view") else None
        different = {tuple(cell.admits(role) for cell in cells): role for role in reversed(own)}
        for cell in cells:
            fitting = [role for role in roles if _fits(role, cell, resource.key)]
            if every:
                fitting = [r for r in fitting if r.key in ROLES or r in different.values()]
            else:
                fitting = _two(cell, fitting, view)
            for role in fitting:
                browser = browsers.get(role.key) or browsers.setdefault(
                    role.key, _holder(world, role)
                )
                where = f"{cell.method} {cell.name} as {role.key}"
                code = code_of(browser, cell, world.headers(role.key))
                expected[where] = is_allowed = cell.admits(role)
                # What a body names and one may not see is not there: 400.
                refusals = (400, 403, 404) if cell.name in NAMING else (403, 404)
                is_right = 200 <= code < 400 if is_allowed else code in refusals
                found[where] = is_allowed if is_right else code
            where = f"{cell.method} {cell.name} as nobody"
            found[where] = code_of(_client(), cell, {})
            expected[where] = 401 if ":" in cell.name else 302
    wrong = {where: found[where] for where in found if found[where] != expected[where]}
    assert not wrong, "\n".join(f"{code} {where}" for where, code in wrong.items())
    assert tried >= set(ACTIONS), "an entry without a route"


def _fits(role: Role, cell: Cell, key: str) -> bool:
    """Whether the answer that the role gets says something."""
    if key == PERSONAL:
        return role.key == SYSTEM_ADMINISTRATOR
    return role.key in ROLES or not OTHERWISE.fullmatch(f"{cell.method} {cell.name}")


def _two(cell: Cell, roles: Sequence[Role], view: Permission | None) -> list[Role]:
    """Of those that are admitted the one with the least, and of the others one that sees it."""
    by_size = sorted(roles, key=lambda role: len(role.permissions))
    others = [role for role in by_size if not cell.admits(role)]
    others.sort(key=lambda role: view not in role.permissions)
    return [*[role for role in by_size if cell.admits(role)][:1], *others[:1]]


def _holder(world: World, role: Role) -> Client:
    """The browser of somebody who holds it in the whole installation, named by it."""
    if role.key == SYSTEM_ADMINISTRATOR:
        user = world.people["administrator"]
    else:
        user = create_user(username=role.key)
        give(actor=None, user=user, role=role.key, scope=world.installation.scope)
    world.people[role.key] = user
    client = Client()
    client.force_login(user)
    return client


def code_of(client: Client, cell: Cell, headers: Mapping[str, str]) -> int:
    """What is answered; what it did is undone."""
    with transaction.atomic():
        if ":" in cell.name:
            answer = _client().generic(
                cell.method,
                cell.url,
                data=b"" if cell.body is None else json.dumps(cell.body).encode(),
                content_type="application/json",
                headers=dict(headers),
            )
        elif cell.method == "GET":
            answer = client.get(cell.url)
        else:
            answer = client.post(cell.url, cell.body)
        transaction.set_rollback(True)
    return answer.status_code
