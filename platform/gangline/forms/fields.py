"""What the templates draw: one field, one item of a list, one section."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a hint and the scope that set it; an empty scope is the product itself."""

    text: str
    source: str = ""


MOST_SEEN = 9
"""Of choices, more of which are searched rather than looked through."""


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a select. A blocked one is listed, so that people see that it exists."""

    value: str
    word: str
    selected: bool = False
    blocked: bool = False
    why: str = "not allowed by policy"
    """Of a blocked one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One choice of a gallery. ``reason`` tells why a blocked card cannot be chosen."""

    value: str
    title: str
    facts: tuple[str, ...] = ()
    chip: str = ""
    checked: bool = False
    blocked: bool = False
    reason: str = ""
    by_policy: bool = False
    explain: str = ""
    """Qualified path whose explanation the card's "Why?" opens; empty: the reason says it all."""
    kind: str = ""
    """Type of what it stands for, where a gallery has several."""
    is_fixed: bool = False
    """Nobody can take the choice back."""
    used: int = 0
    """How many workloads have taken it."""
    used_at: int = 0
    """When one did last, in seconds since 1970."""
    details: str = ""
    """What the button sends that shows everything about it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A value that the cluster itself offers for a field, such as a runtime for the image."""

    value: str
    title: str
    detail: str = ""
    available: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    """A word beside a label: where the value comes from."""

    word: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """Another choice that a control stands or steps aside with; scripts follow it live."""

    name: str
    """Of the other control."""
    values: tuple[str, ...]
    """Empty: whatever the other one says, if it says something."""
    words: str
    """What it is shown with: "GPU sharing: By portion", or "Credential"."""
    standing: str = ""
    """What holds while the other control says nothing."""
    usual: str = ""
    """Of a row: what the control shows where nobody has said anything."""
    is_met: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One attribute of an item."""

    id: str
    name: str
    label: str
    """What it is called wherever it stands: "Key, toleration 2"."""
    text: str
    word: str = ""
    group: str = ""
    help: str = ""
    hint: str = ""
    """What is accepted; stands below the control."""
    attribute: str = ""
    """Path of what it is of the item."""
    control: str = "text"
    """``text``, ``select``, ``amount`` or ``check``."""
    units: tuple[Option, ...] = ()
    placeholder: str = ""
    required: bool = False
    readonly: bool = False
    wrong: bool = False
    errors: tuple[str, ...] = ()
    """What is wrong with it; a sheet tells it here, a line of cells below all of them."""
    options: tuple[Option, ...] = ()
    described_by: str = ""
    alternative: int = 0
    """Which of the alternatives it belongs to, counted from 1; 0: it is always there."""
    applies: bool = False
    """What can be chosen beside it depends on it: the page is drawn anew when it changes."""
    needs: Needs | None = None
    chooses: bool = False
    """It says which of the alternatives counts; the cells of the others step aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One item of a list: a row of cells, or the line that tells that it was removed."""

    id: str
    row_id: str
    key: str
    cells: tuple[Cell, ...] = ()
    chip: Chip | None = None
    locked_by: str = ""
    removed: bool = False
    errors: tuple[str, ...] = ()
    errors_below: tuple[str, ...] = ()
    """Those of them that no cell tells by itself."""
    advice: tuple[str, ...] = ()
    is_sheet: bool = False
    """Its cells stand one by one, each with its label and its errors."""
    carried: tuple[Cell, ...] = ()
    """What goes along unseen."""
    instructions: str = ""
    """What whoever made it says to whoever fills it in."""
    is_empty: bool = False
    """It was added, and nothing was typed yet."""

    @property
    def layout(self) -> str:
        """How its cells stand: two beside each other, in lines of three, or on a sheet.

        One that chooses stands between the name and what it chooses.
        """
        if self.is_sheet:
            return "sheet"
        if any(cell.chooses for cell in self.cells):
            return "choosing"
        return "two" if len(self.cells) < 3 else "many"

    @property
    def alone(self) -> list[Cell]:
        """The cells that are always there."""
        return [cell for cell in self.cells if not cell.alternative]

    @property
    def alternatives(self) -> list[tuple[int, list[Cell]]]:
        """The cells of each alternative, with its number."""
        numbers = dict.fromkeys(cell.alternative for cell in self.cells if cell.alternative)
        return [(n, [c for c in self.cells if c.alternative == n]) for n in numbers]

    @property
    def groups(self) -> list[tuple[str, list[Cell]]]:
        """The cells of a sheet, neighbours of one group together."""
        found: list[tuple[str, list[Cell]]] = []
        for cell in self.cells:
            if found and cell.group and found[-1][0] == cell.group:
                found[-1][1].append(cell)
            else:
                found.append((cell.group, [cell]))
        return found

    @property
    def item_name(self) -> str:
        """What its buttons call it."""
        return self.key or "this row"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """One field. ``name`` is empty when nothing may be posted for it."""

    path: str
    """Qualified: ``worker.compute.cpuCoreRequest``."""
    label: str
    control: str
    name: str = ""
    text: str = ""
    unit: str = ""
    units: tuple[Option, ...] = ()
    options: tuple[Option, ...] = ()
    cards: tuple[Card, ...] = ()
    scopes: tuple[str, ...] = ()
    """Of a gallery of what scopes share: these scopes. It is narrowed to one, and sorted."""
    items: tuple[ItemView, ...] = ()
    attributes: tuple[str, ...] = ()
    item_word: str = ""
    placeholder: str = ""
    suggestions: tuple[str, ...] = ()
    """Values to choose from while typing; any other text can be typed too."""
    mono: bool = False
    roomy: bool = False
    """Texts such as commands: two on a line at most."""
    inputmode: str = ""
    help: str = ""
    limits: tuple[Part, ...] = ()
    echo: str = ""
    words: tuple[str, ...] = ()
    """The argument list that a command line stands for."""
    chip: Chip | None = None
    fixed_by: str = ""
    lock: str = ""
    """``fixed`` or ``limited`` when "Why" has an answer."""
    required: bool = False
    can_add: bool = True
    can_reset: bool = False
    is_ordered: bool = False
    """Of a list: the order of its items counts, and people may change it."""
    unavailable: str = ""
    """Why this cluster cannot do it."""
    errors: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    """What may be sent as it is, and may well disappoint."""
    input_type: str = "text"
    autocomplete: str = "off"
    maxlength: int = 0
    rows: int = 4
    longest_file: int = 0
    """Of a text area that also takes a file: characters that fit; 0: it takes none."""
    mark: str = ""
    """Of what it was drawn with, where other fields follow from it."""
    checked: bool = False
    readonly: bool = False
    is_advanced: bool = False
    """Folded away in its section."""
    is_set: bool = False
    """Of an advanced one: it has a value."""
    add: str = ""
    add_label: str = ""
    """What the button that makes another choice sends, and its words; empty: there is none."""
    add_icon: str = "plus"
    applies: bool = False
    """Other fields depend on it: the page is drawn anew when it changes."""
    needs: Needs | None = None
    is_computed: bool = False
    """Its value follows another field's while nobody gives it one."""
    modes: tuple[Option, ...] = ()
    """Of a template's field: what may be done with it where the template is used."""

    @property
    def id(self) -> str:
        return dom_id(self.path)

    @property
    def is_long(self) -> bool:
        """Whether there is so much to choose from that one wants to search."""
        return max(len(self.cards), len(self.options)) > MOST_SEEN

    @property
    def wide(self) -> bool:
        """Whether the field takes a line of its own."""
        return self.control in (
            "cards", "picks", "rows", "checks", "radios", "textarea", "matrix",
        )  # fmt: skip

    @property
    def group(self) -> bool:
        """Whether the field is a group of controls, hence a fieldset with a legend."""
        return self.wide and self.control != "textarea"

    @property
    def has_hint(self) -> bool:
        return bool(self.help or self.limits or self.fixed_by or self.unavailable)

    @property
    def has_chip(self) -> bool:
        """Whether anything stands beside the label."""
        return bool(self.chip or self.lock or self.modes or self.can_reset)

    @property
    def has_echo(self) -> bool:
        return bool(self.echo or self.words)

    @property
    def is_told(self) -> bool:
        """Whether anything is wrong with it, or may disappoint."""
        return bool(self.errors or self.advice)

    @property
    def described_by(self) -> str:
        """Ids of the texts that describe the control: hint, error, what it comes to."""
        parts = ((self.has_hint, "h"), (self.errors, "e"), (self.has_echo, "m"))
        return " ".join(f"{self.id}-{suffix}" for here, suffix in parts if here)


