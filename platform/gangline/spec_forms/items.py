"""The rows of a list field: inherited items first, then what the person added, in their order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from gangline.drivers.facts import Asked, Choice, FieldNote, Fit
from gangline.forms.fields import Cell, Chip, ItemView, Option, dashed, dom_id
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.parse import show_text
from gangline.spec.problems import Advice, Problem
from gangline.spec.sources import Source, SourceKind
from gangline.spec_forms import units
from gangline.spec_forms.controls import cell_needs
from gangline.spec_forms.dependent_rows import (
    DRAWN,
    NO_NOTE,
    drawn_for,
    fit_of,
    fitted,
    pair_name,
    pair_text,
)
from gangline.spec_forms.item_texts import choice_of, is_sheet, key_of, text_of, typed_of
from gangline.spec_forms.posted import InheritedItem, item_row_id
from gangline.spec_forms.raw import ASIDE, CHOICE, WHOLE, Row
from gangline.spec_forms.words import source_in_words

CHOOSE = "Choose…"
Told = TypeVar("Told", Problem, Advice)
LEFT_OUT = "Left out while empty."


def item_views(
    path: str,
    spec: SpecField,
    *,
    rows: Sequence[Row],
    standing: Sequence[InheritedItem],
    sent: Sequence[str],
    problems: Sequence[Problem],
    choices: Mapping[str, Sequence[Choice]],
    advice: Sequence[Advice] = (),
    unsupported: Collection[str] = (),
    is_author: bool = False,
    note: FieldNote = NO_NOTE,
) -> Iterator[ItemView]:
    """Every row to draw; problems and advice about an item stand at the row that was sent.

    ``choices``: what the cluster offers, by attribute. ``unsupported`` are alternatives that it
    cannot do: only a row that has one shows it.
    """
    if any(row.id == WHOLE for row in rows):
        standing, rows = (), [row for row in rows if row.id != WHOLE]
    wrong, hints = _by_row(spec, sent, problems), _by_row(spec, sent, advice)
    number = 0
    for item, row in _pairs(spec, rows, standing):
        row_id = item_row_id(item) if item else row.id if row else ""
        if row is not None and row.removed:
            name = item.key if item else row.texts.get(spec.item_key, "")
            yield ItemView(id=_row_dom_id(path, row_id), row_id=row_id, key=name, removed=True)
            continue
        number += 1
        told = row.id if row else row_id
        yield _view(
            path, spec, row_id, number, row.texts if row else item.texts if item else {},
            chip=_chip_of(row, item),
            key=item.key if item else "",
            locked_by=item.locked_by if item else "",
            tells_name=bool(item and (item.locked_by or item.source.kind is SourceKind.ASSET)),
            problems=wrong.get(told, []),
            unsupported=unsupported,
            advice=hints.get(told, []),
            choices=choices,
            is_author=is_author,
            is_empty=item is None and row is not None and row.blank,
            note=note,
        )  # fmt: skip


def _pairs(
    spec: SpecField, rows: Sequence[Row], standing: Sequence[InheritedItem]
) -> Iterator[tuple[InheritedItem | None, Row | None]]:
    """What is inherited with the row that changes it; then the rows of the person.

    Where the order counts and the person has given one, in theirs.
    """
    by_key = {item.key: item for item in standing}
    names = {item.key for item in standing if not item.locked_by}
    kept = [row for row in rows if row.of or not row.removed]
    replaced = {key: row for row in kept if (key := key_of(spec, row)) in names}
    is_ordered = spec.is_array and by_key.keys() <= replaced.keys()
    for item in () if is_ordered else standing:
        yield item, replaced.get(item.key)
    for row in rows:
        is_of_it = row is replaced.get(key_of(spec, row))
        if is_of_it and is_ordered:
            yield by_key[key_of(spec, row)], row
        elif not is_of_it and not (row.of and row.removed):
            yield None, row


def given_chip(source: Source) -> Chip | None:
    """Where a text was copied from; what the person typed needs no word."""
    return Chip(source_in_words(source)) if source.id else None


def _chip_of(row: Row | None, item: InheritedItem | None) -> Chip | None:
    if row is not None and (item is None or row.texts != item.texts or not row.of):
        return given_chip(row.source)
    if item is None:
        return None
    if item.source.is_policy:
        return Chip(item.source.name, "policy")
    named = item.source.kind in (
        SourceKind.WORKERS, SourceKind.ASSET, SourceKind.TEMPLATE, SourceKind.SCRIPT,
    )  # fmt: skip
    return Chip(source_in_words(item.source)) if named else None


def _by_row(spec: SpecField, sent: Sequence[str], told: Sequence[Told]) -> dict[str, list[Told]]:
    """Problems, or advice, by id of the row that they are about."""
    found: dict[str, list[Told]] = {}
    for one in told:
        index, _ = _place(spec, one.path)
        if index.isdigit() and int(index) < len(sent):
            found.setdefault(sent[int(index)], []).append(one)
    return found


def _place(spec: SpecField, path: str) -> tuple[str, str]:
    """Index and attribute that the path of a problem names; empty where it names none."""
    inside = path[len(spec.path) + 1 :] if path.startswith(f"{spec.path}.") else ""
    index, _, attribute = inside.partition(".")
    return index, attribute


def _view(
    path: str,
    spec: SpecField,
    row_id: str,
    number: int,
    texts: Mapping[str, str],
    *,
    chip: Chip | None,
    problems: Sequence[Problem],
    unsupported: Collection[str],
    advice: Sequence[Advice],
    choices: Mapping[str, Sequence[Choice]],
    is_author: bool,
    note: FieldNote,
    is_empty: bool = False,
    key: str = "",
    locked_by: str = "",
    tells_name: bool = False,
) -> ItemView:
    row_dom, fit = _row_dom_id(path, row_id), fit_of(note, texts)
    spec, hints = fitted(spec, fit), {**note.hints, **fit.hints}
    if tells_name and (named := spec.attribute(spec.item_key)) and named.ui.help:
        hints[named.path] = named.ui.help
    asked = {f"{note.pairs}.{one.key}": one for one in fit.asked}
    at_cells = _at_cells(spec, problems, asked) if is_sheet(spec) else {}
    below = [p for p in problems if _place(spec, p.path)[1] not in at_cells]
    told = ((below, "e"), (advice, "a"), (locked_by, "l"))
    described = " ".join(f"{row_dom}-{suffix}" for here, suffix in told if here)
    word = spec.ui.item or "item"
    one = choice_of(spec, texts)
    # What nobody can change shows what holds; a row that can be changed keeps every text.
    offered = [n for n in spec.alternatives if n == one or not (locked_by or n in unsupported)]
    seen = [
        attribute
        for attribute in spec.items
        if (is_author or not attribute.ui.instructs)
        and _has_use(attribute, note, fit, texts)
        and not (locked_by and _is_aside(path, spec, attribute, texts))
        and (not attribute.alternative or attribute.path.partition(".")[0] in offered)
    ]
    told_to_fill = [a for a in spec.items if a.ui.instructs and a not in seen]
    choices = {path: _beside(path, some, texts) for path, some in choices.items()}
    cells = [
        Cell(
            id=f"{row_dom}-{dashed(attribute.path)}",
            attribute=attribute.path,
            name="" if locked_by else f"{path}~{row_id}.{attribute.path}",
            label=f"{_grouped(attribute)}, {word} {number}",
            word=attribute.label,
            group=attribute.group,
            help=attribute.ui.help,
            hint=hints.get(attribute.path, ""),
            control=_control(attribute, choices),
            text=_text(attribute, texts),
            placeholder=attribute.ui.placeholder,
            readonly=bool(locked_by) or bool(key and attribute.path == spec.item_key),
            wrong=any(_is_about(spec, p, attribute.path) for p in problems),
            options=_options(attribute, _text(attribute, texts), choices.get(attribute.path, ())),
            units=_units(attribute, texts),
            errors=at_cells.get(attribute.path, ()),
            described_by=" ".join(
                filter(
                    None,
                    (
                        _own_error(row_dom, attribute.path, at_cells),
                        f"{row_dom}-{dashed(attribute.path)}-h" if attribute.path in hints else "",
                        described,
                    ),
                )
            ),
            alternative=_number(offered, attribute),
            needs=None if locked_by else cell_needs(f"{path}~{row_id}", spec, attribute, texts),
            applies=(
                any(some and some[0].of for p, some in choices.items() if p != attribute.path)
                and attribute.credential is not None
            )
            or attribute.path == note.by,
        )
        for attribute in seen
    ]
    if fit.asked:
        place = next(n for n, one in enumerate(cells) if one.attribute == note.pairs)
        own = [
            _asked_cell(row_dom, "" if locked_by else f"{path}~{row_id}", number, word, note, one,
                        texts, at_cells, described)
            for one in fit.asked
        ]  # fmt: skip
        cells[place : place + 1] = own
    if len(offered) > 1 or one != next(iter(spec.alternatives), ""):
        choice = Cell(
            id=f"{row_dom}-choice",
            name="" if locked_by else f"{path}~{row_id}.{CHOICE}",
            label=f"Source, {word} {number}",
            text=spec.alternatives[one],
            control="select",
            readonly=bool(locked_by),
            options=_alternatives(spec, offered, one),
            chooses=True,
        )
        cells.insert(sum(not cell.alternative for cell in cells), choice)
    return ItemView(
        id=row_dom,
        row_id=row_id,
        key=texts.get(spec.item_key, "") or key,
        cells=tuple(cells),
        chip=chip,
        locked_by=locked_by,
        errors=tuple(p.sentence for p in problems),
        errors_below=tuple(p.sentence for p in below),
        is_sheet=is_sheet(spec),
        instructions=" ".join(filter(None, (texts.get(a.path) for a in told_to_fill)))
        or (LEFT_OUT if is_empty else ""),
        carried=tuple(
            Cell(
                id=f"{row_dom}-{dashed(name)}", name=f"{path}~{row_id}.{name}", label="", text=text
            )
            for name, text in (
                *((a.path, texts.get(a.path, "")) for a in told_to_fill),
                (note.by + DRAWN, drawn_for(note, texts)),
            )
            if text and not locked_by
        ),
        advice=tuple(a.sentence for a in advice),
        is_empty=is_empty,
    )


def _is_aside(path: str, spec: SpecField, attribute: SpecField, texts: Mapping[str, str]) -> bool:
    """Whether what the row says elsewhere leaves the attribute no meaning."""
    of = cell_needs(path, spec, attribute, texts)
    return of is not None and not of.is_met


def _has_use(attribute: SpecField, note: FieldNote, fit: Fit, texts: Mapping[str, str]) -> bool:
    """Whether the row shows the attribute. What is said of a closed one stays, to be taken back."""
    text = texts.get(attribute.path, "")
    if attribute.path == note.pairs:
        return bool(text or fit.asked)
    is_said = bool(text) and text != show_text(attribute, attribute.default)
    return attribute.path not in fit.closed or is_said


def _asked_cell(
    row_dom: str,
    prefix: str,
    number: int,
    word: str,
    note: FieldNote,
    one: Asked,
    texts: Mapping[str, str],
    at_cells: Mapping[str, tuple[str, ...]],
    described: str,
) -> Cell:
    """A control of one of the keys and values of an attribute."""
    path, text = f"{note.pairs}.{one.key}", pair_text(note, one, texts)
    dom, errors = f"{row_dom}-{dashed(path)}", at_cells.get(path, ())
    options: tuple[Option, ...] = ()
    if one.kind == "boolean":
        words = {"": "Not set", "true": "Yes", "false": "No"}
        if one.default or (one.required and text):
            del words[""]
        options = tuple(Option(value, said, value == text) for value, said in words.items())
    notes = ((errors, "e"), (one.help, "h"))
    own = [f"{dom}-{suffix}" for here, suffix in notes if here]
    return Cell(
        id=dom,
        attribute=path,
        name=f"{prefix}.{pair_name(note, one.key)}" if prefix else "",
        label=f"{one.label}, {word} {number}",
        word=one.label,
        hint=one.help,
        text=text,
        control="select" if options else "text",
        options=options,
        placeholder=one.placeholder,
        required=one.required,
        readonly=not prefix,
        wrong=bool(errors),
        errors=errors,
        described_by=" ".join([*own, *filter(None, (described,))]),
    )


def _beside(path: str, choices: Sequence[Choice], texts: Mapping[str, str]) -> Sequence[Choice]:
    """Keys of what is chosen beside them; all of them while nothing is."""
    chosen = texts.get(f"{path.rpartition('.')[0]}.name", "")
    own = [one for one in choices if one.of in ("", chosen)]
    return own if chosen and own else choices


def _at_cells(
    spec: SpecField, problems: Sequence[Problem], asked: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Sentences by the attribute that each of them is about."""
    found: dict[str, tuple[str, ...]] = {}
    for problem in problems:
        _, attribute = _place(spec, problem.path)
        if spec.attribute(attribute) is not None or attribute in asked:
            found[attribute] = (*found.get(attribute, ()), problem.sentence)
    return found


