"""Submitting over HTTP under 50 rules in four scopes, beside raw INSERTs of the same rows."""

import json
from typing import Any

import psutil

from bench import rules, servers
from bench.loads import Client, Samples, percentile, row
from bench.report import Row, Target
from bench.servers import Place

BLOCKS, BLOCK = 10, 10
CROWD, CLIENTS, ROUNDS = 80, 8, 3
PATH = "/api/v1/workloads/distributed"


def run() -> list[Row]:
    found: list[Row] = []
    with servers.places(DJANGO_SETTINGS_MODULE="bench.settings") as each:
        for place in each:
            where = place.inside("bench.submit_bench:prepare")
            place.serve()
            found += _measure(place, where)
    return found


def prepare() -> dict[str, Any]:
    """Inside: an organisation whose first project has rules in every scope above it."""
    from bench import organisation

    world = organisation.make()
    organisation.rule(world.projects[0])
    return {
        "token": organisation.token(organisation.RESEARCHER),
        "project": world.projects[0].pk,
        "cluster": str(world.cluster.pk),
    }


def _measure(place: Place, where: dict[str, Any]) -> list[Row]:
    client = Client(place.port, {"Authorization": where["token"]})
    made = 0

    def submissions(count: int) -> list[bytes]:
        nonlocal made
        made += count
        return [
            client.request(
                "POST", PATH, rules.body(f"w{number}", where["project"], where["cluster"])
            )
            for number in range(made - count, made)
        ]

    client.send(submissions(BLOCK)).expect(202)
    alone, raw = Samples(), Samples()
    server = psutil.Process(place.processes[-1].pid)
    for _ in range(BLOCKS):
        before = sum(server.cpu_times()[:2])
        alone.wall += client.send(submissions(BLOCK)).expect(202).samples.wall
        alone.cpu.append((sum(server.cpu_times()[:2]) - before) / BLOCK * 1000)
        inserted = client.send([client.request("POST", "/bench/insert")] * BLOCK).expect(200)
        raw.wall += [json.loads(body)["wall"] for body in inserted.bodies]
        raw.cpu += [json.loads(body)["cpu"] for body in inserted.bodies]
    rates, crowd = [], Samples()
    for _ in range(ROUNDS):
        answers = client.send(submissions(CROWD), clients=CLIENTS).expect(202)
        rates.append(CROWD / answers.seconds)
        crowd.wall += answers.samples.wall
    is_postgres = place.database == "PostgreSQL"
    return [
        row(
            "submit", f"{place.database}, 1 client", alone, floor=raw, floor_name="raw INSERTs",
            targets=(Target("median", 25),), note=f"{rules.count()} rules, every field said",
        ),
        row(
            "submit", f"{place.database}, {CLIENTS} clients", crowd,
            targets=(Target("p95", 300),) if is_postgres else (), note="one web process",
        ),
        Row(
            "submit", f"{place.database}, rate of {CLIENTS} clients", median=percentile(rates, 0.5),
            unit="/s", targets=(Target("median", 40, at_least=True),) if is_postgres else (),
            note=f"{min(rates):.0f} to {max(rates):.0f} in {ROUNDS} rounds",
        ),
    ]  # fmt: skip
