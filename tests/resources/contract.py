"""The contract of every resource, as checks over the registry."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.forms import MultipleChoiceField
from django.template.backends.django import Template
from django.test import Client
from django.test.signals import template_rendered
from django.test.utils import CaptureQueriesContext

from gangline.access.roles import ROLES
from gangline.audit.models import AuditEntry
from gangline.db.versioned import Versioned
from gangline.forms.fields import dom_id
from gangline.lib.problems import Refused
from gangline.resources import services
from gangline.resources.resource import Resource
from gangline.scopes.models import Scope
from gangline.scopes.selectors import scopes_to
from tests.support.world import World

from .sample import Sample
from .samples import SAMPLES

ABSENT = {"int": "999999", "uuid": "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11", "str": "no-such"}


@dataclass
class Context:
    """One resource in a world, with a browser and a client for each person."""

    world: World
    resource: Resource[Any]

    @cached_property
    def sample(self) -> Sample:
        return SAMPLES[self.resource.key]

    def page(self, person: str) -> Client:
        return self.world.client(person)

    def api(
        self, person: str, method: str, path: str = "", body: Any = None, **headers: str
    ) -> Any:
        wire = self.resource.wire
        assert wire is not None
        return Client().generic(
            method,
            f"/api/v1/{wire.path}{path}",
            data=b"" if body is None else json.dumps(body).encode(),
            content_type="application/json",
            headers={**self.world.headers(person), **headers},
        )

    def api_rows(self, query: str, person: str = "administrator") -> list[dict[str, Any]]:
        wire = self.resource.wire
        assert wire is not None
        answer = self.api(person, "GET", query)
        assert answer.status_code == 200, answer.content
        found = answer.json()
        listed: list[dict[str, Any]] = found[wire.envelope] if wire.envelope else found
        return listed

    def count(self) -> int:
        return int(self.resource.model._default_manager.count())

    def holders(self, obj: Any, verb: str) -> set[str]:
        """People whose role holds the verb at or above the object's place, and its owner."""
        owners = {n for n, user in self.world.people.items() if self.resource.is_own(user, obj)}
        if not self.resource.is_governed(verb):
            return owners
        place = self.resource.place(obj, verb)
        anywhere = verb == "view" and self.resource.seen_from_anywhere
        below = verb == "view" and self.resource.seen_from_below
        above = {scope.pk for scope in scopes_to(Scope.objects.get(pk=place.pk))}
        permission = self.resource.permission(verb)
        return owners | {
            name
            for name, (role, scope) in self.world.roles.items()
            if (anywhere or scope.pk in above or (below and place in scopes_to(scope)))
            and permission in ROLES[role].permissions
        }


def _undrawn(template: Template, context: Any = None, request: Any = None) -> str:
    """What a page looks like is not asked: what it is given is."""
    template_rendered.send(sender=template, template=template, context=context or {})
    return ""


NOT_DRAWN = patch.object(Template, "render", _undrawn)
"""Around requests of which status and context count: drawing takes most of their time."""
Check = Callable[[Context], None]
Unless = Callable[[Resource[Any], Sample], str]
CHECKS: dict[str, tuple[Check, Unless]] = {}


def check(
    unless: Callable[[Resource[Any], Sample], str] = lambda r, s: "",
) -> Callable[[Check], Check]:
    """Register a check; ``unless`` says why it does not apply to a resource."""

    def register(function: Check) -> Check:
        CHECKS[function.__name__] = (function, unless)
        return function

    return register


def why_not(name: str, resource: Resource[Any]) -> str:
    """The reason why a check is left out; empty: it runs."""
    sample = SAMPLES[resource.key]
    return sample.left_out.get(name, "") or CHECKS[name][1](resource, sample)


def _no_form(resource: Resource[Any], sample: Sample) -> str:
    return "" if sample.form else "people do not make it by a form"


def _no_body(resource: Resource[Any], sample: Sample) -> str:
    if resource.wire is None:
        return "it has no API"
    return "" if sample.body else "clients do not make it"


def _no_wire(resource: Resource[Any], sample: Sample) -> str:
    return "" if resource.wire else "it has no API"


