"""The report of an attempt: its tab, and its downloads as HTML, PDF and CSV."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET

from gangline.access.actor import actor_of
from gangline.lib.texts import whole
from gangline.web.streams import streamed
from workloads.models import Attempt, Workload
from workloads.parts import DOWNLOADS, report_context
from workloads.report import csv
from workloads.report.style import style
from workloads.report.summary import Report, report_of
from workloads.selectors import details


def context(request: HttpRequest, workload: Workload, newest: str) -> dict[str, Any]:
    """What the tab shows: ``newest`` is the part of the newest attempt, drawn already."""
    attempt = _attempt(request, workload)
    if attempt.no == workload.attempt_no:
        return {"is_newest": True, "body": newest}
    shown = report_context(workload, attempt)
    body = render_to_string("workloads/parts/report.html", shown)
    return {"is_newest": False, "body": body}


@login_required
@require_GET
def download(
    request: HttpRequest, workload_id: UUID, kind: str
) -> HttpResponse | StreamingHttpResponse:
    """One attempt as a file: a page that needs nothing else, a PDF, or a table."""
    if kind not in DOWNLOADS:
        raise Http404
    user = actor_of(request, "form").user
    workload = details.visible_workload(user, workload_id, even_deleted=True)
    report = report_of(workload, _attempt(request, workload))
    name = f"{workload.name}_attempt-{report.attempt.no}_report.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if kind == "pdf":
        from workloads.report import pdf  # 0.3 s that no other page need wait for

        return HttpResponse(pdf.made(report), content_type="application/pdf", headers=headers)
    if kind == "html":
        return HttpResponse(document(report), headers=headers)
    rows: Iterator[str] = csv.lines(report)
    return streamed(request, rows, content_type="text/csv; charset=utf-8", headers=headers)


def document(report: Report) -> str:
    """A page with its style in it, which opens without Gangline and asks nobody for anything."""
    shown = report_context(report.workload, report.attempt, is_file=True)
    return render_to_string("workloads/report/document.html", shown | {"style": _style()})


def _style() -> SafeString:
    """The product's own, as an element; it holds nothing that anybody has typed."""
    return mark_safe(f"<style>{style()}</style>")  # noqa: S308


def _attempt(request: HttpRequest, workload: Workload) -> Attempt:
    asked = request.GET.get("attempt", "")
    no = whole(asked) if asked else workload.attempt_no
    attempt = details.attempt_of(workload, no) if no else None
    if attempt is None:
        raise Http404
    return attempt
