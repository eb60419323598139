"""Rows whose attributes depend on one of them: a volume has what its storage class allows."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from gangline.drivers.facts import NO_FIT, Asked, FieldNote, Fit
from gangline.spec.catalogue import SpecField
from gangline.spec.shapes import join_pairs, split_pairs

DRAWN = "~drawn"
"""Ends the name of what a row was drawn for: what it then showed of itself, nobody typed."""
NO_NOTE = FieldNote()


def fit_of(note: FieldNote, texts: Mapping[str, str]) -> Fit:
    """What the row with ``texts`` can be."""
    if not note.by or (note.unless and texts.get(note.unless) == "true"):
        return NO_FIT
    return note.fits.get(texts.get(note.by, ""), NO_FIT)


def fitted(spec: SpecField, fit: Fit) -> SpecField:
    """``spec`` with defaults, choices and units as they are where ``fit`` holds."""
    if fit is NO_FIT:
        return spec
    return replace(spec, items=tuple(_attribute(one, fit) for one in spec.items))


def drawn_fit(note: FieldNote, get: Callable[[str], str]) -> Fit:
    """For what a posted row was drawn; ``get`` gives what was posted under a name."""
    if not note.by or not get(note.by + DRAWN):
        return NO_FIT
    return note.fits.get(get(note.by + DRAWN).removeprefix("="), NO_FIT)


def drawn_for(note: FieldNote, texts: Mapping[str, str]) -> str:
    """The text that `drawn_fit` reads; empty while nothing depends on anything."""
    return "" if fit_of(note, texts) is NO_FIT else f"={texts.get(note.by, '')}"


def pair_name(note: FieldNote, key: str) -> str:
    """Name of the control of one of the keys."""
    return f"{note.pairs}~{key}"


def posted_pairs(note: FieldNote, fit: Fit, get: Callable[[str], str]) -> str:
    """The one text that the controls of the keys stand for; a default is left to its class."""
    typed = ((one, get(pair_name(note, one.key)).strip()) for one in fit.asked)
    return join_pairs((one.key, text) for one, text in typed if text and text != one.default)


def pair_text(note: FieldNote, asked: Asked, texts: Mapping[str, str]) -> str:
    """What the control of a key shows."""
    return dict(split_pairs(texts.get(note.pairs, ""))).get(asked.key) or asked.default


def _attribute(one: SpecField, fit: Fit) -> SpecField:
    if not any(one.path in said for said in (fit.defaults, fit.choices, fit.units)):
        return one
    return replace(
        one,
        default=fit.defaults.get(one.path, one.default),
        choices=tuple(fit.choices.get(one.path, one.choices)),
        units=tuple(fit.units.get(one.path, one.units)),
    )
