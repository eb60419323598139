"""Raw limits inside the product's own process: the same rows and nothing around them."""

import time
import uuid
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from gangline.audit.models import AuditEntry
from gangline.resources.registry import get
from workloads.api.representation import LIST_COLUMNS
from workloads.models import Attempt, Draft, Event, Workload

PAGE = 50
_LIVE = Q(deleted_at__isnull=True)
NEWEST = ("-created_at", "-id")


def case(name: str) -> QuerySet[Workload]:
    """The rows of one case of the list benchmark, without asking who wants them."""
    rows = Workload.objects.filter(_LIVE)
    found = {
        "newest": lambda: rows.order_by(*NEWEST),
        "status": lambda: rows.filter(status="Running").order_by(*NEWEST),
        "project": lambda: rows.filter(project_name="project-03").order_by(*NEWEST),
        "small": lambda: rows.filter(project_name="project-19").order_by(*NEWEST),
        "two": lambda: rows.filter(project_name__in=("project-00", "project-01")).order_by(*NEWEST),
        "name": lambda: rows.order_by("name", "created_at", "id"),
        "gpus": lambda: rows.order_by("-gpus", *NEWEST),
        "owner": lambda: rows.order_by("owner_name", "created_at", "id"),
        "search": lambda: rows.filter(
            Q(name__icontains="bert") | Q(project_name__icontains="bert")
            | Q(owner_name__icontains="bert")
        ).order_by(*NEWEST),
        "next": lambda: rows.filter(created_at__lt=_middle()).order_by(*NEWEST),
    }[name]()  # fmt: skip
    return found[:PAGE]


def _middle() -> Any:
    global _moment
    if _moment is None:
        _moment = Workload.objects.order_by(*NEWEST).values_list("created_at", flat=True)[PAGE]
    return _moment


_moment: Any = None


def rows(request: HttpRequest, case: str) -> HttpResponse:
    """A bare view: one query, plain dicts, one JSON text."""
    found = list(globals()["case"](case).values(*LIST_COLUMNS))
    return HttpResponse(orjson.dumps(found), content_type="application/json")


def resource(request: HttpRequest, key: str) -> HttpResponse:
    """The same for the first rows of any resource."""
    found = list(get(key).model._default_manager.order_by("pk")[:PAGE].values())
    return HttpResponse(orjson.dumps(found, default=str), content_type="application/json")


def draft(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The same for what a draft holds."""
    found = Draft.objects.values("inputs", "versions").get(pk=pk)
    return HttpResponse(orjson.dumps(found), content_type="application/json")


@csrf_exempt
def insert(request: HttpRequest) -> JsonResponse:
    """Store again what the newest submission stored, in one transaction; how long that took."""
    workload = Workload.objects.order_by(*NEWEST)[0]
    attempt = Attempt.objects.get(workload=workload)
    event = Event.objects.filter(workload=workload)[0]
    entry = AuditEntry.objects.order_by("-pk")[0]
    key = uuid.uuid4()
    copies = [
        _row(workload, id=key, name=f"copy-{key.hex[:20]}", due_at=None),
        _row(attempt, workload_id=key),
        _row(event, workload_id=key),
        _row(entry),
    ]
    began, busy = time.perf_counter(), time.thread_time()
    with transaction.atomic(), connection.cursor() as cursor:
        for sql, values in copies:
            cursor.execute(sql, values)
    used, took = time.thread_time() - busy, time.perf_counter() - began
    return JsonResponse({"wall": took * 1000, "cpu": used * 1000})


def _row(like: Any, **values: Any) -> tuple[str, list[Any]]:
    """INSERT of a row like ``like``; a number of its own comes from the database."""
    fields = [f for f in like._meta.concrete_fields if not (f.primary_key and "id" not in values)]
    columns = ", ".join(connection.ops.quote_name(f.column) for f in fields)
    marks = ", ".join("%s" for _ in fields)
    given = [
        f.get_db_prep_save(values.get(f.attname, getattr(like, f.attname)), connection)
        for f in fields
    ]
    table = connection.ops.quote_name(like._meta.db_table)
    return f"INSERT INTO {table} ({columns}) VALUES ({marks})", given


def raw_page(request: HttpRequest) -> HttpResponse:
    """A table that a raw WebSocket changes."""
    cells = "".join(f'<tr><td id="c{number}"></td></tr>' for number in range(PAGE))
    script = (
        "const s = new WebSocket(`ws://${location.host}/bench/socket`);"
        "s.onmessage = (e) => { const [n, t] = JSON.parse(e.data);"
        "document.getElementById(`c${n}`).textContent = t; };"
    )
    answer = HttpResponse(
        f"<!doctype html><title>Raw</title><table>{cells}</table><script>{script}</script>"
    )
    answer["Content-Security-Policy"] = "default-src 'unsafe-inline'; connect-src ws: http:"
    return answer
