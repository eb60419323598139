"""The report as a PDF: tables, and the charts as lines, by ReportLab."""

import re
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import reportlab
from django.utils import timezone
from reportlab.graphics.shapes import Drawing, PolyLine, String
from reportlab.graphics.shapes import Line as Stroke
from reportlab.lib.colors import Color, HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import KeepTogether, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from gangline.drivers.metrics.declared import METRICS
from gangline.web import formats

from .charts import Chart
from .style import style
from .summary import Line, Report

FONT, BOLD = "Vera", "Vera-Bold"
"""Come with ReportLab, and have the letters of Europe's west."""
MARGIN = 16 * mm
INSET = 6
"""Points that a frame keeps free on each side."""
SCALE_WIDTH = 22 * mm
CHART_HEIGHT = 32 * mm
MOST_PODS = 200
"""Rows of the table of pods; the CSV has all."""
STROKES = {
    "chart-pod": ("info-solid", 0.4),
    "chart-mean": ("info", 1.2),
    "chart-asked": ("warn-solid", 0.9),
}


def made(report: Report) -> bytes:
    """The whole file."""
    _register()
    out = BytesIO()
    title = f"Report of {report.workload.name}, attempt {report.attempt.no}"
    document = SimpleDocTemplate(
        out,
        pagesize=A4,
        leftMargin=MARGIN,
        rightMargin=MARGIN,
        topMargin=MARGIN,
        bottomMargin=MARGIN,
        title=title,
        author="Gangline",
    )
    document.build(
        list(_story(report, document.width - 2 * INSET)), onFirstPage=_foot, onLaterPages=_foot
    )
    return out.getvalue()


def _story(report: Report, width: float) -> list[Any]:
    workload = report.workload
    moment = formats.absolute(timezone.localtime(report.made_at))
    story: list[Any] = [
        _text(workload.name, size=18, font=BOLD, after=3),
        _text(
            f"Attempt {report.attempt.no} in project {workload.project_name} on cluster"
            f" {workload.cluster.name}, owned by {workload.owner_name}. {workload.status};"
            f" report of {moment}.",
            colour="ink-2",
            after=8,
        ),
        _facts(report, width),
        Spacer(1, 6),
    ]
    story += [_text(hint, after=3) for hint in report.hints]
    said = [("Not used", report.unused), ("Not measured here", report.unknown)]
    notes = " ".join(f"{word}: {names}." for word, names in said if names)
    story.append(_text(f"{notes} {report.note}".strip(), colour="ink-2", after=6))
    for chart in report.charts:
        key = _text(_key(chart), colour="ink-3", size=7)
        parts = [_heading(chart.label), _drawing(chart, width), key, Spacer(1, 6)]
        story.append(KeepTogether(parts))
    if report.nodes:
        story += [_heading("Nodes"), _lines(report, report.nodes, width, first="Node")]
    shown = report.pods[:MOST_PODS]
    story += [_heading("Pods"), _lines(report, shown, width, first="Pod")]
    if left := len(report.pods) - len(shown):
        story.append(_text(f"{left} more pods are in the CSV.", colour="ink-2"))
    return story


def _key(chart: Chart) -> str:
    """What the lines are."""
    words = ["Thin: each pod. Thick: the mean of the pods."] if chart.has_pods else []
    if chart.asked:
        words.append(f"Dashed: requested, {chart.asked.title}{' a pod' if chart.has_pods else ''}.")
    return " ".join(words)


