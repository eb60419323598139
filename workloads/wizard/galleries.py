"""The assets that a part of the form may be filled from, as cards."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from assets.kinds import KINDS, AssetKind
from assets.models import Asset
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.forms.fields import Card, FieldView, Offer
from gangline.organization.models import Project
from gangline.policies.effective import EffectivePolicy
from gangline.policies.engine import Request, resolve
from gangline.resources.registry import get
from gangline.scopes.selectors import scopes_to
from gangline.spec.frameworks import WORKERS_ONLY, has_gpus
from gangline.spec.gpus import is_gpu_field
from gangline.spec.problems import Role
from gangline.spec.sources import Value, Values, asset_source
from gangline.spec_forms.words import in_words

NEW = "new"
"""Verb of the button that makes an asset for ``<role>.<kind>``."""


def asset_field(key: str) -> str:
    """Name of the control for ``<role>.<kind>``."""
    return f"{key}~asset"


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

    @cached_property
    def assets(self) -> Sequence[Asset]:
        """Those of the project's scope and of every scope above it, most used first."""
        if self.project is None:
            return ()
        allowed = [
            kind.key
            for kind in KINDS
            if can(self.user, Permission(f"{kind.key}.view"), self.project.scope)
        ]
        line = [scope.pk for scope in scopes_to(self.project.scope)]
        rows = Asset.objects.filter(scope__in=line, kind__in=allowed).select_related("scope")
        return list(rows.order_by("-used_count", "name"))

    def values(self, role: Role) -> Values:
        """What the chosen assets give the role, by qualified path."""
        found: dict[str, Value] = {}
        for kind in KINDS:
            asset = self._chosen(role, kind)
            if asset is None:
                continue
            for path, value in asset.values.items():
                if has_gpus(self.framework, role) or not is_gpu_field(path):
                    found[f"{role}.{path}"] = Value(value, asset_source(asset.pk, asset.name))
        return found

    def fields(self, role: Role) -> dict[str, FieldView]:
        """A gallery by section, where there is anything to choose."""
        found = {}
        for kind in KINDS:
            assets = [asset for asset in self.assets if asset.kind == kind.key]
            key = f"{role}.{kind.key}"
            may_create = self.may_create(kind)
            if assets or may_create or self.chosen.get(key):
                found[kind.section] = FieldView(
                    path=asset_field(key),
                    label=kind.label,
                    control="cards",
                    name=asset_field(key),
                    cards=tuple(self._cards(role, kind, assets)),
                    add=f"{NEW}:{key}" if may_create else "",
                    add_label=get(kind.key).create_label,
                    applies=True,
                )
        return found

    def may_create(self, kind: AssetKind) -> bool:
        """Whether the person may make one in the project."""
        permission = Permission(f"{kind.key}.create")
        return self.project is not None and can(self.user, permission, self.project.scope)

    def _chosen(self, role: Role, kind: AssetKind) -> Asset | None:
        wanted = self.chosen.get(f"{role}.{kind.key}")
        return next((a for a in self.assets if str(a.pk) == wanted and a.kind == kind.key), None)

    def _cards(self, role: Role, kind: AssetKind, assets: Sequence[Asset]) -> Iterable[Card]:
        chosen = self._chosen(role, kind)
        scratch = "As the workers" if role is Role.MASTER else "Start from scratch"
        yield Card(value="", title=scratch, checked=chosen is None)
        for asset in assets:
            unfit, ruled = self._unfit(asset), self._reason(kind, asset)
            reason = unfit or ruled
            yield Card(
                value=str(asset.pk),
                title=asset.name,
                facts=tuple(self._facts(kind, asset)),
                chip=asset.scope.label,
                checked=asset is chosen,
                blocked=bool(reason),
                reason=reason,
                by_policy=bool(ruled) and not unfit,
            )

    def _facts(self, kind: AssetKind, asset: Asset) -> Iterable[str]:
        """The first few of its values."""
        given = [(f, asset.values[path]) for path, f in kind.fields.items() if path in asset.values]
        for spec, value in given[:3]:
            yield f"{spec.label}: {in_words(spec, value)}"

    def _unfit(self, asset: Asset) -> str:
        """Why the cluster cannot use it for the framework."""
        for path, offers in self.offers.items():
            value = asset.values.get(path)
            if value is not None and value not in [o.value for o in offers if o.available]:
                return f"Not on this cluster for {self.framework}: {value}."
        return ""

    def _reason(self, kind: AssetKind, asset: Asset) -> str:
        """The first rule of the policy that its values break."""
        given = {f"{Role.WORKER}.{path}": Value(value) for path, value in asset.values.items()}
        request = Request(framework=self.framework, configuration=WORKERS_ONLY, given=given)
        found = resolve(request, self.policy).problems
        return next((p.sentence for p in found if p.source and p.path in asset.values), "")
