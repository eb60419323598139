"""The assets that a part of the form may be filled from, as cards."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.db.models import Q, prefetch_related_objects

from assets import sync
from assets.data_volumes.sharing import shared_with, states_in
from assets.kinds import DATA_KINDS, KINDS, SOURCE_KINDS, AssetKind, kind_of_asset
from assets.models import Asset, Template
from assets.selectors.data import item_name, named_item
from assets.selectors.fitness import LOCAL, asset_problems
from gangline.access.grants import can
from gangline.accounts.models import User
from gangline.forms.fields import Card, FieldView, Offer, Option
from gangline.organization.models import Project
from gangline.policies.effective import SYSTEM, EffectivePolicy
from gangline.resources.registry import get
from gangline.scopes.selectors import scopes_to
from gangline.spec import shares
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.frameworks import framework_of, has_gpus
from gangline.spec.gpus import is_gpu_field
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import WORKERS, YOU, ItemSource, Value, Values, asset_source
from gangline.spec_forms.raw import RoleInputs
from gangline.spec_forms.spec_form import RoleForm
from gangline.spec_forms.words import in_words
from workloads.services.admission import hands_out_slots
from workloads.wizard.state import DraftState

DEVICES = "compute.gpuDevicesRequest"
DATA, SECTION = "data", "data"
"""What stands for data sources of every type, of which a role takes as many as it likes."""
NONE = "none"
"""Chosen for the master: none of the data sources that the workers have."""
PARTS = tuple(kind for kind in KINDS if not kind.item)
NEW = "new"
"""Verb of the button that makes an asset for ``<role>.<kind>``."""
SHOW = "show"
"""Verb of the button that shows the values of an asset."""


def asset_field(key: str) -> str:
    """Name of the control for ``<role>.<kind>``."""
    return f"{key}~asset"


def with_picks(state: DraftState, role: Role, ids: Iterable[str]) -> DraftState:
    """The draft with these data sources. What the master shares with the workers is not its own."""
    picks = " ".join(sorted(filter(None, (one.strip() for one in ids))))
    if role is Role.MASTER:
        theirs = state.assets.get(f"{Role.WORKER}.{DATA}", "")
        picks = "" if picks == theirs else picks or NONE
    return state.with_asset(f"{role}.{DATA}", picks)


def with_typed(master: Values, form: RoleForm, typed: RoleInputs) -> Values:
    """The master's data sources beside the rows that the workers have typed: a list is whole."""
    found = dict(master)
    said = form.said(typed).values
    for kind in DATA_KINDS:
        mine, theirs = master.get(f"{Role.MASTER}.{kind.item}"), said.get(f"worker.{kind.item}")
        if mine is None or theirs is None:
            continue
        known = {one.key for one in form.inherited.items.get(kind.item, ())}
        rows = [one for one in theirs.value if one.get(kind.key_name) not in known]
        found[f"{Role.MASTER}.{kind.item}"] = replace(
            mine,
            value=[*mine.value, *rows],
            items=(*mine.items, *(ItemSource(str(one[kind.key_name]), WORKERS) for one in rows)),
        )
    return found


