"""Making load and timing it, product and raw limit in turns: both then meet the same noise."""

import asyncio
import json
import ssl
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.report import Row, Target


@dataclass(slots=True)
class Samples:
    """Milliseconds of wall and of processor time, one per piece of work."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, list[float]]:
        return {"wall": self.wall, "cpu": self.cpu}


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def until(is_reached: Callable[[], object], seconds: float = 60.0, *, every: float = 0.2) -> None:
    """Wait for it. Raises AssertionError when it takes longer."""
    deadline = time.monotonic() + seconds
    while not is_reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"Not reached in {seconds:.0f} s.")
        time.sleep(every)


def in_turns(
    works: Mapping[str, Callable[[], object]], *, rounds: int, warm: int = 5
) -> dict[str, Samples]:
    """Run every work once per round, in turns, in this thread."""
    found = {name: Samples() for name in works}
    for number in range(-warm, rounds):
        for name, work in works.items():
            began, busy = time.perf_counter(), time.thread_time()
            work()
            used = time.thread_time() - busy
            took = time.perf_counter() - began
            if number >= 0:
                found[name].wall.append(took * 1000)
                found[name].cpu.append(used * 1000)
    return found


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Milliseconds of each change until it was seen, and rows that do not show their last one."""

    latencies: list[float]
    missing: int


def arrivals(
    made: Sequence[tuple[str, float]], seen: Mapping[str, Sequence[tuple[float, float]]]
) -> Arrivals:
    """``made``: (key, stamp); ``seen``: (stamp, moment) by key, both in ms.

    A change that a newer one overtook counts until the newer one is there.
    """
    latencies, last = [], {}
    for key, stamp in made:
        last[key] = stamp
        shown = seen.get(key, ())
        place = bisect_left(shown, (round(stamp, 3) - 0.0005, 0.0))
        if place < len(shown):
            latencies.append(shown[place][1] - stamp)
    missing = sum(
        not seen.get(key) or seen[key][-1][0] < stamp - 0.001 for key, stamp in last.items()
    )
    return Arrivals(latencies, missing)


def row(
    bench: str,
    what: str,
    samples: Samples,
    *,
    floor: Samples | None = None,
    floor_name: str = "",
    targets: tuple[Target, ...] = (),
    note: str = "",
) -> Row:
    """Median and p95 of the wall time. The ratio is of processor times where they are known:

    on a machine that others use too, a wall time holds their work as well.
    """
    ratio = None
    if floor is not None:
        both = samples.cpu and floor.cpu
        ratio = median(samples.cpu if both else samples.wall) / median(
            floor.cpu if both else floor.wall
        )
    return Row(
        bench=bench,
        what=what,
        median=median(samples.wall),
        p95=percentile(samples.wall, 0.95),
        cpu=median(samples.cpu) if samples.cpu else None,
        floor=median(floor.wall) if floor else None,
        floor_name=floor_name,
        ratio=ratio,
        targets=targets,
        note=note,
    )


@dataclass(frozen=True, slots=True)
class Client:
    """Sends prepared requests over kept connections; costs little, so it measures the server."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    content_type: str = "application/json"

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        """The bytes of one request; ``body`` is JSON, as values or as bytes."""
        content = body if isinstance(body, bytes) else b""
        if body is not None and not content:
            content = json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
            f"Content-Length: {len(content)}",
        ]
        if content:
            lines.append(f"Content-Type: {self.content_type}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content

    def send(self, requests: Sequence[bytes], *, clients: int = 1) -> "Answers":
        """Send them all, ``clients`` at a time, and wait for every answer."""
        return asyncio.run(self._send(list(requests), clients))

    async def connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One more connection."""
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls)

    async def _send(self, requests: list[bytes], clients: int) -> "Answers":
        answers = Answers()
        waiting = iter(requests)
        began = time.perf_counter()
        await asyncio.gather(*(self._one_client(waiting, answers) for _ in range(clients)))
        answers.seconds = time.perf_counter() - began
        return answers

    async def _one_client(self, waiting: Any, answers: "Answers") -> None:
        reader, writer = await self.connected()
        for request in waiting:
            began = time.perf_counter()
            writer.write(request)
            status, body = await answered(reader)
            answers.samples.wall.append((time.perf_counter() - began) * 1000)
            answers.statuses.append(status)
            answers.bodies.append(body)
        writer.close()
        await writer.wait_closed()


@dataclass(slots=True)
class Answers:
    """What came back, in the order in which it came."""

    samples: Samples = field(default_factory=Samples)
    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    seconds: float = 0.0

    def expect(self, status: int) -> "Answers":
        """Raise unless every answer has this status."""
        for got, body in zip(self.statuses, self.bodies, strict=True):
            if got != status:
                raise AssertionError(f"{got} instead of {status}: {body[:500].decode()}")
        return self


async def answered(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of the next answer on a connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    length, chunked = 0, False
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        elif line.startswith(b"transfer-encoding:"):
            chunked = True
    if not chunked:
        return int(head[9:12]), await reader.readexactly(length)
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return int(head[9:12]), body
