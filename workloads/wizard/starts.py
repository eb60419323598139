"""What a new template begins with when it is saved from a workload or from the form."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from assets.models import Template
from assets.template_checks import LINKABLE
from gangline.access.actor import Actor
from gangline.access.refusals import NotVisible
from gangline.accounts.models import User
from gangline.spec.sources import SourceKind, Value, Values, from_json
from workloads.selectors.details import visible_workload
from workloads.wizard import drafts
from workloads.wizard.context import WizardContext
from workloads.wizard.prefill import DIFFERENCES
from workloads.wizard.state import FRAMEWORK, DraftState

_NONE: frozenset[str] = frozenset()


def of_workload(user: User, key: str) -> Mapping[str, Any]:
    """The values that the workload was given, wherever they came from. Raises NotVisible."""
    workload = visible_workload(user, _uuid(key), even_deleted=True)
    master = workload.master
    return {
        "name": workload.name,
        "scope": workload.project.scope_id,
        "framework": workload.framework,
        "configuration": workload.configuration,
        "master": Template.Master.DIFFERENCES if master in (DIFFERENCES, "own") else master,
        "values": _plain(from_json(workload.given), _NONE),
    }


def of_draft(user: User, key: str) -> Mapping[str, Any]:
    """What the form holds now; chosen environments and compute resources are linked."""
    row = drafts.find(owner=user, draft_id=_uuid(key))
    if row is None:
        raise NotVisible
    wizard = WizardContext(Actor(user, "form"), row.pk, DraftState.from_json(row.inputs), row)
    request, project = wizard.request, wizard.choices.project
    if request is None or project is None:
        raise NotVisible
    names = [f"{role}.{kind.key}" for role in ("worker", "master") for kind in LINKABLE]
    chosen = {name: wizard.state.assets[name] for name in names if wizard.state.assets.get(name)}
    links = {**(wizard.choices.template.links if wizard.choices.template else {}), **chosen}
    if not wizard.is_different:
        links = {name: pk for name, pk in links.items() if not name.startswith("master.")}
    return {
        "name": wizard.choices.name or "",
        "scope": project.scope_id,
        "framework": wizard.choices.framework,
        "configuration": wizard.configuration,
        "master": DIFFERENCES if wizard.is_different else "same",
        "values": _plain(request.everything, frozenset(links.values())),
        "links": links,
    }


def _plain(given: Values, linked: frozenset[str]) -> dict[str, Any]:
    """The values themselves, without those of linked assets."""
    return {
        path: _kept(value)
        for path, value in given.items()
        if value.value is not None
        and not path.endswith(f".{FRAMEWORK}")
        and not (value.source.kind is SourceKind.ASSET and value.source.id in linked)
    }


def _kept(value: Value) -> Any:
    """A list without what was taken out of it."""
    if not isinstance(value.value, list):
        return value.value
    return [i for i in value.value if not (isinstance(i, Mapping) and i.get("exclude"))]


def _uuid(key: str) -> UUID:
    try:
        return UUID(key)
    except ValueError:
        raise NotVisible from None