@dataclass(frozen=True, slots=True)
class SectionView:
    """A part of a step, with an anchor of its own."""

    id: str
    title: str
    fields: Sequence[FieldView]
    held: int | None = None
    """Of one that is folded while nothing is in it: how many of its fields hold something."""

    @property
    def is_open(self) -> bool:
        return bool(self.held) or self.problems > 0

    @property
    def rows(self) -> list[list[FieldView]]:
        """The fields line by line, without the advanced ones."""
        return _lines(field for field in self.fields if not field.is_advanced)

    @property
    def advanced_rows(self) -> list[list[FieldView]]:
        return _lines(self._advanced)

    @property
    def number_set(self) -> int:
        """How many of the advanced fields have a value."""
        return sum(field.is_set for field in self._advanced)

    @property
    def is_unfolded(self) -> bool:
        return any(field.errors or any(i.errors for i in field.items) for field in self._advanced)

    @property
    def _advanced(self) -> list[FieldView]:
        return [field for field in self.fields if field.is_advanced]

    @property
    def problems(self) -> int:
        return sum(len(f.errors) + sum(len(i.errors) for i in f.items) for f in self.fields)


def _lines(fields: Iterable[FieldView]) -> list[list[FieldView]]:
    """Small fields side by side, wide ones alone."""
    lines: list[list[FieldView]] = []
    for field in fields:
        last = lines[-1] if lines else []
        joins = bool(last) and not field.wide and not last[0].wide
        if joins and field.roomy == last[0].roomy and not (field.roomy and len(last) == 2):
            last.append(field)
        else:
            lines.append([field])
    return lines


def dom_id(path: str) -> str:
    """``worker.compute.cpuCoreRequest`` → ``f-worker-compute-cpuCoreRequest``."""
    return "f-" + dashed(path)


def dashed(path: str) -> str:
    """``claimInfo.size`` → ``claimInfo-size``."""
    return path.replace(".", "-")