@dataclass(frozen=True)
class Galleries:
    """What ``user`` may choose in ``project``; ``chosen``: id by ``<role>.<kind>``."""

    user: User
    project: Project | None
    policy: EffectivePolicy
    framework: str
    chosen: Mapping[str, str] = field(default_factory=dict)
    offers: Mapping[str, Sequence[Offer]] = field(default_factory=dict)
    """What the cluster has for the framework, by field; of such fields it takes nothing else."""
    unsupported: Mapping[str, str] = field(default_factory=dict)
    """What the cluster cannot do, by field, with the reason."""
    cut_off: str = ""
    """That the cluster does not answer, in a sentence; what waits for it is not refused."""

    @cached_property
    def assets(self) -> Sequence[Asset]:
        """Those of the project's scope and of every scope above it, most used first."""
        if self.project is None:
            return ()
        allowed = [
            kind.key
            for kind in KINDS
            if can(self.user, get(kind.resource_key).permission("view"), self.project.scope)
        ]
        line = [scope.pk for scope in scopes_to(self.project.scope)]
        near = Q(scope__in=line) | shared_with(line)
        rows = Asset.objects.filter(near, kind__in=allowed)
        found = list(rows.select_related("scope").order_by("-used_count", "name"))
        volumes = [one for one in found if one.kind == Asset.Kind.DATA_VOLUME]
        prefetch_related_objects(volumes, "origin", "scope__project__cluster")
        return found

    def values(self, role: Role) -> Values:
        """What the chosen assets give the role, by qualified path."""
        found: dict[str, Value] = {}
        for kind in PARTS:
            asset = self._chosen(role, kind)
            if asset is None:
                continue
            for path, value in asset.values.items():
                if not is_gpu_field(path) or has_gpus(self.framework, role):
                    found[f"{role}.{path}"] = Value(value, asset_source(asset.pk, asset.name))
        return {**found, **self._data(role)}

    def picked(self, role: Role) -> Sequence[Asset]:
        """The chosen data sources: the workers’, where the master has no choice of its own."""
        ids = set(self._ids(role)) - set(self.policy.imposed.get(role, {}))
        return sorted((a for a in self.data if str(a.pk) in ids), key=lambda asset: asset.name)

    def _ids(self, role: Role) -> list[str]:
        own = self.chosen.get(f"{role}.{DATA}")
        if own is None and role is Role.MASTER:
            return self._ids(Role.WORKER)
        return [] if own in (None, NONE) else str(own).split()

    @cached_property
    def data(self) -> Sequence[Asset]:
        keys = {kind.key for kind in DATA_KINDS}
        return [asset for asset in self.assets if asset.kind in keys]

    @property
    def volumes(self) -> Sequence[Asset]:
        """Data volumes that the project can mount."""
        mine = [one for one in self.data if one.kind == Asset.Kind.DATA_VOLUME]
        return [one for one in mine if not self.unready(one)]

    def _data(self, role: Role) -> Values:
        """The chosen data sources as items of their lists. A master that follows says nothing."""
        mine, workers = self.picked(role), self.picked(Role.WORKER)
        if role is Role.MASTER and mine == workers:
            return {}
        found: dict[str, Value] = {}
        for kind in DATA_KINDS:
            chosen = [asset for asset in mine if asset.kind == kind.key]
            is_dropped = role is Role.MASTER and any(one.kind == kind.key for one in workers)
            if not chosen and not is_dropped:
                continue
            sources = [asset_source(asset.pk, asset.name) for asset in chosen]
            found[f"{role}.{kind.item}"] = Value(
                [named_item(asset) for asset in chosen],
                sources[0] if sources else YOU,
                tuple(
                    ItemSource(item_name(asset), source)
                    for asset, source in zip(chosen, sources, strict=True)
                ),
            )
        return found

    def fields(self, role: Role) -> dict[str, FieldView]:
        """A gallery by section, where there is anything to choose."""
        found = {}
        for kind in PARTS:
            key = f"{role}.{kind.key}"
            of_kind = [asset for asset in self.assets if asset.kind == kind.key]
            assets = [one for one in of_kind if self._is_for_this(one, self.chosen.get(key, ""))]
            may_create = self.may_create(kind)
            if assets or may_create or self.chosen.get(key):
                found[kind.section] = FieldView(
                    path=asset_field(key),
                    label=kind.label,
                    control="cards",
                    name=asset_field(key),
                    help=_left_out(len(of_kind) - len(assets)),
                    cards=tuple(self._cards(role, kind, assets)),
                    scopes=scopes_of(assets),
                    add=f"{NEW}:{key}" if may_create else "",
                    add_label=get(kind.key).create_label,
                    applies=True,
                )
        if (data := self._data_field(role)) is not None:
            found[SECTION] = data
        return found

    def _is_for_this(self, asset: Asset, chosen: str) -> bool:
        """Whether it is made for the framework and for this kind of cluster, or was chosen."""
        image = str(asset.values.get("image", ""))
        is_container = bool(image) and not image.startswith(LOCAL)
        is_of_others = is_container and "image" in self.offers
        is_meant = asset.framework in ("", self.framework) and not is_of_others
        return is_meant or str(asset.pk) == chosen

    def _data_field(self, role: Role) -> FieldView | None:
        may_create = self.may_create(SOURCE_KINDS[0])
        if not self.data and not may_create:
            return None
        key, picked = f"{role}.{DATA}", self.picked(role)
        imposed = self.policy.imposed.get(role, {})
        cards = [
            self._data_card(role, asset, asset in picked, imposed.get(str(asset.pk), ""))
            for asset in self.data
        ]
        return FieldView(
            path=asset_field(key),
            label="Data sources",
            control="picks",
            name=asset_field(key),
            help="Each gets its own entry below, where its path can be changed.",
            cards=tuple(cards),
            scopes=scopes_of(self.data),
            options=_types(self.data),
            add=f"{NEW}:{key}" if may_create else "",
            add_label="New data source",
            applies=True,
        )

    def _data_card(self, role: Role, asset: Asset, is_picked: bool, imposed_by: str) -> Card:
        """``imposed_by``: the scope whose policy gives it to every workload."""
        kind = kind_of_asset(asset)
        unready = self.unready(asset) or self.cut_off
        ruled, about = self._ruled(role, asset)
        if imposed_by:
            ruled, about = f"Added by {imposed_by}.", ""
        return Card(
            value=str(asset.pk),
            title=asset.name,
            facts=(kind.label, *self._data_facts(kind, asset)),
            chip=asset.scope.title,
            checked=is_picked or bool(imposed_by),
            is_fixed=bool(imposed_by),
            blocked=bool(unready or ruled),
            reason=unready or ruled,
            by_policy=bool(ruled) and not unready,
            explain="" if unready else about,
            kind=kind.key,
            used=asset.used_count,
            used_at=used_at(asset),
            details=f"{SHOW}:{asset.pk}",
        )

    def unready(self, asset: Asset) -> str:
        """Why this cluster cannot use the data source now; empty when it can."""
        state = self._states.get(str(asset.pk))
        why = self.unsupported.get(kind_of_asset(asset).item, "")
        return why or (state.sentence if state else "")

    @cached_property
    def _states(self) -> Mapping[str, sync.State]:
        if self.project is None:
            return {}
        volumes = [one for one in self.data if one.kind == Asset.Kind.DATA_VOLUME]
        shared = states_in(self.project, volumes) if volumes else {}
        return {**sync.states_in(self.project, self.data), **shared}

    def problems(self, role: Role) -> list[Problem]:
        """V21: chosen data sources that this cluster cannot use now."""
        return [
            Problem.of(role, DATA, "cluster:asset", asset=asset.name, why=why, label="Data source")
            for asset in self.picked(role)
            if (why := self.unready(asset))
        ]  # fmt: skip

    def _data_facts(self, kind: AssetKind, asset: Asset) -> Iterable[str]:
        """Where the data is, and where it will be."""
        listed = kind.fields[kind.item]
        values = listed.telling(listed.flat(kind.item_of(asset.values)))
        given = [one for one in kind.attributes if values[one.path] not in (None, "", True, False)]
        for spec in given[:3]:
            yield f"{spec.label}: {in_words(spec, values[spec.path])}"

    def may_create(self, kind: AssetKind) -> bool:
        """Whether the person may make one in the project."""
        permission = get(kind.resource_key).permission("create")
        return self.project is not None and can(self.user, permission, self.project.scope)

    def _chosen(self, role: Role, kind: AssetKind) -> Asset | None:
        wanted = self.chosen.get(f"{role}.{kind.key}")
        return next((a for a in self.assets if str(a.pk) == wanted and a.kind == kind.key), None)

    def _cards(self, role: Role, kind: AssetKind, assets: Sequence[Asset]) -> Iterable[Card]:
        chosen = self._chosen(role, kind)
        scratch = "As the workers" if role is Role.MASTER else "Start from scratch"
        yield Card(value="", title=scratch, checked=chosen is None)
        for asset in assets:
            unfit, (ruled, about) = self._unfit(role, kind, asset), self._ruled(role, asset)
            reason = unfit or ruled
            yield Card(
                value=str(asset.pk),
                title=asset.name,
                facts=tuple(self._facts(kind, asset)),
                chip=asset.scope.title,
                checked=asset is chosen,
                blocked=bool(reason),
                reason=reason,
                by_policy=bool(ruled) and not unfit,
                explain="" if unfit else about,
                used=asset.used_count,
                used_at=used_at(asset),
                details=f"{SHOW}:{asset.pk}",
            )

    def _facts(self, kind: AssetKind, asset: Asset) -> Iterable[str]:
        """The first few of its values."""
        if not asset.values:
            yield "No values: those of the form apply."
        gpus = shares.of_pod_in_words(asset.values)
        if gpus:
            yield gpus
        given = [
            (spec, asset.values[path])
            for path, spec in kind.fields.items()
            if path in asset.values and not (gpus and is_gpu_field(path))
        ]
        for spec, value in given[: 2 if gpus else 3]:
            yield f"{spec.label}: {_told(spec, value)}"

    def _unfit(self, role: Role, kind: AssetKind, asset: Asset) -> str:
        """Why the cluster cannot use it for the framework."""
        if asset.framework not in ("", self.framework):
            return f"Made for {framework_of(asset.framework).label}."
        for path in asset.values:
            if why := self.unsupported.get(path):
                return f"{kind.fields[path].label}: {why}"
        wants_gpus = asset.values.get(DEVICES) and has_gpus(self.framework, role)
        if wants_gpus and self._has_no_gpus:
            return "This cluster has no GPUs."
        for path, offers in self.offers.items():
            value = asset.values.get(path)
            if value is not None and value not in [o.value for o in offers if o.available]:
                return f"Not on this cluster for {self.framework}: {value}."
        return ""

    @property
    def _has_no_gpus(self) -> bool:
        """Where Gangline gives out what there is; elsewhere the next node may bring some."""
        cluster = self.project.cluster if self.project else None
        return cluster is not None and hands_out_slots(cluster) and not cluster.capacity.get("gpus")

    def _ruled(self, role: Role, asset: Asset) -> tuple[str, str]:
        """The first rule of the policy that its values break, and the field that it is about."""
        rule = next(iter(asset_problems(asset, self.policy, self.framework, role)), None)
        if rule is None:
            return "", ""
        about = f"{role}.{rule.path}"
        if rule.rule != "canAdd":
            # Nobody has entered the value: it stands on the card.
            return replace(rule, params={**rule.params, "value": None}).sentence, about
        # The name of the item is of no interest here.
        return _closed_by(rule.source), about

    def closed(self, role: Role, kind: AssetKind) -> str:
        """Why no data source of the type can be made here; empty when one can."""
        rule = self.policy.rule(role, kind.item).can_add
        why = self.unsupported.get(kind.item, "")
        return why or (_closed_by(rule.source) if rule is not None else "")


