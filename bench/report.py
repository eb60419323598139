"""What a benchmark found, as a table for people, as JSON, and as the page of the documentation."""

import json
import os
import platform
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
BEGIN, END = "<!-- table: written by `make bench ARGS=--docs` -->", "<!-- end of table -->"
HEAD = ("bench", "what", "median", "p95", "CPU", "raw limit", "ratio", "target", "", "beside")


@dataclass(frozen=True, slots=True)
class Target:
    """A limit on one figure of a row: ``median``, ``p95`` or ``ratio``."""

    of: str
    limit: float
    at_least: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True, slots=True)
class Row:
    """One measured thing. Without a target it only informs."""

    bench: str
    what: str
    median: float
    p95: float | None = None
    unit: str = "ms"
    cpu: float | None = None
    """Milliseconds of processor time per piece of work: the steadiest figure on a busy machine."""
    floor: float | None = None
    floor_name: str = ""
    ratio: float | None = None
    targets: tuple[Target, ...] = ()
    note: str = ""

    @property
    def met(self) -> bool | None:
        if not self.targets:
            return None
        return all(t.is_met(getattr(self, t.of) or 0.0) for t in self.targets)


def table(rows: Sequence[Row]) -> str:
    """Columns aligned for a terminal."""
    lines = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def write_json(rows: Sequence[Row]) -> None:
    """Keep the figures of the last run of every benchmark."""
    stored = _stored()
    for name in {row.bench for row in rows}:
        own = [asdict(row) | {"met": row.met} for row in rows if row.bench == name]
        stored["benches"][name] = {"at": _now(), "rows": own}
    stored["machine"] = machine()
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n")


def write_page() -> None:
    """Put the last figures of every benchmark into the documentation; its words stay."""
    stored = _stored()
    rows = [
        Row(**{k: v for k, v in row.items() if k not in ("met", "targets")},
            targets=tuple(Target(**t) for t in row["targets"]))
        for found in stored["benches"].values() for row in found["rows"]
    ]  # fmt: skip
    lines = [HEAD, ("---",) * len(HEAD), *(_cells(row) for row in rows)]
    dates = sorted({found["at"][:10] for found in stored["benches"].values()})
    text = "\n".join(
        [
            BEGIN,
            f"Measured on {' and '.join(dates)}. {stored['machine']}",
            "",
            *("| " + " | ".join(cell or " " for cell in line) + " |" for line in lines),
            "",
            _verdict(rows),
            END,
        ]
    )
    page = PAGE.read_text()
    PAGE.write_text(
        re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: text, page, flags=re.S)
    )


def machine() -> str:
    """What it ran on, in one sentence."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return (
        f"{os.cpu_count()} shared cores ({model[1] if model else platform.machine()}), "
        f"{memory:.0f} GiB, Linux {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}; "
        f"load before the run {os.getloadavg()[0]:.1f}."
    )


def _cells(row: Row) -> tuple[str, ...]:
    words = [_target(target, row.unit) for target in row.targets]
    return (
        row.bench,
        row.what,
        _number(row.median, row.unit),
        _number(row.p95, row.unit),
        _number(row.cpu, "ms"),
        f"{_number(row.floor, row.unit)} {row.floor_name}".strip(),
        f"{row.ratio:.2f}" if row.ratio is not None else "",
        ", ".join(words),
        {None: "", True: "met", False: "missed"}[row.met],
        row.note,
    )


def _target(target: Target, unit: str) -> str:
    sign = "≥" if target.at_least else "≤"
    figure = f"{target.limit:g} ×" if target.of == "ratio" else f"{target.limit:g} {unit}"
    return f"{target.of} {sign} {figure}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f} {unit}"


def _verdict(rows: Iterable[Row]) -> str:
    judged = [row.met for row in rows if row.met is not None]
    return f"{sum(judged)} of {len(judged)} targets met."


def _stored() -> dict[str, Any]:
    if RESULTS.exists():
        found: dict[str, Any] = json.loads(RESULTS.read_text())
        return found
    return {"benches": {}, "machine": machine()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
