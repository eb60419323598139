"""What must hold on every screen, in every state: one helper that every browser test may call."""

import re
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import urlsplit
from zlib import crc32

from playwright.sync_api import Page

from tests.support.examples import IS_THOROUGH

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
WIDTHS = (1440, 390)
NARROWEST = 320
SMALLEST_TARGET = 24
# Colours of what still fades in are nobody's: finite animations are brought to their end first.
_RUN = """async ([source, tags]) => {
  if (!window.axe) (0, eval)(source);
  for (const one of document.getAnimations()) {
    if (Number.isFinite(one.effect.getComputedTiming().endTime)) one.finish();
  }
  const found = await axe.run(document, {runOnly: tags, resultTypes: ["violations"]});
  return found.violations.flatMap((v) => v.nodes.map((n) =>
    `${v.id}: ${n.html.slice(0, 200)} ${(n.failureSummary ?? "").slice(0, 200)}`));
}"""
# SC 2.5.8: links inside a sentence are exempt; a small box may count the room around it.
_SMALL = """(least) => { const reach = (e) => {
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    const spare = e.type === "checkbox" ? 2 * parseFloat(style.marginTop) : 0;
    return {width: box.width + spare, height: box.height + spare};
  };
  return [...document.querySelectorAll("a[href], button, input, select, summary")]
  .filter((e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true}))
  .filter((e) => !e.closest("p, dd, li > span, .note-body p, .events-text, .skip, .sr"))
  .filter((e) => !(e.type === "radio" || e.type === "checkbox") || !e.closest("label"))
  .map((e) => [e, reach(e)])
  .filter(([, box]) => box.width > 1 && Math.min(box.width, box.height) < least - 0.01)
  .map(([e, box]) => `${e.outerHTML.slice(0, 120)} ${box.width}×${box.height}`); }"""


class Watch:
    """What a page complained about: console errors, exceptions, requests to other hosts."""

    _all: ClassVar[dict[int, "Watch"]] = {}

    def __init__(self, page: Page) -> None:
        self.lines: list[str] = []
        self.allowed: set[str] = set()
        self.requests: list[str] = []
        self._hosts = {""}
        page.on("console", lambda m: self._say(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self._say(str(error)))
        page.on("request", lambda request: self._requested(page, request.url))
        page.on("close", self._forget)

    @classmethod
    def of(cls, page: Page) -> "Watch":
        return cls._all.setdefault(id(page), cls(page))

    def allow(self, words: str) -> None:
        """The browser itself reports what this test provokes, such as an answer 422."""
        self.allowed.add(words)

    @staticmethod
    def _forget(page: Page) -> None:
        Watch._all.pop(id(page), None)

    def _say(self, text: str) -> None:
        if not any(words in text for words in self.allowed):
            self.lines.append(text)

    def _requested(self, page: Page, url: str) -> None:
        self.requests.append(url)
        host, own = urlsplit(url).netloc, urlsplit(page.url).netloc
        if host and own and host != own and not url.startswith(("data:", "blob:")):
            self.lines.append(f"request to another host: {url}")


def watch(page: Page) -> Watch:
    """Begin to take down what the page complains about."""
    found = Watch.of(page)
    for status in ("422", "403", "404", "410", "429"):
        found.allow(f"the server responded with a status of {status}")
    return found


_LOST = """() => {
  const here = document.querySelector(".rail [aria-current]");
  if (!here?.checkVisibility()) return false;
  const box = here.getBoundingClientRect();
  return box.top < 0 || box.bottom > document.querySelector(".top").getBoundingClientRect().top;
}"""
_LET_GO = """() => {
  window.stuck = [...document.querySelectorAll("main *")].filter(
    (one) => getComputedStyle(one).position === "sticky");
  for (const one of window.stuck) one.style.position = "static";
}"""
"""What a bar at the edge of the window lies over is not too small: it scrolls."""
_STICK = "() => { for (const one of window.stuck) one.style.position = ''; }"


def violations(page: Page) -> list[str]:
    """What axe finds on the page as it is now: rule, element and what would mend it."""
    _await_styles(page)
    page.evaluate(_LET_GO)
    found = list(page.evaluate(_RUN, [AXE, TAGS]))
    page.evaluate(_STICK)
    return found


def assert_screen(
    page: Page,
    name: str,
    *,
    themes: Sequence[Theme] = THEMES,
    widths: Sequence[int] = WIDTHS,
    is_signed_in: bool = True,
) -> None:
    """G01, G05, axe, reflow and targets of what is shown now, wide in light, narrow in dark.

    In `make test` axe, which takes most of the time, looks at one of the two: half of the screens
    are judged in each.
    """
    _await_styles(page)
    problems = _structure(page, is_signed_in)
    before = page.viewport_size
    looks = list(zip(widths, cycle(themes), strict=False))
    judged = looks if IS_THOROUGH else [looks[crc32(name.encode()) % len(looks)]]
    for width, theme in looks:
        page.set_viewport_size({"width": width, "height": 900})
        problems += _wide(page, width)
        small = page.evaluate(_SMALL, SMALLEST_TARGET)
        problems += [f"{width} px: target is too small: {one}" for one in small]
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        if (width, theme) in judged:
            problems += [f"{theme} {width} px: {one}" for one in violations(page)]
    page.set_viewport_size({"width": NARROWEST, "height": 900})
    problems += _wide(page, NARROWEST)
    if before:
        page.set_viewport_size(before)
    page.emulate_media(color_scheme=None, reduced_motion=None)
    problems += Watch.of(page).lines
    assert not problems, f"{name}:\n" + "\n".join(dict.fromkeys(problems))


def _await_styles(page: Page) -> None:
    """Nobody sees a page before its style sheet has come, but a script can already measure it."""
    page.wait_for_load_state("load")


def _structure(page: Page, is_signed_in: bool) -> list[str]:
    """AC-G01."""
    problems = []
    for selector in ("h1", "main"):
        count = page.locator(selector).count()
        if count != 1:
            problems.append(f"there are {count} {selector}")
    if is_signed_in and not page.locator("nav[aria-label]").count():
        problems.append("there is no named nav")
    if page.evaluate(_LOST):
        problems.append("where one is is out of sight in the navigation")
    if not re.fullmatch(r"(Error: )?\S.* – Gangline", page.title()):
        problems.append(f"the title is {page.title()!r}")
    return problems


def _wide(page: Page, width: int) -> list[str]:
    over = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return [f"{width} px: the page is {over} px too wide"] if over > 0 else []
