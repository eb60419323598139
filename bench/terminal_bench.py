"""Key → its echo in a terminal of a pod of this machine, beside the same on a bare pty."""

import asyncio
import contextlib
import os
import pty
import select
import time
import tty

import aiohttp
import httpx

from bench import servers
from bench.gang_bench import SECONDS, body_of, until
from bench.loads import Samples, row
from bench.report import Row, Target
from bench.servers import Place

KEYS, WARM = 400, 40
ECHO = "stty raw -echo; exec cat"
"""What sends back each key alone, as a program with a screen of its own does."""


def run() -> list[Row]:
    with servers.place() as place:
        place.run()
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{place.port}/api/v1/",
            headers={"Authorization": f"Bearer {place.manage('token', 'administrator')}"},
            timeout=30,
            trust_env=False,
        )
        product = Samples(asyncio.run(_typed(place, client)))
    return [
        row("terminal", "key → echo in a pod of this machine", product, floor=Samples(_bare()),
            floor_name="bare pty", targets=(Target("p95", 50),)),
    ]  # fmt: skip


async def _typed(place: Place, client: httpx.Client) -> list[float]:
    """Milliseconds of each key, one after the other."""
    told = client.post("workloads/distributed", json=body_of(client) | {"name": "typed"}).json()
    workload = f"workloads/{told['workloadId']}"
    until(lambda: client.get(workload).json(), lambda found: found["status"] == "Running")
    asked = client.post(f"{workload}/pods/worker-0/exec", json={"command": ["sh", "-c", ECHO]})
    if asked.status_code != 201:
        raise AssertionError(asked.text)
    took = []
    async with (
        asyncio.timeout(SECONDS),
        aiohttp.ClientSession() as session,
        session.ws_connect(f"http://127.0.0.1:{place.port}/api/v1/terminals") as socket,
    ):
        await socket.send_json({"type": "open", "ticket": asked.json()["ticket"]})
        await socket.receive_json()
        await asyncio.sleep(0.5)
        for number in range(-WARM, KEYS):
            began = time.perf_counter()
            await socket.send_bytes(b"\0k")
            if await socket.receive_bytes() != b"\x01k":
                raise AssertionError("Something else than the key came back.")
            if number >= 0:
                took.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.002)
    client.delete(f"workloads/distributed/{told['workloadId']}")
    return took


def _bare() -> list[float]:
    """The same program on a terminal of this process."""
    child, fd = pty.fork()
    if child == 0:
        os.execv("/bin/sh", ["sh", "-c", ECHO])
    tty.setraw(fd)
    time.sleep(0.5)
    took = []
    for number in range(-WARM, KEYS):
        began = time.perf_counter()
        os.write(fd, b"k")
        select.select([fd], [], [], SECONDS)
        os.read(fd, 1)
        if number >= 0:
            took.append((time.perf_counter() - began) * 1000)
        time.sleep(0.002)
    os.close(fd)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
    return took
