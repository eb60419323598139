"""What holds where nothing is said, as texts that controls can show."""

from collections.abc import Iterable

from gangline.policies.effective import EffectivePolicy
from gangline.policies.engine import Resolution
from gangline.policies.lists import ItemOrigin
from gangline.policies.rules import FieldRule
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.problems import Role
from gangline.spec_forms.item_texts import item_texts
from gangline.spec_forms.posted import Inherited, InheritedItem
from gangline.spec_forms.raw import Typed
from gangline.spec_forms.said import typed_of


def inherited_from(
    role: Role, fields: Iterable[SpecField], standing: Resolution, policy: EffectivePolicy
) -> Inherited:
    """The values of ``standing``, which was resolved without anything that this role says."""
    rules = policy.worker if role is Role.WORKER else policy.master
    scalars: dict[str, Typed] = {}
    items: dict[str, tuple[InheritedItem, ...]] = {}
    fixed: set[str] = set()
    for spec in fields:
        rule = rules.get(spec.path) or FieldRule()
        if rule.fixed:
            fixed.add(spec.path)
        effective = standing.effective.get(f"{role}.{spec.path}")
        if effective is None or effective.value is None:
            continue
        if spec.kind is Kind.ITEMIZED:
            items[spec.path] = tuple(
                _item(spec, item, origin)
                for item, origin in zip(effective.value, effective.items, strict=True)
            )
        else:
            scalars[spec.path] = typed_of(spec, effective.value)
    return Inherited(scalars, items, frozenset(fixed))


def _item(spec: SpecField, item: dict[str, object], origin: ItemOrigin) -> InheritedItem:
    return InheritedItem(
        key=origin.key,
        texts=item_texts(spec, item),
        source=origin.source,
        locked_by=origin.locked,
    )
