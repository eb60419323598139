"""Status changes of pods at a steady rate, put into etcd from a process of their own."""

import asyncio
import base64
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import kubernetes_store
from bench.loads import Client, answered

STAMP = b"0000000000000.000"
CONNECTIONS = 24


def write_plan(path: Path, pods: list[dict[str, Any]]) -> None:
    """Store what `run` sends: for each pod what etcd holds of it, ill with a stamp, and well.

    ``pods``: {"key", "shown", "workload", "index", "probe", "ill", "well"}, the last two as bytes.
    """
    path.write_text(json.dumps([
        pod | {kind: base64.b64encode(pod[kind]).decode() for kind in ("ill", "well")}
        for pod in pods
    ]))  # fmt: skip


def run(port: int, plan: str, rate: int, probes: int, seconds: float, order: str) -> dict[str, Any]:
    """Inside: ``rate`` changes a second, ``probes`` of them of probed pods. etcd is at ``port``.

    ``order``: ``gangs``, the pods of one after the other, or ``scattered``. Returns every change
    of a probe as (workload, stamp in ms), the last stamp of each pod, 0 for one that was left well,
    and how many changes were made in how long.
    """
    pods = [
        pod | {kind: base64.b64decode(pod[kind]) for kind in ("ill", "well")}
        for pod in json.loads(Path(plan).read_text())
    ]
    if order == "scattered":
        pods.sort(key=lambda pod: pod["index"])
    return asyncio.run(_Load(Client(port), pods).run(rate, probes, seconds))


class _Load:
    """Pods change in turns: a gang's one after the other, ill in one round and well in the next."""

    def __init__(self, store: Client, pods: list[dict[str, Any]]) -> None:
        self.store = store
        self.probed = itertools.cycle([pod for pod in pods if pod["probe"]])
        self.others = itertools.chain.from_iterable(
            [(pod, is_ill) for pod in pods if not pod["probe"]]
            for is_ill in itertools.cycle((True, False))
        )
        self.made: list[tuple[str, float]] = []
        self.last: dict[str, float] = {}
        self.count = 0

    async def run(self, rate: int, probes: int, seconds: float) -> dict[str, Any]:
        began = time.monotonic()
        due = self._due(rate, probes, seconds, began)
        await asyncio.gather(*(self._one(due) for _ in range(CONNECTIONS)))
        took = time.monotonic() - began
        return {"made": self.made, "last": self.last, "count": self.count, "seconds": took}

    def _due(
        self, rate: int, probes: int, seconds: float, began: float
    ) -> Iterator[tuple[float, dict[str, Any], bool]]:
        """Each change with its moment; what cannot be sent in time is not made up for."""
        every = rate // probes
        for number in itertools.count():
            at = began + number / rate
            if time.monotonic() - began > seconds:
                return
            if number % every == 0:
                yield at, next(self.probed), True
            else:
                pod, is_ill = next(self.others)
                yield at, pod, is_ill

    async def _one(self, due: Iterator[tuple[float, dict[str, Any], bool]]) -> None:
        reader, writer = await self.store.connected()
        for at, pod, is_ill in due:
            if (wait := at - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            stamp = time.time() * 1000
            # Of the same length, so that what surrounds it stays whole.
            ill = pod["ill"].replace(STAMP, f"{stamp:.3f}".encode())
            writer.write(
                kubernetes_store.put(self.store, pod["key"], ill if is_ill else pod["well"])
            )
            status, told = await answered(reader)
            if status != 200:
                raise AssertionError(f"{status}: {told[:500].decode()}")
            self.count += 1
            self.last[pod["shown"]] = stamp if is_ill else 0.0
            if pod["probe"]:
                self.made.append((pod["workload"], stamp))
        writer.close()
