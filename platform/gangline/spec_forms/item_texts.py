"""The texts of one row of a list, and the item of the spec that they stand for.

One text for each attribute by its path (``claimInfo.size``), one more for the unit of an amount. An
attribute that was posted at its default has the empty text, so that a row that nobody touched stays
blank. Where the default is a policy's, a new item does not say it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gangline.drivers.facts import FieldNote
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.items import chosen
from gangline.spec.parse import Unparsable, parse_text, show_text
from gangline.spec.values import nest
from gangline.spec_forms import units
from gangline.spec_forms.dependent_rows import NO_NOTE, drawn_fit, fitted, posted_pairs
from gangline.spec_forms.raw import ASIDE, CHOICE, UNIT, Row, Typed

Wrong = Callable[[SpecField, str, Unparsable], None]


def names(spec: SpecField) -> Iterator[str]:
    """Of everything that a row holds: its attributes, the units of its amounts, its choice."""
    for attribute in spec.items:
        yield attribute.path
        if units.has_unit(attribute):
            yield attribute.path + UNIT
        if attribute.goes_with:
            yield attribute.path + ASIDE
    if spec.alternatives:
        yield CHOICE


def posted_texts(
    spec: SpecField, get: Callable[[str], str], note: FieldNote = NO_NOTE
) -> dict[str, str]:
    """The texts of a row; ``get`` gives what was posted under a name."""
    texts = {name: text for name in names(spec) if (text := get(name)) or _is_plain(name)}
    fit = drawn_fit(note, get)
    if fit.asked:
        texts[note.pairs] = posted_pairs(note, fit, get)
    return without_defaults(fitted(spec, fit), texts)


def _is_plain(name: str) -> bool:
    return name != CHOICE and not name.endswith(ASIDE)


def item_texts(spec: SpecField, item: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the row that shows ``item``."""
    values = spec.flat(item)
    texts: dict[str, str] = {}
    for attribute in spec.items:
        value = values[attribute.path]
        if units.has_unit(attribute):
            amount = Typed("", units.first(attribute))
            amount = amount if value is None else units.split(attribute, value)
            texts |= {attribute.path: amount.text, attribute.path + UNIT: amount.unit}
        else:
            texts[attribute.path] = show_text(attribute, value)
    others = list(spec.alternatives)[1:]
    if one := next((name for name in chosen(spec, item) if name in others), ""):
        texts[CHOICE] = one
    return texts


def alike(spec: SpecField, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two rows say the same; what is at its default need not be said."""
    if choice_of(spec, one) != choice_of(spec, other):
        return False
    return all(text_of(a, one) == text_of(a, other) for a in spec.items)


def key_of(spec: SpecField, row: Row) -> str:
    """The inherited item that the row stands for, be it named so or only called the same."""
    return row.of or row.texts.get(spec.item_key, "")


def choice_of(spec: SpecField, texts: Mapping[str, str]) -> str:
    """JSON name of the alternative that a row is about; the first where nothing was chosen."""
    said = texts.get(CHOICE, "")
    return said if said in spec.alternatives else next(iter(spec.alternatives), "")


def is_sheet(spec: SpecField) -> bool:
    """Whether the attributes are too many, or too different, to stand in one line."""
    return any(a.kind is Kind.BOOLEAN or units.has_unit(a) for a in spec.items)


def item_of(
    spec: SpecField, texts: Mapping[str, str], wrong: Wrong, *, stands: bool = False
) -> dict[str, Any]:
    """The item that ``texts`` stand for; ``wrong`` is told what cannot be read.

    ``stands``: it changes one that is there, so that a default in it is said.
    """
    said: dict[str, Any] = {}
    one = choice_of(spec, texts)
    for attribute in spec.items:
        text = text_of(attribute, texts)
        if attribute.alternative and attribute.path.partition(".")[0] != one:
            continue
        told = texts.get(attribute.path) if attribute.is_ruled and not stands else text
        if not told and not attribute.required and not attribute.alternative:
            continue
        try:
            said[attribute.path] = parse_text(attribute, text)
        except Unparsable as error:
            wrong(attribute, text, error)
    return nest(said)


def typed_of(attribute: SpecField, texts: Mapping[str, str]) -> Typed:
    """An amount and its unit, as the two controls of the row show them."""
    text = texts.get(attribute.path, "")
    if not text and attribute.default is not None:
        return units.split(attribute, attribute.default)
    unit = texts.get(attribute.path + UNIT, "") or units.first(attribute)
    return units.shown(attribute, Typed(text, unit))


def text_of(attribute: SpecField, texts: Mapping[str, str]) -> str:
    """One attribute as one text; that of its default where nothing is said."""
    text = texts.get(attribute.path, "")
    if text and units.has_unit(attribute):
        return units.joined(attribute, typed_of(attribute, texts))
    return text or show_text(attribute, attribute.default)


def without_defaults(spec: SpecField, texts: Mapping[str, str]) -> dict[str, str]:
    """``texts`` with the empty one for each attribute that is at its default."""
    found = dict(texts)
    for attribute in spec.items:
        path, default = attribute.path, attribute.default
        if default is None or not found.get(path):
            continue
        if text_of(attribute, found) == show_text(attribute, default):
            found[path] = ""
    return found
