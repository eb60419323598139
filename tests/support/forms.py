"""A person who fills in the form without scripts: posts what a browser would, and reads pages."""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from gangline.db.clock import db_now
from tests.support.world import IMAGE, World
from workloads.models import Draft

VOID = frozenset({"input", "meta", "link", "br", "use", "img", "hr"})


@dataclass
class Element:
    """One element with its attributes and everything said inside it."""

    tag: str
    attributes: dict[str, str]
    words: list[str] = field(default_factory=list)
    inside: list["Element"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def raw(self) -> str:
        """The same with every space and line break."""
        return "".join(self.words)


class Page(HTMLParser):
    """What a page holds, found by id, test id or control name."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        for outer in self._open:
            outer.inside.append(element)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for outer in self._open:
            outer.words.append(data)

    def all(self, **attributes: str) -> list[Element]:
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [e for e in self.elements if wanted.items() <= e.attributes.items()]

    def one(self, **attributes: str) -> Element:
        found = self.all(**attributes)
        assert len(found) == 1, f"{len(found)} elements have {attributes}"
        return found[0]

    def has(self, **attributes: str) -> bool:
        return bool(self.all(**attributes))

    @property
    def title(self) -> str:
        return next(e.text for e in self.elements if e.tag == "title")

    @property
    def links(self) -> list[str]:
        """Where the error summary leads."""
        return [e.attributes["href"].lstrip("#") for e in self.all(**{"class": "errors-link"})]

    def fields(self, **form_of: str) -> list[tuple[str, str]]:
        """Names and values that a browser would send with the form: that of the step, if no
        attributes say which."""
        form = self.one(**(form_of or {"id": "wizard-form"}))
        pairs = []
        for element in form.inside:
            name = element.attributes.get("name", "")
            if not name or "disabled" in element.attributes or element.tag == "button":
                continue
            if element.tag == "select":
                pairs.append((name, _chosen(element)))
            elif element.tag == "input" and _is_sent(element):
                pairs.append((name, element.attributes.get("value", "on")))
            elif element.tag == "textarea":
                pairs.append((name, element.raw.removeprefix("\n")))
        return pairs

    def value(self, name: str) -> str:
        """What the control called ``name`` holds."""
        return next((value for key, value in self.fields() if key == name), "")


def _is_sent(element: Element) -> bool:
    kind = element.attributes.get("type", "text")
    return kind not in ("radio", "checkbox") or "checked" in element.attributes


def _chosen(element: Element) -> str:
    options = [e for e in element.inside if e.tag == "option"]
    chosen = [e for e in options if "selected" in e.attributes] or options[:1]
    return chosen[0].attributes.get("value", chosen[0].text) if chosen else ""


@dataclass
class Answer:
    """The answer to one request."""

    status: int
    location: str
    page: Page
    response: Any


class Filler:
    """One signed-in person in one tab."""

    def __init__(self, world: World, person: str = "researcher-vision", tab: str = "") -> None:
        self.world, self.person, self.tab = world, person, tab
        self.client = Client()
        self.client.force_login(world.people[person])
        session = self.client.session
        session["started_at"] = session["seen_at"] = int(time.time())
        session.save()
        self.draft = uuid.uuid4()

    def url(self, step: str) -> str:
        return f"/workloads/new/{self.draft}/{step}"

    def get(self, step: str, **query: str) -> Answer:
        return _answer(self.client.get(self.url(step), query))

    def post(
        self,
        step: str,
        changes: Mapping[str, Any] | None = None,
        *,
        go: str = "",
        page: Page | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send the step as it is shown, or as ``page`` shows it; None takes a control away."""
        shown = page or self.get(step).page
        changes = dict(changes or {})
        pairs = [(n, v) for n, v in shown.fields() if n not in changes and n != "_tab"]
        pairs += [(n, v) for n, v in changes.items() if v is not None]
        pairs.append(("_tab", self.tab))
        if go:
            pairs.append(("_go", go))
        action = next((e.attributes.get("action", "") for e in shown.all(id="wizard-form")), "")
        return self.send(step, pairs, headers=headers, query=action.partition("?")[2])

    def send(
        self,
        step: str,
        pairs: Sequence[tuple[str, str]],
        *,
        headers: Mapping[str, str] | None = None,
        query: str = "",
    ) -> Answer:
        """Post exactly these pairs."""
        return _answer(
            self.client.post(
                f"{self.url(step)}?{query}",
                urlencode(pairs, doseq=True),
                content_type="application/x-www-form-urlencoded",
                headers=dict(headers or {}),
            )
        )

    def ready(self) -> None:
        """A draft that can be created, stored at once."""
        setup = {
            "name": "digits",
            "projectId": str(self.world.vision.pk),
            "distributedFramework": "XGBoost",
        }
        workers = {"image": IMAGE, "command": "python train.py"}
        now = db_now()
        Draft.objects.create(
            id=self.draft,
            owner=self.world.people[self.person],
            inputs={
                "setup": {name: {"text": text} for name, text in setup.items()},
                "workers": {path: {"text": text} for path, text in workers.items()},
            },
            created_at=now,
            updated_at=now,
        )

    def fill(self, **changes: str) -> None:
        """All steps filled in so that the draft can be created; ``changes`` are of Set-up."""
        setup = {"workload.name": "digits", "workload.projectId": str(self.world.vision.pk)}
        setup |= {f"workload.{name}": value for name, value in changes.items()}
        assert self.post("setup", setup).status == 303
        workers = {"worker.image": IMAGE, "worker.command": "python train.py"}
        answer = self.post("workers", workers)
        assert answer.status == 303, answer.page.links


def _answer(response: Any) -> Answer:
    html = response.content.decode() if "html" in response.headers.get("Content-Type", "") else ""
    return Answer(response.status_code, response.headers.get("Location", ""), Page(html), response)
