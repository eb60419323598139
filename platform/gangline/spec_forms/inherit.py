"""What holds where nothing is said, as texts that controls can show."""

from collections.abc import Iterable

from gangline.policies.effective import EffectivePolicy
from gangline.policies.rules import FieldRule
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.problems import Role
from gangline.spec.sources import ItemSource, Values
from gangline.spec_forms.item_texts import item_texts, without_defaults
from gangline.spec_forms.posted import Inherited, InheritedItem
from gangline.spec_forms.raw import Typed
from gangline.spec_forms.said import typed_of


def inherited_from(
    role: Role, fields: Iterable[SpecField], standing: Values, policy: EffectivePolicy
) -> Inherited:
    """``standing``, which the role has where nothing is given for it, as controls show it."""
    rules = policy.worker if role is Role.WORKER else policy.master
    scalars: dict[str, Typed] = {}
    items: dict[str, tuple[InheritedItem, ...]] = {}
    fixed: set[str] = set()
    for spec in fields:
        rule = rules.get(spec.path) or FieldRule()
        if rule.fixed:
            fixed.add(spec.path)
        effective = standing.get(spec.path)
        if effective is None or effective.value is None:
            continue
        if spec.kind is Kind.ITEMIZED:
            items[spec.path] = tuple(
                _item(spec, item, source)
                for item, source in zip(effective.value, effective.items, strict=True)
            )
        else:
            scalars[spec.path] = typed_of(spec, effective.value)
    return Inherited(scalars, items, frozenset(fixed))


def _item(spec: SpecField, item: dict[str, object], source: ItemSource) -> InheritedItem:
    return InheritedItem(
        key=source.key,
        texts=without_defaults(spec, item_texts(spec, item)),
        source=source.source,
        locked_by=source.locked,
    )