def _own_error(row_dom: str, path: str, at_cells: Mapping[str, object]) -> str:
    return f"{row_dom}-{dashed(path)}-e" if path in at_cells else ""


def _grouped(attribute: SpecField) -> str:
    return f"{attribute.group}: {attribute.label}" if attribute.group else attribute.label


def _control(attribute: SpecField, choices: Mapping[str, Sequence[Choice]]) -> str:
    if attribute.kind is Kind.BOOLEAN:
        return "check"
    if units.has_unit(attribute):
        return "amount"
    return "select" if attribute.kind is Kind.CHOICE or choices.get(attribute.path) else "text"


def _text(attribute: SpecField, texts: Mapping[str, str]) -> str:
    """What the control holds; the default of the attribute where nothing is said."""
    if units.has_unit(attribute):
        return typed_of(attribute, texts).text
    return text_of(attribute, texts) or texts.get(attribute.path + ASIDE, "")


def _units(attribute: SpecField, texts: Mapping[str, str]) -> tuple[Option, ...]:
    if not units.has_unit(attribute):
        return ()
    chosen = typed_of(attribute, texts).unit
    return tuple(Option(u, word, u == chosen) for u, word in units.units(attribute, chosen))


def _alternatives(spec: SpecField, offered: Sequence[str], one: str) -> tuple[Option, ...]:
    first = next(iter(spec.alternatives))
    return tuple(Option("" if n == first else n, spec.alternatives[n], n == one) for n in offered)


