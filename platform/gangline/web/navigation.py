"""The places of the product, and what every page needs to draw its shell."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from gangline import __version__
from gangline.access.grants import held_anywhere
from gangline.access.notices import notices_for
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.settings.catalogue import NAME, NOTICE, Declared
from gangline.settings.values import value_of
from gangline.web import components

THEMES = ("light", "dark", "system")
THEME_COOKIE = "gangline_theme"


@dataclass(frozen=True, slots=True)
class NavItem:
    """One place: its word, the name of its address, its icon."""

    label: str
    url_name: str
    icon: str
    group: str = ""
    """Heading that it stands under; empty: none."""
    order: int = 0
    permission: Permission | None = None
    """Shown to who holds it anywhere; None: to everyone."""


@dataclass(frozen=True, slots=True)
class NavLink:
    """A place as this request sees it."""

    label: str
    url: str
    icon: str
    is_current: bool
    group: str = ""
    attention: str = ""
    """How many there need a person, in words; empty: none."""


_CURRENT = SafeString(' aria-current="page"')
GROUPS = ("", "Assets", "Organisation", "Infrastructure", "Access", "Settings")
"""Headings of the navigation in their order."""
_places = [
    NavItem("Home", "home", "home"),
    NavItem("Workloads", "workload-list", "list-details", order=1),
    NavItem("Policies", "policy-list", "shield-check", group="Organisation", order=30),
    NavItem("Clusters", "cluster-list", "server", group="Infrastructure", order=10),
    NavItem(
        "Settings", "settings", "settings", group="Settings", permission=Permission.SETTING_VIEW
    ),
]


def add(item: NavItem) -> None:
    """Show one more place."""
    _places.append(item)
    _places.sort(key=lambda one: (GROUPS.index(one.group), one.order))


_attention: dict[str, Callable[[User], str]] = {}


def count_attention(url_name: str, count: Callable[[User], str]) -> None:
    """Show beside the place how many there need a person."""
    _attention[url_name] = count


def links(request: HttpRequest) -> list[NavLink]:
    """The places that this person may see, in order; one without an address is left out."""
    user = request.user if isinstance(request.user, User) else None
    held = held_anywhere(user) if user else frozenset()
    found: list[tuple[NavItem, str]] = []
    for item in _places:
        if item.permission is not None and item.permission not in held:
            continue
        try:
            url = reverse(item.url_name)
        except NoReverseMatch:
            continue
        found.append((item, url))
    here = _current([url for _, url in found], request.path)
    return [
        NavLink(item.label, url, item.icon, url == here, item.group, _needed(user, item, url, here))
        for item, url in found
    ]


def _needed(user: User | None, item: NavItem, url: str, here: str) -> str:
    """Where the person is, the page itself counts, and goes on counting."""
    count = _attention.get(item.url_name)
    return count(user) if user and count and url != here else ""


def rail(request: HttpRequest) -> SafeString:
    """The places that this person may see, drawn."""
    return _rail(tuple(links(request)), components.sprite())


_COUNT = (
    '<span class="rail-count" title="{} need attention">{}<span class="sr"> need attention</span>'
    "</span>"
)


@lru_cache(maxsize=256)
def _rail(places: tuple[NavLink, ...], sprite_url: str) -> SafeString:
    """The places under their headings; the same for everybody who may see the same."""
    return format_html_join(
        "\n",
        '<div>{}<ul class="rail-list">{}</ul></div>',
        (
            (
                format_html('<h2 class="rail-group">{}</h2>', group) if group else "",
                format_html_join(
                    "\n",
                    '<li><a class="rail-link" href="{}"{}>{}{}{}</a></li>',
                    (
                        (
                            place.url,
                            _CURRENT if place.is_current else "",
                            components.icon(place.icon),
                            place.label,
                            format_html(_COUNT, *[place.attention] * 2) if place.attention else "",
                        )
                        for place in members
                    ),
                ),
            )
            for group, members in groupby(places, key=lambda place: place.group)
        ),
    )


def _current(urls: list[str], path: str) -> str:
    """The longest address that the path lies under; the root matches itself only."""
    under = [
        url
        for url in urls
        if path == url or (url != "/" and path.startswith(url.rstrip("/") + "/"))
    ]
    return max(under, key=len, default="")


def _shown(setting: Declared[str]) -> str:
    """A page that could be drawn until here is worth more than its name and notice."""
    try:
        return value_of(setting)
    except DatabaseError:
        return setting.default


def theme_of(request: HttpRequest) -> str:
    """The theme this browser asked for, or `system`."""
    theme = request.COOKIES.get(THEME_COOKIE, "system")
    return theme if theme in THEMES else "system"


def context(request: HttpRequest) -> dict[str, object]:
    """Context processor of the shell: places, banners, theme, version."""
    user = getattr(request, "user", None)
    signed_in = bool(user is not None and user.is_authenticated)
    return {
        # Lazy: parts of pages have no navigation.
        "rail": SimpleLazyObject(lambda: rail(request)) if signed_in else "",
        # Lazy: parts of pages have no banners, and should not ask for them.
        "system_notices": SimpleLazyObject(lambda: notices_for(request)) if signed_in else [],
        "theme": theme_of(request),
        "product_name": SimpleLazyObject(lambda: _shown(NAME)),
        "general_notice": SimpleLazyObject(lambda: _shown(NOTICE)) if signed_in else "",
        "gangline_version": __version__,
    }