def _no_edit(resource: Resource[Any], sample: Sample) -> str:
    if "edit" not in resource.verbs or not sample.edit:
        return "it is not edited"
    return "" if issubclass(resource.model, Versioned) else "it has no version"


def _no_description(resource: Resource[Any], sample: Sample) -> str:
    names = {field.name for field in resource.model._meta.concrete_fields}
    return "" if "description" in names else "it has no description"


@check(_no_wire)
def same_everywhere(c: Context) -> None:
    """Page, CSV and API list the same objects."""
    made = c.sample.make(c.world, "one-of-two")
    name = c.resource.name_of(made)
    page = c.page("administrator").get(c.resource.list_url())
    assert page.status_code == 200
    assert name in page.content.decode()
    lines = _csv(c.page("administrator").get(f"{c.resource.list_url()}.csv"))
    rows = c.api_rows("")
    assert (
        len(lines) - 1 == len(rows) == c.resource.visible(c.world.people["administrator"]).count()
    )
    assert any(name in cell for line in lines for cell in line)
    assert not any("<" in cell for line in lines for cell in line)
    detail = c.page("administrator").get(c.resource.url(made))
    assert detail.status_code == 200
    assert name in detail.content.decode()


@check()
def rights(c: Context) -> None:
    """Every role × verb answers as the role's permissions say, on the pages and in the API."""
    made = c.sample.make(c.world, "whose")
    viewers = c.holders(made, "view")
    wire = c.resource.wire
    pages = [
        v
        for v in ("edit", "delete")
        if v in c.resource.verbs and (v == "delete" or c.resource.form)
    ]
    holders = {verb: c.holders(made, verb) & viewers for verb in pages}
    for person in c.world.roles:
        page = c.page(person)
        seen = 200 if person in viewers else 404
        with NOT_DRAWN:
            assert page.get(c.resource.list_url()).status_code == 200
            assert page.get(c.resource.url(made)).status_code == seen, person
            for verb, who in holders.items():
                code = page.get(c.resource.url(made, verb)).status_code
                expected = 200 if person in who else 403 if seen == 200 else 404
                assert code == expected, (person, verb)
        if wire and "get" in wire.methods:
            assert c.api(person, "GET", f"/{c.resource.id_of(made)}").status_code == seen, person


@check(_no_body)
def rights_to_write(c: Context) -> None:
    """Who may create and delete does so by the API; all others are refused."""
    made = c.sample.make(c.world, "whose")
    viewers, makers = c.holders(made, "view"), c.holders(made, "create")
    if c.resource.own_path:
        makers = set(c.world.roles)
    assert c.sample.body
    for number, person in enumerate(c.world.roles):
        answer = c.api(person, "POST", "", c.sample.body(c.world, f"made-{number}"))
        is_made = answer.status_code < 300
        assert is_made == (person in makers), (person, answer.content)
        assert is_made or answer.status_code in (400, 403, 404), answer.content
    holders = c.holders(made, "delete") & viewers
    for person in sorted(c.world.roles, key=lambda one: one in holders):
        code = c.api(person, "DELETE", f"/{c.resource.id_of(made)}").status_code
        if person in holders:
            assert code < 300, person
            break
        assert code == (403 if person in viewers else 404), person


@check(_no_wire)
def invisible_is_absent(c: Context) -> None:
    """What one may not see answers exactly like what does not exist."""
    made = c.sample.make(c.world, "hidden")
    kind = "int" if c.resource.id_of(made).isdigit() else "uuid"
    hidden = c.api("stranger", "GET", f"/{c.resource.id_of(made)}")
    absent = c.api("stranger", "GET", f"/{ABSENT[kind]}")
    assert (hidden.status_code, hidden.content) == (absent.status_code, absent.content)
    page = c.page("stranger").get(c.resource.url(made))
    assert page.status_code == 404
    for bad in ("0", "x", "9" * 30, "%00", "-1", "é"):
        code = c.page("administrator").get(f"{c.resource.list_url()}/{bad}").status_code
        assert code in (400, 404), bad


