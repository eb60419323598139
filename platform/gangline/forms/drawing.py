"""Fields drawn as HTML. A form has sixty, and hundreds of rows: their templates are compiled.

`templates/forms/*.jinja` are sets of macros; every other template is Django's, and takes them by
the tags `{% field %}`, `{% form_line %}` and `{% form_section %}`.
"""

from collections.abc import Sequence
from functools import cache

from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gangline.lib.paths import RESOURCES
from gangline.web import components

from .fields import FieldView, SectionView


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(RESOURCES / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    found.globals |= {"icon": components.icon, "chip": components.chip}
    found.filters["capfirst"] = capfirst
    return found


def _draw(file: str, macro: str, *arguments: object) -> SafeString:
    module = _environment().get_template(f"forms/{file}.jinja").module
    html: str = getattr(module, macro)(*arguments)
    # Strings of the template are as they stand there, and everything else is escaped.
    return mark_safe(html.strip())  # noqa: S308


def field(view: FieldView, *, applies: bool = False) -> SafeString:
    """One field. ``applies``: the page depends on what is chosen in it."""
    return _draw("fields", "draw_field", view, applies)


def line(views: Sequence[FieldView]) -> SafeString:
    """Fields side by side, or a wide one."""
    return _draw("fields", "draw_line", views)


def section(view: SectionView) -> SafeString:
    """A part of a step, with what is folded away in it."""
    return _draw("fields", "draw_section", view)


def advanced(view: SectionView) -> SafeString:
    """What is folded away in a section; nothing if nothing is."""
    return _draw("fields", "advanced", view)


def echo(view: FieldView) -> SafeString:
    """What the control comes to."""
    return _draw("parts", "echo", view)


def told(view: FieldView) -> SafeString:
    """What is wrong with it, or may disappoint."""
    return _draw("parts", "told", view)


def chips(view: FieldView) -> SafeString:
    """What stands beside its label."""
    return _draw("parts", "chips", view)
