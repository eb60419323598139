"""Every resource of the product: addresses, navigation and what uses what come from here."""

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import Model, QuerySet

from gangline.accounts.models import User
from gangline.audit import actions
from gangline.tables import saved
from gangline.web import navigation

from . import yaml_tab
from .resource import Panel, Resource, Usage

SHOWN = 10
"""So many users of an object are named; the rest is counted."""

EVERY = "*"
_resources: dict[str, Resource[Any]] = {}
_usages: dict[type[Model], list[Callable[[Any], "Uses"]]] = {}
_panels: dict[str, list[Panel]] = {}


class Uses:
    """Rows that use an object; ``visible`` narrows them to what a person may see.

    ``blocks``: the object is not deleted meanwhile.
    """

    def __init__(
        self,
        noun: str,
        rows: QuerySet[Any],
        visible: Callable[[User], QuerySet[Any]],
        url: Callable[[Any], str],
        *,
        blocks: bool = True,
    ) -> None:
        self.noun, self.rows, self.visible, self.url = noun, rows, visible, url
        self.blocks = blocks


def register(resource: Resource[Any]) -> None:
    """Make a resource part of the product."""
    if resource.key in _resources:
        raise ValueError(f"there is a resource {resource.key} already")
    _resources[resource.key] = resource
    saved.register(resource.table, f"{resource.key}-list")
    word = str(resource.model._meta.verbose_name)
    actions.register(resource.key, resource.verbs - {"view"}, word)
    if resource.nav is not None:
        navigation.add(
            navigation.NavItem(
                resource.labels,
                f"{resource.key}-list",
                resource.nav.icon,
                group=resource.nav.group,
                order=resource.nav.order,
                permission=None if resource.own_path else resource.permission("view"),
            )
        )


def resources() -> Iterator[Resource[Any]]:
    """All of them, in the order of their registration."""
    return iter(_resources.values())


def get(key: str) -> Resource[Any]:
    return _resources[key]


def resource_of(obj: Model) -> Resource[Any] | None:
    """The resource whose model this is an object of."""
    return next((one for one in _resources.values() if type(obj) is one.model), None)


def register_usage(model: type[Model], uses: Callable[[Any], Uses]) -> None:
    """Let a higher app say what of it uses an object of ``model``."""
    _usages.setdefault(model, []).append(uses)


def uses(obj: Model, model: type[Model] | None = None) -> Iterator[Uses]:
    """What may use the object; ``model``: of which it is one, where it was read as another."""
    for one in _usages.get(model or type(obj), ()):
        yield one(obj)


def usages(obj: Model, user: User | None, *, blocking: bool = False) -> list[Usage]:
    """What uses the object, named as far as ``user`` may see it (None: the system, all).

    ``blocking``: only what keeps it from being deleted.
    """
    found = []
    for one in uses(obj):
        if blocking and not one.blocks:
            continue
        total = one.rows.count()
        if total:
            rows = one.rows if user is None else one.rows.filter(pk__in=one.visible(user))
            shown = [(str(row), one.url(row)) for row in rows[:SHOWN]]
            found.append(Usage(one.noun, shown, hidden=total - len(shown)))
    return found


def register_panel(key: str, panel: Panel) -> None:
    """Let a higher app add a panel to the detail page of a resource, or of `EVERY` one."""
    _panels.setdefault(key, []).append(panel)


def panels(resource: Resource[Any]) -> list[Panel]:
    own = [*resource.panels, *([yaml_tab.panel_of(resource)] if resource.shows_yaml else [])]
    return [*own, *_panels.get(resource.key, ()), *_panels.get(EVERY, ())]