@check(_no_form)
def a_form_makes_one(c: Context) -> None:
    """The form stores what was typed, once; a name that is taken is refused at its field."""
    assert c.sample.form
    new = f"{c.resource.list_url()}/new"
    client = c.page("administrator")
    page = client.get(new)
    assert page.status_code == 200
    # Enter in a field presses the first button, which must be the one that stores.
    html = page.content.decode().partition("<main")[2].partition('<form method="post"')[2]
    assert 'name="_go"' not in html.partition("<button")[2].partition(">")[0]
    before = c.count()
    answer = client.post(new, c.sample.form(c.world, "typed-one"))
    assert answer.status_code == (200 if c.sample.shows_secret else 302), errors_of(answer)
    assert c.count() == before + 1
    if c.sample.name_field:
        again = client.post(new, c.sample.form(c.world, "typed-one"))
        assert again.status_code == 422
        assert f'id="f-{c.sample.name_field}-e"' in again.content.decode()
        assert c.count() == before + 1


@check(_no_form)
def bad_input_is_kept(c: Context) -> None:
    """A refused form answers 422, marks the field, keeps every text and stores nothing."""
    assert c.sample.form
    client, before = c.page("administrator"), c.count()
    for name, text in c.sample.bad:
        posted = {**c.sample.form(c.world, "bad-one"), name: text}
        answer = client.post(f"{c.resource.list_url()}/new", posted)
        html = answer.content.decode()
        assert answer.status_code == 422, (name, text)
        assert f'id="{dom_id(name)}-e"' in html, (name, text)
        for other, value in posted.items():
            if other != c.sample.secret_field and isinstance(value, str) and value.isalnum():
                assert value in html, (other, value)
    assert c.count() == before


@check(_no_body)
def bad_bodies_name_the_field(c: Context) -> None:
    """A refused body answers 400 with the field's wire name and stores nothing."""
    assert c.sample.body
    before = c.count()
    for name, value in c.sample.bad_body:
        answer = c.api(
            "administrator", "POST", "", {**c.sample.body(c.world, "bad-one"), name: value}
        )
        assert answer.status_code == 400, (name, value, answer.content)
        paths = {one["path"].split(".")[0] for one in answer.json()["problems"]}
        assert name.split(".")[0] in paths, (name, value, answer.content)
    bodies: tuple[Any, ...] = ([], "x", 7, {"name": None})
    for body in bodies:
        assert c.api("administrator", "POST", "", body).status_code == 400
    assert c.count() == before


@check(_no_body)
def names_are_unique(c: Context) -> None:
    """A second object of one name is 409, with the field."""
    assert c.sample.body
    assert c.api("administrator", "POST", "", c.sample.body(c.world, "twice")).status_code < 300
    answer = c.api("administrator", "POST", "", c.sample.body(c.world, "twice"))
    assert answer.status_code == 409, answer.content
    assert answer.json()["problems"][0]["path"]


@check(lambda r, s: _no_edit(r, s) or _no_description(r, s))
def texts_can_be_read(c: Context) -> None:
    """What hides or turns around what stands beside it is refused; any other language is not."""
    made = c.sample.make(c.world, "seen")
    for hidden in (
        "gpj\u202eexe",
        "a\u2066b",
        "a\u200eb",
        "a\u200bb",
        "\x1b[31m",
        "a\u2028b",
        "a\0b",
    ):
        with pytest.raises(Refused) as refusal:
            services.update(c.resource, actor=None, obj=made, values={"description": hidden})
        (problem,) = refusal.value.problems
        assert (problem.code, problem.path) == ("characters", "description"), hidden
    fit = "نموذج, می\u200cخواهم, דגם, 👩\u200d🔬\nSecond line"
    services.update(c.resource, actor=None, obj=made, values={"description": fit})
    assert stored_now(made).description == fit


