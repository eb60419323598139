"""The tab with the files that an attempt left, and the download of one."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from gangline.access.actor import actor_of
from gangline.access.refusals import NotAllowed
from gangline.drivers.results import RUN, Entry, Kind
from gangline.web.streams import downloaded
from workloads.models import Workload
from workloads.selectors import details
from workloads.services import files


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    kind: str
    size: int | None
    modified: Any
    url: str
    """Empty: it is not opened."""
    download: str


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    url: str
    is_current: bool


def context(request: HttpRequest, workload: Workload) -> dict[str, Any]:
    """What the tab shows: a folder, or in words why none is shown."""
    user = actor_of(request, "form").user
    try:
        asked = files.asked(request.META.get("QUERY_STRING", ""))
    except files.BadPlace:
        raise Http404 from None
    try:
        opened = files.opened_of(user, workload, asked)
    except NotAllowed as why:
        return {"refusal": why.sentence}
    except files.NoFiles as why:
        return {"refusal": str(why)}
    shown: dict[str, Any] = {
        "attempts": details.attempts(workload),
        "attempt": opened.attempt,
        "places": [
            Choice(
                "Run folder" if one.key == RUN else f"Working folder {one.path}",
                address(workload, "tab", files.Asked(asked.attempt, one.key)),
                one.key == asked.place,
            )
            for one in opened.places
        ],
        "trail": _trail(workload, asked),
        "again": address(workload, "tab", asked),
    }
    try:
        found = opened.look()
    except files.NoFiles as why:
        return shown | {"trouble": str(why)}
    if isinstance(found, Entry):
        return shown | {"file": _row(workload, asked, found, asked.path)}
    rows = [_row(workload, asked, one, (*asked.path, one.name)) for one in found.entries]
    return shown | {"rows": rows, "is_cut": found.is_cut}


@login_required
@require_GET
def download(request: HttpRequest, workload_id: UUID) -> HttpResponse | StreamingHttpResponse:
    """One file, piece by piece; what cannot be read sends back to the tab, which says why."""
    actor = actor_of(request, "form")
    try:
        asked = files.asked(request.META.get("QUERY_STRING", ""))
    except files.BadPlace:
        raise Http404 from None
    try:
        opened = files.opened(actor.user, workload_id, asked)
        content = opened.download(actor)
    except files.NoFiles:
        return redirect(f"{reverse('workload-tab', args=[workload_id, 'files'])}?"
                        f"{files.query_of(asked)}")  # fmt: skip
    name = files.shown(asked.path[-1])
    return downloaded(request, content.pieces, name=name, size=content.size)


def address(workload: Workload, what: str, asked: files.Asked) -> str:
    if what == "tab":
        url = reverse("workload-tab", args=[workload.pk, "files"])
    else:
        url = reverse("workload-file", args=[workload.pk])
    query = files.query_of(asked)
    return f"{url}?{query}" if query else url


def _row(workload: Workload, asked: files.Asked, one: Entry, path: tuple[bytes, ...]) -> Row:
    at, is_file = replace(asked, path=path), one.kind is Kind.FILE
    opens = one.kind in (Kind.FOLDER, Kind.LINK)
    return Row(
        name=files.shown(one.name),
        kind=one.kind,
        size=one.size if is_file else None,
        modified=one.modified,
        url=address(workload, "tab", at) if opens else "",
        download=address(workload, "file", at) if is_file else "",
    )


def _trail(workload: Workload, asked: files.Asked) -> list[Choice]:
    """The folders on the way, each with its address."""
    steps = [replace(asked, path=asked.path[:count]) for count in range(1, len(asked.path) + 1)]
    return [
        Choice(files.shown(one.path[-1]), address(workload, "tab", one), one == asked)
        for one in steps
    ]
