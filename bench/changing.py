"""Changes made inside the server process, for the live benchmark: through `settle`, or raw."""

import json
import threading
import time
from typing import Any

from django.db import connections, transaction
from django.http import HttpRequest, JsonResponse

from gangline.db.clock import db_now
from workloads import wording
from workloads.models import Attempt, Workload
from workloads.services import status

TICKS = 100
"""Most transactions a second: above that several changes share one, as a watcher's do."""

made: list[tuple[str, float]] = []
sockets: dict[Any, Any] = {}
"""Queue of each open raw socket, and its event loop."""


def start(request: HttpRequest) -> JsonResponse:
    """Begin: ``rate`` changes a second for ``seconds``, over the rows in turn."""
    rate, seconds = int(request.GET["rate"]), float(request.GET["seconds"])
    change = {"raw": _raw, "product": _settled}[request.GET["kind"]]
    made.clear()
    threading.Thread(target=_run, args=(change, rate, seconds), daemon=True).start()
    return JsonResponse({})


def result(request: HttpRequest) -> JsonResponse:
    """(row, moment in ms) of every change so far."""
    return JsonResponse({"made": made})


def _run(change: Any, rate: int, seconds: float) -> None:
    keys = [str(key) for key in Workload.objects.order_by("name").values_list("pk", flat=True)]
    ticks = min(rate, TICKS)
    began = time.monotonic()
    for tick in range(int(ticks * seconds)):
        wait = began + tick / ticks - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        elif wait < -seconds:
            break
        first = tick * (rate // ticks)
        places = [(first + n) % len(keys) for n in range(rate // ticks)]
        change([(place, keys[place]) for place in places])
    connections.close_all()


def _settled(rows: list[tuple[int, str]]) -> None:
    """A changed reason of waiting, through everything that a real change goes through."""
    keys = [key for _, key in rows]
    stamp = time.time() * 1000
    with transaction.atomic():
        workloads = list(Workload.objects.select_for_update().filter(pk__in=keys).order_by("pk"))
        Attempt.objects.filter(workload__in=workloads).update(
            wait_code=wording.CLUSTER, wait_params={"text": f"Waits since {stamp:.3f}."}
        )
        status.settle_all(workloads, now=db_now())
    made.extend((key, stamp) for key in keys)


def _raw(rows: list[tuple[int, str]]) -> None:
    stamp = time.time() * 1000
    for queue, loop in list(sockets.items()):
        for place, _ in rows:
            loop.call_soon_threadsafe(queue.put_nowait, json.dumps([place, f"{stamp:.3f}"]))
    made.extend((f"c{place}", stamp) for place, _ in rows)