@check(lambda r, s: _no_edit(r, s) or _no_form(r, s))
def two_tabs(c: Context) -> None:
    """The second of two edits is told, keeps its text, and may be saved then."""
    made = c.sample.make(c.world, "tabs")
    client, url = c.page("administrator"), c.resource.url(made, "edit")
    page = client.get(url)
    assert page.status_code == 200
    field, text = next(iter(c.sample.edit.items()))
    shown = _shown(page)
    assert client.post(url, {**shown, field: text}).status_code == 302
    stored = c.resource.snapshot(stored_now(made))
    late = client.post(url, {**shown, field: text, **_another(c.sample.edit)})
    assert late.status_code == 409, late.status_code
    assert len(late.context["differences"]) == 1
    assert c.resource.snapshot(stored_now(made)) == stored
    version = stored_now(made).version
    again = client.post(url, {**shown, field: text, **_another(c.sample.edit), "version": version})
    assert again.status_code == 302
    if c.resource.wire and c.sample.body_edit:
        stale = c.api("administrator", "PUT", f"/{c.resource.id_of(made)}",
                      c.sample.body_edit, **{"If-Match": '"1"'})  # fmt: skip
        assert stale.status_code == 412, stale.content


@check()
def audit(c: Context) -> None:
    """Each change leaves one entry with the actor and, of an edit, before and after."""
    client, where = c.page("administrator"), {"object_type": c.resource.key}
    who = c.world.people["administrator"]
    if "create" in c.resource.verbs and (c.sample.form or c.sample.body):
        known = set(c.resource.model._default_manager.values_list("pk", flat=True))
        if c.sample.form:
            client.post(f"{c.resource.list_url()}/new", c.sample.form(c.world, "begun"))
        elif c.sample.body:
            c.api("administrator", "POST", "", c.sample.body(c.world, "begun"))
        begun = c.resource.model._default_manager.exclude(pk__in=known).get()
        ids = {"object_id": c.resource.id_of(begun)}
        (entry,) = AuditEntry.objects.filter(action=f"{c.resource.key}.create", **where, **ids)
        assert (entry.actor, entry.object_name) == (who, c.resource.name_of(begun))
    made = c.sample.make(c.world, "traced")
    if "edit" in c.resource.verbs and c.sample.edit:
        client.post(c.resource.url(made, "edit"), {
            **_shown(client.get(c.resource.url(made, "edit"))), **c.sample.edit,
        })  # fmt: skip
        (entry,) = AuditEntry.objects.filter(action=f"{c.resource.key}.edit", **where)
        assert (entry.actor, entry.object_id) == (who, c.resource.id_of(made))
        assert all({"from", "to"} == set(change) for change in entry.detail.values()
                   if isinstance(change, dict))  # fmt: skip
        assert entry.detail
    if "delete" in c.resource.verbs:
        posted = {"name": c.resource.name_of(made)}
        answer = client.post(c.resource.url(stored_now(made), "delete"), posted)
        assert answer.status_code == 302, answer.status_code
        (entry,) = AuditEntry.objects.filter(action=f"{c.resource.key}.delete", **where)
        assert (entry.actor, entry.object_id) == (who, c.resource.id_of(made))


@check(_no_wire)
def asked_lists(c: Context) -> None:
    """Search, sort and pages; what is not known of a query is refused by the API."""
    for number in range(3):
        c.sample.make(c.world, f"listed-{number}")
    table, wire = c.resource.table, c.resource.wire
    assert wire is not None
    everything = len(c.api_rows(""))
    for one in table.filters:
        for order in ("asc", "desc") if one.wire else ():
            assert len(c.api_rows(f"?sortBy={one.wire}&sortOrder={order}")) == everything
    if wire.is_paged and wire.envelope:
        first = c.api("administrator", "GET", "?limit=2").json()
        assert len(first[wire.envelope]) == 2
        assert first["next"] == 2
    for query in (
        "?colour=red",
        "?sortBy=colour",
        "?limit=0",
        "?filterBy=colour==red",
        "?offset=-1",
    ):
        assert c.api("administrator", "GET", query).status_code == 400, query


