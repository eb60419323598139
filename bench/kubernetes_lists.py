"""Listing all pods of an installation as the watcher does, beside the bare pages."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from bench import kubernetes_bed
from bench.loads import Samples
from gangline.drivers.kubernetes import labels
from gangline.drivers.kubernetes.client import Client
from gangline.drivers.kubernetes.jobs import Job
from gangline.drivers.kubernetes.pods import Pod
from gangline.drivers.kubernetes.reflector import Reflector
from gangline.drivers.kubernetes.resources import PODS, Resource
from gangline.drivers.kubernetes.watcher import Listener, Store

ROUNDS = 4
SECONDS = 300


def compare(access: str, install: str) -> dict[str, Any]:
    """Inside: wall and processor time of both in turns, and the size of what comes."""
    client = Client(kubernetes_bed.access(access, "restricted"))
    selector = labels.selector(install)
    size = 0

    def bare() -> None:
        nonlocal size
        size = _bare(client, selector)

    works: dict[str, Callable[[], None]] = {
        "product": lambda: _product(client, install),
        "bare": bare,
    }
    times = {name: Samples() for name in works}
    for number in range(-1, ROUNDS):
        for name, work in works.items():
            began, busy = time.perf_counter(), time.process_time()
            work()
            if number >= 0:
                times[name].wall.append((time.perf_counter() - began) * 1000)
                times[name].cpu.append((time.process_time() - busy) * 1000)
    found = {name: samples.as_json() for name, samples in times.items()}
    return {**found, "megabytes": size / 10**6}


class _Told(Store):
    """Tells when the first list is stored."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.listed_once = threading.Event()

    def listed(
        self, resource: Resource, kept: list[Job | Pod], read_at: float, namespace: str = ""
    ) -> None:
        super().listed(resource, kept, read_at, namespace)
        self.listed_once.set()


def _product(client: Client, install: str) -> None:
    """The product's reflector into the product's store, to the end of its first list."""
    store = _Told({}, Listener())
    reflector = Reflector(client, PODS, labels.selector(install), store)
    reflector.start()
    is_listed = store.listed_once.wait(SECONDS)
    reflector.stop()
    if not is_listed:
        raise AssertionError(f"Not listed in {SECONDS} s: {store.troubles}")


def _bare(client: Client, selector: str) -> int:
    """Every page as the connection brings it, read as JSON and forgotten."""
    query: dict[str, str | int | bool] = {"limit": 500, "labelSelector": selector}
    size = 0
    while True:
        with client.stream(PODS.path(), query=query) as (_, pieces):
            page = b"".join(pieces)
        size += len(page)
        following = json.loads(page)["metadata"].get("continue")
        if not following:
            return size
        query["continue"] = following