def _closed_by(source: str) -> str:
    """Whose rule it is that nothing can be added."""
    is_ours = source == SYSTEM
    return "Needs a policy that allows it." if is_ours else f"Not allowed by {source}."


def scopes_of(shared: Iterable[Asset | Template]) -> tuple[str, ...]:
    """The scopes that hold them, in words."""
    return tuple(sorted({one.scope.title for one in shared}))


def used_at(one: Asset | Template) -> int:
    """When a workload took it last, as a gallery is sorted by it."""
    return int(one.last_used_at.timestamp()) if one.last_used_at else 0


def _left_out(count: int) -> str:
    """How many assets are made for something else."""
    if not count:
        return ""
    verb = "is" if count == 1 else "are"
    return f"{count} more {verb} for other frameworks or clusters."


def _told(spec: SpecField, value: Any) -> str:
    """``value`` on a card: of a list the names of its items alone."""
    if spec.kind is not Kind.ITEMIZED:
        return in_words(spec, value)
    return ", ".join(str(item.get(spec.item_key)) for item in value or ())


def _types(assets: Sequence[Asset]) -> tuple[Option, ...]:
    """The types that there are, to look at one of them alone."""
    there = {asset.kind for asset in assets}
    return tuple(Option(kind.key, kind.label) for kind in DATA_KINDS if kind.key in there)
