"""What programs ask for most, over HTTP: a token, a list, a submission, with one client and eight.

Beside each stands a bare view behind the same server and middleware, asked by as many clients.
"""

import json
from collections.abc import Callable
from typing import Any

import psutil

from bench import rules, servers
from bench.list_bench import SIZES
from bench.loads import Client, Samples, row
from bench.report import Row
from bench.servers import Place

CLIENTS = (1, 8)
BLOCKS, BLOCK = 8, 16
"""Product and bare view are asked in turns, a block of requests each."""
BARE = "/bench/rows/newest"
Made = Callable[[int], list[bytes]]


def run() -> list[Row]:
    found: list[Row] = []
    with servers.places(DJANGO_SETTINGS_MODULE="bench.settings") as each:
        for place in each:
            for size in SIZES:
                place.inside("bench.list_bench:fill", count=size)
                where = place.inside("bench.api_bench:prepare")
                place.serve()
                found += _measure(place, size, where)
                place.stop()
    return found


def prepare() -> dict[str, Any]:
    """Inside: who asks, and where they submit to."""
    from bench import organisation

    world = organisation.make_once()
    return {
        "token": organisation.token(organisation.ADMINISTRATOR),
        "project": world.projects[0].pk,
        "cluster": str(world.cluster.pk),
    }


def _measure(place: Place, size: int, where: dict[str, Any]) -> list[Row]:
    caller = Client(place.port, {"Authorization": where["token"]})
    stranger = Client(place.port)
    key = caller.request("POST", "/api/v1/access-keys", {"name": f"bench-{size}"})
    granted = json.loads(caller.send([key]).bodies[0])
    asked = {
        "grantType": "client_credentials",
        "clientId": granted["clientId"],
        "clientSecret": granted["clientSecret"],
    }
    made = 0

    def submissions(count: int) -> list[bytes]:
        nonlocal made
        made += count
        return [
            caller.request(
                "POST",
                "/api/v1/workloads/distributed",
                rules.usual_body(f"api-{size}-{number}", where["project"], where["cluster"]),
            )
            for number in range(made - count, made)
        ]

    works: dict[str, tuple[Client, int, Made]] = {
        "token": (stranger, 200, lambda n: [stranger.request("POST", "/api/v1/token", asked)] * n),
        "list": (caller, 200, lambda n: [caller.request("GET", "/api/v1/workloads?limit=50")] * n),
        "submit": (caller, 202, submissions),
    }
    server = psutil.Process(place.processes[-1].pid)
    found = []
    for name, (client, status, requests) in works.items():
        for clients in CLIENTS:
            own, bare, rate = _in_turns(server, client, caller, status, requests, clients)
            what = f"{place.database}, {size // 1000}k workloads, {name}, "
            what += "1 client" if clients == 1 else f"{clients} clients"
            note = f"{rate:.0f} requests/s"
            found.append(row("api", what, own, floor=bare, floor_name="bare view", note=note))
    return found


def _in_turns(
    server: psutil.Process,
    client: Client,
    caller: Client,
    status: int,
    requests: Made,
    clients: int,
) -> tuple[Samples, Samples, float]:
    """Samples of the product, of the bare view, and requests of the product in a second."""
    own, bare, seconds = Samples(), Samples(), 0.0
    for number in range(-1, BLOCKS):
        for samples, asks, by, expected in (
            (own, requests(BLOCK), client, status),
            (bare, [caller.request("GET", BARE)] * BLOCK, caller, 200),
        ):
            before = sum(server.cpu_times()[:2])
            answers = by.send(asks, clients=clients).expect(expected)
            if number < 0:
                continue  # to be warm
            samples.wall += answers.samples.wall
            samples.cpu.append((sum(server.cpu_times()[:2]) - before) / BLOCK * 1000)
            seconds += answers.seconds if samples is own else 0.0
    return own, bare, BLOCKS * BLOCK / seconds
