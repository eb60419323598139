"""Takes pages as they stand, in both themes and widths, for `docs/screens/`."""

from pathlib import Path
from typing import Literal

from playwright.sync_api import FloatRect, Locator, Page

from scripts.palette import shrink

TARGET = Path(__file__).resolve().parent.parent / "docs" / "screens"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = {1440: 900, 390: 844}
TALLEST = 3600
AROUND = 12
SETTLED = """Promise.allSettled(document.getAnimations()
  .filter((one) => one instanceof CSSTransition).map((one) => one.finished))"""
"""Colours that follow the theme slowly have arrived."""
FLOATS = "dialog[open], [popover]:popover-open, .log.tall"


class Camera:
    """Takes a page as it stands in every theme and width."""

    def __init__(self, wanted: list[str], engine: Page) -> None:
        self.wanted, self.engine, self.taken = wanted, engine, 0

    def wants(self, *names: str) -> bool:
        return not self.wanted or any(name in self.wanted for name in names)

    def take(self, page: Page, name: str, part: Locator | None = None) -> None:
        """``part``: only this one of a long page."""
        if not self.wants(name):
            return
        page.wait_for_load_state("load")
        for width, height in WIDTHS.items():
            self._fit(page, width, height, 3 * TALLEST if part else TALLEST)
            for theme in THEMES:
                page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                page.evaluate("document.fonts.ready")
                page.evaluate(SETTLED)
                whole = page.screenshot(clip=_around(part), full_page=part is not None)
                picture = shrink(whole, self.engine)
                (TARGET / f"{name}-{theme}-{width}.png").write_bytes(picture)
                self.taken += 1
        page.set_viewport_size({"width": 1440, "height": WIDTHS[1440]})

    @staticmethod
    def _fit(page: Page, width: int, height: int, tallest: int) -> None:
        """A window as tall as the page, unless something floats over it."""
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
        if not page.locator(FLOATS).count():
            tall = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": min(max(tall, height), tallest)})


def _around(part: Locator | None) -> FloatRect | None:
    """Where a part stands, with some of what is around it."""
    box = part.bounding_box() if part else None
    if box is None:
        return None
    return {
        "x": max(box["x"] - AROUND, 0),
        "y": max(box["y"] - AROUND, 0),
        "width": box["width"] + 2 * AROUND,
        "height": box["height"] + 2 * AROUND,
    }