@check()
def statements_do_not_grow(c: Context) -> None:
    """Page, CSV and API ask as many statements for many rows as for a few, whoever asks."""
    few, many = 3, 9
    people = ("administrator", "head")
    sent: list[dict[str, list[str]]] = []
    for size in (few, many):
        while c.resource.visible(c.world.people["administrator"]).count() < size:
            made = c.sample.make(c.world, f"row-{c.count()}")
            if c.sample.used:
                c.sample.used(c.world, made)
        sent.append({})
        for person in people:
            for way, ask in _ways_to_list(c, person).items():
                if size == few:
                    ask()  # what is read once per process is read now
                with CaptureQueriesContext(connection) as captured:
                    ask()
                sent[-1][f"{way} of {person}"] = [q["sql"][:200] for q in captured]
    for way, of_few in sent[0].items():
        of_many = sent[1][way]
        more = Counter(of_many) - Counter(of_few)
        assert len(of_many) <= len(of_few), (way, *more)


def _ways_to_list(c: Context, person: str) -> dict[str, Callable[[], Any]]:
    page, url = c.page(person), c.resource.list_url()
    ways: dict[str, Callable[[], Any]] = {
        "page": lambda: page.get(url),
        "csv": lambda: _csv(page.get(f"{url}.csv")),
    }
    return ways | ({"api": lambda: c.api_rows("", person)} if c.resource.wire else {})


@check(lambda r, s: "" if s.secret_field else "no field is secret")
def secrets_stay(c: Context) -> None:
    """The value of a secret field stands in no page, answer, export or audit entry."""
    canary = "c4n4ry-x1"
    assert c.sample.form
    client = c.page("administrator")
    values = c.sample.form(c.world, "silent")
    assert canary in values.values()
    answer = client.post(f"{c.resource.list_url()}/new", values)
    assert answer.status_code == 302
    made = c.resource.model._default_manager.order_by("-pk").first()
    refused = client.post(f"{c.resource.list_url()}/new", {**values, c.sample.name_field: ""})
    texts = [
        refused.content.decode(),
        client.get(c.resource.list_url()).content.decode(),
        client.get(c.resource.url(made)).content.decode(),
        client.get(c.resource.url(made, "edit")).content.decode(),
        client.get(c.resource.url(made, "copy")).content.decode() if c.resource.can_copy else "",
        str(_csv(client.get(f"{c.resource.list_url()}.csv"))),
        str(list(AuditEntry.objects.values_list("detail", flat=True))),
        json.dumps(c.api_rows("")) if c.resource.wire else "",
    ]
    assert not [text for text in texts if canary in text]


@check(lambda r, s: "" if s.used else "nothing uses it")
def in_use(c: Context) -> None:
    """Deletion is refused while something uses the object, which is named."""
    assert c.sample.used
    made = c.sample.make(c.world, "needed")
    name = c.sample.used(c.world, made)
    page = c.page("administrator").post(
        c.resource.url(made, "delete"), {"name": c.resource.name_of(made)}
    )
    assert page.status_code == 409
    assert name in page.content.decode()
    if c.resource.wire and "delete" in c.resource.wire.methods:
        answer = c.api("administrator", "DELETE", f"/{c.resource.id_of(made)}")
        assert answer.status_code == c.resource.wire.in_use
        assert name in answer.json()["details"]
    assert stored_now(made).pk == made.pk


def _csv(answer: Any) -> list[list[str]]:
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


def stored_now(obj: Any) -> Any:
    return type(obj)._default_manager.get(pk=obj.pk)


def _another(edit: Any) -> dict[str, str]:
    field, text = next(iter(edit.items()))
    return {field: f"{text}1"}


def _shown(page: Any) -> dict[str, str]:
    """What a browser would post back from the form of a page."""
    form = page.context["form"]
    found: dict[str, Any] = {}
    for bound in form:
        value = bound.value()
        unchosen = not value and isinstance(bound.field, MultipleChoiceField)
        if bound.field.disabled or value is None or value is False or unchosen:
            continue
        found[bound.html_name] = (
            [str(v) for v in value]
            if isinstance(value, list | tuple)
            else "on"
            if value is True
            else str(value)
        )
    return found


def errors_of(answer: Any) -> Any:
    return answer.context["form"].errors if answer.context else answer.status_code
