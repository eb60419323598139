"""The audit log as a resource, and the last changes of an object on its own page."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from gangline.access.actor import actor_of
from gangline.access.grants import DEPTH, held_everywhere, holds, visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.audit import actions
from gangline.audit.models import AuditEntry
from gangline.resources.registry import EVERY, register, register_panel, resources
from gangline.resources.resource import Nav, Panel, Resource
from gangline.resources.tables import column, table
from gangline.tables import filters
from gangline.tables.cells import NONE
from gangline.tables.columns import Column
from gangline.web import components, formats

RESULTS = {"ok": "Succeeded", "denied": "Denied", "failed": "Failed"}
_TONES = {"ok": "", "denied": "warn", "failed": "bad"}
CHANNELS = {"form": "Browser", "api": "API", "cli": "Command", "yaml": "YAML", "system": "System"}
MOST_SCOPES = 500
RECENT = 5


@dataclass(frozen=True, slots=True)
class Change:
    """One field of an entry; ``before`` and ``after`` as text, empty where there was nothing."""

    field: str
    before: str
    after: str


def changes(entry: AuditEntry) -> Iterator[Change]:
    """Before and after of an edit; of a new object what it was made with, of a deleted what was."""
    is_deletion = entry.action.endswith(".delete")
    for name, value in entry.detail.items():
        if isinstance(value, dict) and set(value) == {"from", "to"}:
            yield Change(name, _as_text(value["from"]), _as_text(value["to"]))
        elif is_deletion:
            yield Change(name, _as_text(value), "")
        else:
            yield Change(name, "", _as_text(value))


def verb_of(entry: AuditEntry) -> str:
    return actions.in_words(entry.action)


def result_of(entry: AuditEntry) -> str:
    return RESULTS.get(entry.result, entry.result)


def channel_of(entry: AuditEntry) -> str:
    return CHANNELS.get(entry.channel, entry.channel)


def kind_of(entry: AuditEntry) -> str:
    return capfirst(actions.kind_in_words(entry.object_type))


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _time_cell(entry: AuditEntry) -> SafeString:
    url = reverse("audit-detail", args=[entry.pk])
    return format_html('<a class="name" href="{}">{}</a>', url, components.time_ago(entry.at))


def _object_cell(entry: AuditEntry) -> SafeString:
    name = entry.object_name or entry.object_id
    below = format_html('<span class="sub">{}</span>', kind_of(entry))
    return format_html("<span>{}</span>{}", name or formats.NOTHING, below)


def _result_cell(entry: AuditEntry) -> SafeString:
    return components.chip(result_of(entry), _TONES.get(entry.result, ""))


def _scope_text(entry: AuditEntry) -> str:
    return entry.scope.title if entry.scope else ""


def _at_or_below(values: Sequence[str], query: Any) -> Q:
    """Entries of these scopes and of what lies below them."""
    ids = [int(one) for one in values if one.isascii() and one.isdigit() and len(one) < 16]
    found = Q(pk__in=[])
    for n in range(DEPTH + 1):
        found |= Q(**{"__".join(["scope", *["parent"] * n, "in"]): ids})
    return found


def _of_type(values: Sequence[str], query: Any) -> Q:
    found = Q(pk__in=[])
    for one in values:
        found |= Q(action__startswith=f"{one}.")
    return found


class AuditLog(Resource[AuditEntry]):
    model = AuditEntry
    key = "audit"
    path = "settings/audit"
    lede = "Who did what, when and from where. Entries are never changed."
    empty_text = "Every change and every sign-in is recorded here."
    verbs = frozenset({"view"})
    nav = Nav(group="Settings", icon="history", order=90)
    related = ("scope",)
    table = table(
        "audit",
        Column("time", "Time", _time_cell, sort="at", text=lambda entry: entry.at,
               descends_first=True, is_fixed=True, width="m"),
        column("person", "Person", "actor_name", sort="actor_name", width="l"),
        column("action", "Action", "action", sort="action", cell=verb_of, text=verb_of,
               width="l"),
        column("object", "Object", "object_name", cell=_object_cell),
        Column("type", "Type", kind_of, text=kind_of, is_default=False),
        Column("id", "Object ID", lambda e: e.object_id, text=lambda e: e.object_id,
               is_default=False),
        Column("scope", "Scope", lambda e: _scope_text(e) or NONE, text=_scope_text,
               drops=2, is_named=True),
        column("result", "Result", "result", cell=_result_cell, text=result_of, width="m", drops=1),
        column("from", "From", "channel", cell=channel_of, text=channel_of, width="m", drops=3),
        column("reason", "Reason", "reason", is_default=False),
        column("address", "Address", "address", is_default=False),
        column("request", "Request", "request_id", is_default=False),
        noun=("entry", "entries"),
        default_sort="-time",
        search=("actor_name", "object_name", "action"),
        search_hint="Person, object or action",
        filters=(
            filters.text("person", "Person", "actor_name"),
            filters.choice("type", "Type", where=_of_type),
            filters.choice("action", "Action", "action"),
            filters.choice("result", "Result", "result", choices=list(RESULTS.items())),
            filters.dates("at", "Date", "at"),
            filters.choice("scope", "Scope", where=_at_or_below, is_main=False),
            filters.text("object", "Object", "object_name", is_main=False),
        ),
    )  # fmt: skip

    def visible(self, user: User) -> QuerySet[AuditEntry]:
        """All to who may see them for the whole installation, else those of their scopes."""
        if held_everywhere(user, Permission.AUDIT_VIEW):
            return AuditEntry.objects.all()
        return AuditEntry.objects.filter(holds(user, Permission.AUDIT_VIEW, "scope"))

    def choices(self, user: User) -> Mapping[str, Sequence[tuple[str, str]]]:
        names = actions.known()
        kinds = sorted({name.partition(".")[0] for name in names})
        scopes = visible_scopes(user, Permission.AUDIT_VIEW).order_by("kind", "name")
        return {
            "action": sorted(((one, actions.in_words(one)) for one in names), key=itemgetter(1)),
            "type": [(kind, capfirst(actions.kind_in_words(kind))) for kind in kinds],
            "scope": [(str(one.pk), one.title) for one in scopes[:MOST_SCOPES]],
        }

    def name_of(self, obj: AuditEntry) -> str:
        return f"{verb_of(obj)} {obj.object_name or kind_of(obj)}"

    def facts_of(self, request: HttpRequest, obj: AuditEntry) -> Iterable[tuple[str, Any]]:
        yield "Time", formats.absolute(obj.at)
        yield "Person", obj.actor_name
        yield "Action", obj.action
        yield kind_of(obj), obj.object_name or obj.object_id
        yield "Scope", _scope_text(obj)
        yield "Result", result_of(obj)
        if obj.reason:
            yield "Reason", obj.reason
        yield "From", channel_of(obj)
        if obj.token_kid:
            yield "Token", obj.token_kid
        yield "Address", obj.address
        yield "Request", obj.request_id


def _in_words(code: str) -> str:
    return capfirst(code.replace(".", ": ").replace("_", " "))


LOG = AuditLog()


def _changed(request: HttpRequest, entry: AuditEntry) -> dict[str, Any] | None:
    rows = [(_in_words(one.field), one) for one in changes(entry)]
    return {"rows": rows} if rows else None


def _history(request: HttpRequest, obj: Any) -> dict[str, Any] | None:
    """The last changes of an object, to who may read the audit log of its scope."""
    kinds = {one.key: one for one in resources() if one.model is type(obj)}
    if not kinds or LOG.key in kinds:
        return None
    ids = {one.id_of(obj) for one in kinds.values()}
    found = LOG.visible(actor_of(request, "form").user).filter(
        object_type__in=kinds, object_id__in=ids
    )
    rows = list(found.order_by("-at", "-pk")[: RECENT + 1])
    if not rows:
        return None
    name = next(iter(kinds.values())).name_of(obj)
    query = urlencode({"type": ",".join(kinds), "object": name})
    return {
        "entries": [(one, verb_of(one), _fields(one)) for one in rows[:RECENT]],
        "all_url": f"{LOG.list_url()}?{query}" if len(rows) > RECENT else "",
    }


def _fields(entry: AuditEntry) -> str:
    """What an edit changed; the fields of a new object are all new."""
    if not entry.action.endswith(".edit"):
        return ""
    return ", ".join(_in_words(name).lower() for name in entry.detail)


register(LOG)
register_panel(
    LOG.key, Panel(title="Changes", template="administration/changes.html", context=_changed)
)
register_panel(
    EVERY, Panel(title="History", template="administration/history.html", context=_history)
)
