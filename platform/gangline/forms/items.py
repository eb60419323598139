"""The rows of a list field: inherited items first, then what the person added, in their order."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from gangline.forms.fields import Cell, Chip, ItemView, Option, dom_id
from gangline.forms.posted import InheritedItem, item_row_id
from gangline.forms.raw import CHOICE, Row
from gangline.forms.said import choice_of
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.problems import Problem


def item_views(
    path: str,
    spec: SpecField,
    *,
    rows: Sequence[Row],
    standing: Sequence[InheritedItem],
    sent: Sequence[str],
    problems: Sequence[Problem],
    unsupported: Collection[str] = (),
) -> Iterator[ItemView]:
    """Every row to draw; problems of items stand at the row whose item was sent.

    ``unsupported`` are alternatives that the cluster cannot do: only a row that has one shows it.
    """
    wrong = _by_row(spec, sent, problems)
    names = {item.key for item in standing if not item.locked_by}
    kept = [row for row in rows if row.of or not row.removed]
    replaced = {key: row for row in kept if (key := key_of(spec, row)) in names}
    number = 0
    for item in standing:
        number += 1
        row = replaced.get(item.key)
        row_id = item_row_id(item)
        if row is not None and row.removed:
            yield ItemView(id=_row_dom_id(path, row_id), row_id=row_id, key=item.key, removed=True)
            continue
        texts = row.texts if row else item.texts
        yield _view(
            path, spec, row_id, number, texts,
            chip=_chip_of(row, item),
            key=item.key,
            locked_by=item.locked_by,
            problems=wrong.get(row.id if row else row_id, []),
            unsupported=unsupported,
        )  # fmt: skip
    for row in rows:
        if row is replaced.get(key_of(spec, row)) or (row.of and row.removed):
            continue
        if row.removed:
            name = row.texts.get(spec.item_key, "")
            yield ItemView(id=_row_dom_id(path, row.id), row_id=row.id, key=name, removed=True)
            continue
        number += 1
        yield _view(
            path, spec, row.id, number, row.texts,
            chip=origin_chip(row.origin),
            problems=wrong.get(row.id, []),
            unsupported=unsupported,
        )  # fmt: skip


def key_of(spec: SpecField, row: Row) -> str:
    """The inherited item that the row stands for, be it named so or only called the same."""
    return row.of or row.texts.get(spec.item_key, "")


def origin_chip(origin: str) -> Chip | None:
    """Where a text was copied from; what the person typed needs no word."""
    word = {"template": "template", "copy": "copied"}.get(origin.partition(":")[0], "")
    return Chip(word) if word else None


def _chip_of(row: Row | None, item: InheritedItem) -> Chip | None:
    if row is not None:
        return origin_chip(row.origin)
    if item.source.startswith("policy "):
        return Chip(item.source.removeprefix("policy "), "policy")
    return Chip(item.source) if item.source == "workers" else None


def _by_row(
    spec: SpecField, sent: Sequence[str], problems: Sequence[Problem]
) -> dict[str, list[Problem]]:
    """Problems by id of the row that they are about."""
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        index = problem.path.removeprefix(spec.path).strip(".").split(".")[0]
        if index.isdigit() and int(index) < len(sent):
            found.setdefault(sent[int(index)], []).append(problem)
    return found


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
    key: str = "",
    locked_by: str = "",
) -> ItemView:
    row_dom = _row_dom_id(path, row_id)
    described = " ".join(
        filter(None, (f"{row_dom}-e" if problems else "", f"{row_dom}-l" if locked_by else ""))
    )
    word = spec.ui.item or "item"
    one = choice_of(spec, texts)
    # What nobody can change shows what holds; a row that can be changed keeps every text.
    offered = [n for n in spec.alternatives if n == one or not (locked_by or n in unsupported)]
    cells = [
        Cell(
            id=f"{row_dom}-{attribute.path.replace('.', '-')}",
            name="" if locked_by else f"{path}~{row_id}.{attribute.path}",
            label=f"{attribute.label}, {word} {number}",
            text=texts.get(attribute.path, ""),
            placeholder=attribute.ui.placeholder,
            readonly=bool(locked_by) or bool(key and attribute.path == spec.item_key),
            wrong=any(_is_about(p, spec, attribute.path) for p in problems),
            options=_options(attribute, texts.get(attribute.path, "")),
            described_by=described,
            alternative=_place(offered, attribute),
        )
        for attribute in spec.items
        if not attribute.alternative or attribute.path.partition(".")[0] in offered
    ]
    if len(offered) > 1 or one != next(iter(spec.alternatives), ""):
        options = tuple(
            Option("" if n == next(iter(spec.alternatives)) else n, spec.alternatives[n], n == one)
            for n in offered
        )
        choice = Cell(
            id=f"{row_dom}-choice",
            name="" if locked_by else f"{path}~{row_id}.{CHOICE}",
            label=f"Source, {word} {number}",
            text=spec.alternatives[one],
            readonly=bool(locked_by),
            options=options,
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
    )


def _options(attribute: SpecField, text: str) -> tuple[Option, ...]:
    """The choices of a cell; what is no choice stays, so that nothing is lost."""
    if attribute.kind is not Kind.CHOICE:
        return ()
    first = () if text else (Option("", attribute.label, True),)
    strange = (Option(text, text, True),) if text and text not in attribute.choices else ()
    return (*first, *(Option(c, c, c == text) for c in attribute.choices), *strange)


def _place(offered: Sequence[str], attribute: SpecField) -> int:
    name = attribute.path.partition(".")[0]
    return offered.index(name) + 1 if attribute.alternative and len(offered) > 1 else 0


def _is_about(problem: Problem, spec: SpecField, attribute: str) -> bool:
    """Whether the problem is about the attribute, an object around it, or the whole item."""
    inside = problem.path.removeprefix(f"{spec.path}.").partition(".")[2]
    return not inside or attribute == inside or attribute.startswith(f"{inside}.")


def _row_dom_id(path: str, row_id: str) -> str:
    return f"{dom_id(path)}-{row_id}"