def _number(offered: Sequence[str], attribute: SpecField) -> int:
    name = attribute.path.partition(".")[0]
    return offered.index(name) + 1 if attribute.alternative and len(offered) > 1 else 0


def _options(attribute: SpecField, text: str, offered: Sequence[Choice]) -> tuple[Option, ...]:
    """The choices of a cell; what is no choice stays, so that nothing is lost."""
    words = {c: attribute.ui.words.get(c, c) for c in attribute.choices} | {
        c.value: c.word or c.value for c in offered
    }
    if not words:
        return ()
    is_key = any(one.of for one in offered)
    example = attribute.ui.placeholder
    # Where one must choose, a placeholder is an example; elsewhere it says what holds without.
    must = attribute.required and (attribute.credential is not None or is_key or bool(example))
    blank = CHOOSE if must else example or attribute.label
    is_clear = is_key and len(words) == 1
    first = () if text or "" in words or is_clear else (Option("", blank, True),)
    strange = (Option(text, text, True),) if text and text not in words else ()
    return (*first, *(Option(c, word, c == text) for c, word in words.items()), *strange)


def _is_about(spec: SpecField, problem: Problem, attribute: str) -> bool:
    """Whether the cell is marked: a problem with the whole item is one with all its cells."""
    _, told = _place(spec, problem.path)
    return not told or attribute == told or attribute.startswith(f"{told}.")


def _row_dom_id(path: str, row_id: str) -> str:
    return f"{dom_id(path)}-{row_id}"