def _facts(report: Report, width: float) -> Table:
    cells = [
        [_text(fact.label, colour="ink-3", size=7.5), _text(fact.value, font=BOLD, size=9)]
        + ([_text(fact.note, colour="ink-3", size=7)] if fact.note else [])
        for fact in report.facts
    ]
    rows = [cells[at : at + 4] for at in range(0, len(cells), 4)] or [[[]]]
    rows[-1] += [[] for _ in range(4 - len(rows[-1]))]
    style = [("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0)]
    return Table(rows, colWidths=[width / 4] * 4, style=TableStyle(style), hAlign="LEFT")


def _lines(report: Report, lines: Sequence[Line], width: float, *, first: str) -> Table:
    measured = [metric for metric in METRICS if metric.name in report.names]
    head = [first, *(metric.label for metric in measured), "Ran"]
    rows: list[list[Any]] = [[_text(word, colour="ink-3", size=7) for word in head]]
    for line in lines:
        row = [_text(line.name, font=BOLD, size=7.5)]
        for metric in measured:
            use = line.uses.get(metric.name)
            if use is None:
                row.append(_text(formats.NOTHING, size=7.5))
                continue
            row.append(_text(f"{use.first}\n{use.second}", size=7))
        rows.append([*row, _text(line.ran, size=7.5)])
    wide = width * 0.18
    rest = (width - wide) / (len(head) - 1)
    style = [
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, _colour("line")),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), 0),
        ("TOPPADDING", (0, 0), (-1, -1), 2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
    ]
    widths = [wide, *([rest] * (len(head) - 1))]
    return Table(rows, colWidths=widths, repeatRows=1, style=TableStyle(style), hAlign="LEFT")


def _drawing(chart: Chart, width: float) -> Drawing:
    """The chart's own geometry, in points and upside down."""
    inner, below = width - SCALE_WIDTH, 10.0
    across, up = inner / chart.width, CHART_HEIGHT / chart.height
    drawing = Drawing(width, CHART_HEIGHT + below + 4)

    def place(x: float, y: float) -> tuple[float, float]:
        return SCALE_WIDTH + x * across, below + (chart.height - y) * up

    for mark in chart.marks:
        x, y = place(0.0, mark.at)
        drawing.add(Stroke(x, y, width, y, strokeColor=_colour("line"), strokeWidth=0.4))
        drawing.add(_label(x - 4, y - 2, mark.word, anchor="end"))
    for line in chart.lines:
        colour, thickness = STROKES[line.kind]
        for piece in line.pieces:
            points = [amount for x, y in piece for amount in place(x, y)]
            if len(piece) == 1:
                points += [points[0] + 0.6, points[1]]
            drawing.add(
                PolyLine(
                    points,
                    strokeColor=_colour(colour),
                    strokeWidth=thickness,
                    strokeDashArray=[4, 3] if line.kind == "chart-asked" else None,
                )
            )
    for at, x, anchor in ((chart.begins, SCALE_WIDTH, "start"), (chart.ends, width, "end")):
        drawing.add(_label(x, 0, f"{timezone.localtime(at):%H:%M:%S}", anchor=anchor))
    return drawing


def _label(x: float, y: float, text: str, *, anchor: str) -> String:
    return String(
        x, y, text, fontName=FONT, fontSize=6, fillColor=_colour("ink-3"), textAnchor=anchor
    )


def _heading(text: str) -> Paragraph:
    return _text(text, size=10, font=BOLD, before=8, after=3)


def _text(
    text: str,
    *,
    size: float = 8.5,
    font: str = FONT,
    colour: str = "ink",
    before: float = 0,
    after: float = 0,
) -> Paragraph:
    style = ParagraphStyle(
        "text",
        fontName=font,
        fontSize=size,
        leading=size * 1.35,
        textColor=_colour(colour),
        spaceBefore=before,
        spaceAfter=after,
        splitLongWords=True,
    )
    return Paragraph(escape(text).replace("\n", "<br/>"), style)


def _foot(canvas: Any, document: Any) -> None:
    canvas.saveState()
    canvas.setFont(FONT, 6.5)
    canvas.setFillColor(_colour("ink-3"))
    canvas.drawRightString(A4[0] - MARGIN, 9 * mm, f"Page {document.page}")
    canvas.restoreState()


@lru_cache(maxsize=1)
def _register() -> None:
    fonts = Path(reportlab.__file__).parent / "fonts"
    pdfmetrics.registerFont(TTFont(FONT, str(fonts / "Vera.ttf")))
    pdfmetrics.registerFont(TTFont(BOLD, str(fonts / "VeraBd.ttf")))


@lru_cache(maxsize=32)
def _colour(token: str) -> Color:
    """A colour of the light theme by its name."""
    found = re.search(rf"--{token}:\s*light-dark\((#[0-9a-f]{{6}}),", style())
    return HexColor(found[1] if found else 0)
