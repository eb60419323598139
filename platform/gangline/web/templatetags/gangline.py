"""The components as tags. Each draws `templates/components/…` or a function of `web.components`."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from django import template
from django.template import loader
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from gangline.lib import program as gangline_program
from gangline.web import components, formats

register = template.Library()

_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=\.)")
TONE_ICONS = {
    "info": "info-circle",
    "good": "circle-check",
    "warn": "alert-triangle",
    "bad": "alert-octagon",
    "neutral": "info-circle",
}


def _draw(component: str, /, **context: object) -> SafeString:
    html = loader.get_template(f"components/{component}.html").render(context)
    return mark_safe(html.strip())  # noqa: S308 - a rendered template


@register.simple_tag
def icon(name: str, label: str = "", css: str = "icon") -> SafeString:
    """{% icon "plus" %}; with a label it is an image with that name."""
    return components.icon(name, label, css)


@register.simple_tag
def status(value: components.Status, reason: str = "", badge: str = "") -> SafeString:
    """{% status row.status row.reason %}"""
    return components.status(value, reason, badge=badge)


@register.simple_tag
def gang(
    pods: Sequence[bool] | None = None,
    ready: int | None = None,
    total: int | None = None,
    lead: bool = False,
    tone: str = "neutral",
) -> SafeString:
    """{% gang ready=4 total=5 lead=True tone="warn" %} or {% gang pods lead=True tone=… %}"""
    return components.gang(pods, ready=ready, total=total, lead=lead, tone=tone)


@register.simple_tag
def pod_grid(cells: Sequence[tuple[str, str, components.Status]]) -> SafeString:
    """{% pod_grid cells %}: (name, address, status) per pod."""
    return components.pod_grid(cells)


@register.simple_tag
def chip(text: object, kind: str = "", icon: str = "") -> SafeString:
    """{% chip "project vision" %}, {% chip "policy" "policy" %}, {% chip "3" "bad" %}"""
    return components.chip(str(text), kind, icon)


@register.simple_tag
def progress(value: float, maximum: float, label: str, tone: str = "") -> SafeString:
    """{% progress 15 20 "Epochs" %}"""
    return components.progress(value, maximum, label, tone)


# A variable that a template does not have reaches a tag as "": it is drawn as nothing known.
@register.simple_tag
def time_ago(moment: datetime | Literal[""] | None) -> SafeString:
    """{% time_ago workload.created_at %}"""
    return components.time_ago(moment or None)


@register.simple_tag
def duration(seconds: float | timedelta | Literal[""] | None, coarse: bool = False) -> str:
    """{% duration 3840 %} → 1 h 04 min"""
    return formats.duration(None if seconds == "" else seconds, coarse=coarse)


@register.simple_tag(name="bytes")
def bytes_(count: int | Literal[""] | None, exact: bool = False) -> str:
    """{% bytes 32000000000 %} → 32 GB; exact=True writes every byte."""
    return formats.size(None if count == "" else count, exact=exact)


@register.simple_block_tag
def panel(
    content: str, title: str = "", text: str = "", pad: bool = True, label: str = "", id: str = ""
) -> SafeString:
    """{% panel title="Timeline" %}…{% endpanel %}: a section of a page."""
    return _draw("panel", content=content, title=title, text=text, pad=pad, label=label, id=id)


@register.simple_block_tag
def toolbar(content: str, title: str = "") -> SafeString:
    """{% toolbar title="Pods" %}…{% endtoolbar %}: the head of a panel of rows."""
    return _draw("toolbar", content=content, title=title)


@register.simple_block_tag
def note(
    content: str, title: str = "", tone: str = "info", icon: str = "", slim: bool = False
) -> SafeString:
    """{% note title="worker-2 failed first" tone="bad" %}<p>…</p>{% endnote %}"""
    return _draw(
        "note", content=content, title=title, tone=tone, icon=icon or TONE_ICONS[tone], slim=slim
    )


@register.simple_block_tag
def banner(content: str, tone: str = "info", icon: str = "") -> SafeString:
    """{% banner tone="warn" %}Cluster lab did not answer.{% endbanner %}"""
    return _draw("banner", content=content, tone=tone, icon=icon or TONE_ICONS[tone])


@register.simple_block_tag
def empty(content: str, title: str = "", art: bool = True, slim: bool = False) -> SafeString:
    """{% empty title="No workloads yet" %}<p>…</p><div class="buttons">…</div>{% endempty %}"""
    return _draw("empty", content=content, title=title, art=art, slim=slim)


@register.simple_block_tag
def tabs(content: str, label: str = "") -> SafeString:
    """{% tabs label="Workload" %}{% tab "Pods" url current=True %}{% endtabs %}"""
    return format_html('<nav class="tabs" aria-label="{}">{}</nav>', label, content)


@register.simple_tag
def tab(text: str, url: str, current: bool = False, count: object = None) -> SafeString:
    """One tab: a link to a page of the same object."""
    return format_html(
        '<a href="{}"{}>{}{}</a>',
        url,
        mark_safe(' aria-current="page"') if current else "",
        text,
        "" if count is None else format_html(' <span class="tabs-count">{}</span>', count),
    )


@register.simple_tag
def crumbs(*parts: str) -> SafeString:
    """{% crumbs "Workloads" list_url "digits-ddp" %}: words with addresses, the last without."""
    pairs = list(zip(parts[::2], [*parts[1::2], ""], strict=False))
    return _draw("crumbs", parts=pairs)


@register.simple_block_tag
def dialog(content: str, id: str = "", title: str = "") -> SafeString:
    """{% dialog id="why" title="Why?" %}…{% enddialog %}; open it with {% opens "why" %}."""
    return _draw("dialog", content=content, id=id, title=title)


@register.simple_tag
def opens(id: str) -> SafeString:
    """Attributes of a button that opens the dialog of this id."""
    return format_html('type="button" command="show-modal" commandfor="{}"', id)


@register.simple_block_tag
def menu(
    content: str,
    id: str = "",
    label: str = "",
    text: str = "",
    icon: str = "dots",
    css: str = "button ghost small icon-only",
    side: str = "end",
) -> SafeString:
    """{% menu id="m-7" label="Actions for digits" %}{% menu_link … %}{% endmenu %}"""
    return _draw(
        "menu", content=content, id=id, label=label, text=text, icon=icon, css=css, side=side
    )


@register.simple_tag
def menu_link(
    url: str, label: str, icon: str = "", danger: bool = False, confirm: bool = False
) -> SafeString:
    """A link in a menu; confirm=True shows the page it leads to as a dialog."""
    return _draw("menu_link", url=url, label=label, icon=icon, danger=danger, confirm=confirm)


@register.simple_tag
def menu_button(
    label: str,
    icon: str = "",
    name: str = "",
    value: str = "",
    action: str = "",
    danger: bool = False,
    pressed: bool | None = None,
) -> SafeString:
    """A submit button in a menu; action sends the form around it elsewhere."""
    return _draw(
        "menu_button",
        label=label,
        icon=icon,
        name=name,
        value=value,
        action=action,
        danger=danger,
        pressed=pressed,
    )


@register.filter
def breakable(name: str) -> SafeString:
    """{{ field.path|breakable }}: the name of a field, which may break between its words alone."""
    parts = ((part,) for part in _BETWEEN_WORDS.split(name))
    return format_html_join(mark_safe("<wbr>"), "{}", parts)


@register.filter
def command_line(text: object) -> SafeString:
    """{{ line.value|command_line }}: as code, whose options stay whole."""
    return components.command_line(str(text))


@register.simple_tag
def program() -> str:
    """{% program %}: how `gangline-manage` is called on the machine that serves this page."""
    return gangline_program.program()


@register.simple_tag
def toast(text: str, tone: str = "good", until: str = "") -> SafeString:
    """{% toast "Workload digits created." %}; errors (tone bad) stay until closed.

    ``until`` is the id of a workload and the status in which the message is out of date.
    """
    icon = TONE_ICONS.get(tone, "info-circle")
    return _draw("toast", text=text, tone=tone, icon=icon, until=until)


@register.simple_tag
def message_tone(level_tag: str) -> str:
    """The tone of a Django message."""
    return {"success": "good", "error": "bad", "warning": "warn"}.get(level_tag, "info")


@register.simple_tag
def problem_summary(problems: Sequence[Any], title: str = "") -> SafeString:
    """{% problem_summary problems %}: each has `text` and `target`, the id of its field."""
    if not problems:
        return SafeString("")
    count = len(problems)
    heading = title or ("There is a problem" if count == 1 else f"There are {count} problems")
    return _draw("problem_summary", problems=problems, heading=heading)


@register.simple_tag
def stepper(steps: Sequence[Any], label: str = "Steps") -> SafeString:
    """{% stepper steps %}: each has word, value, is_current, is_done, problems, sections."""
    return _draw("stepper", steps=steps, label=label)


@register.simple_block_tag
def code(content: str, title: str = "", flush: bool = False, label: str = "") -> SafeString:
    """{% code title="curl" %}…{% endcode %}: text to copy word for word."""
    text = mark_safe(content.strip("\n"))  # noqa: S308 - a rendered block
    return _draw("code", content=text, title=title, flush=flush, label=label)


@register.simple_tag
def copy(text: str, label: str = "Copy") -> SafeString:
    """{% copy token "Copy the token" %}: a button that only scripts can press."""
    return _draw("copy", text=text, label=label)


@register.simple_tag
def live_indicator(state: str = "live") -> SafeString:
    """{% live_indicator %}: scripts set data-state; see static/js/live-table.js."""
    return _draw("live_indicator", state=state)
