"""The log of a gang with a million lines: opening it, paging, and a search through 200 MB."""

import subprocess
from pathlib import Path
from typing import Any

from bench import servers
from bench.loads import Samples, in_turns, row
from bench.report import Row, Target

PODS, LINES, WIDTH = 4, 1_000_000, 160
ROUNDS, SEARCHES = 40, 5
NEEDLE = "needle-in-the-hay"


def run() -> list[Row]:
    with servers.place() as place:
        place.manage("migrate", "--verbosity", "0")
        key = place.inside("bench.log_bench:prepare")
        found: dict[str, Any] = place.inside("bench.log_bench:measure", key=key)
    times = {name: Samples(**one) for name, one in found["times"].items()}
    size = f"{found['bytes'] / 1e6:.0f} MB in {PODS} pods"
    return [
        row("log", "open the page at its end", times["open"], targets=(Target("median", 1500),),
            floor=times["tail"], floor_name="tail -n 500 of each", note=f"{LINES:,} lines, {size}"),
        row("log", "500 older lines", times["older"]),
        row("log", "search for what is nowhere", times["search"],
            targets=(Target("median", 5000),), floor=times["grep"], floor_name="grep -c",
            note=f"searched {found['searched'] / 1e6:.0f} MB"),
    ]  # fmt: skip


def prepare() -> str:
    """Inside: a workload of four pods on this machine, and what they printed."""
    from django.conf import settings

    from bench import organisation, rules
    from gangline.access.actor import Actor
    from gangline.clusters.connections import host_id
    from gangline.clusters.models import Cluster
    from workloads.services import bodies, submission

    world = organisation.make()
    folder = settings.GANGLINE.data_dir
    Cluster.objects.update(host_id=host_id(folder))
    user = world.by_name[organisation.ADMINISTRATOR]
    body = rules.usual_body("talks", world.projects[0].pk, str(world.cluster.pk))
    body |= {"configuration": "workersOnly"}
    body["spec"]["numWorkers"] = PODS
    asked = bodies.read(user, body)
    done = submission.submit(actor=Actor(user=user, channel="api"), request=asked)
    _print(folder / "logs" / str(done.workload.pk) / "1")
    return str(done.workload.pk)


def _print(folder: Path) -> None:
    """As the shim writes it, in turns, so that the merged log changes from pod to pod."""
    from gangline.drivers.logs.output import LogWriter
    from gangline.drivers.logs.segments import Limits

    writers = [LogWriter(str(folder / f"worker-{rank}"), Limits()) for rank in range(PODS)]
    block = 1000
    for first in range(0, LINES // PODS, block):
        text = b"".join(
            f"epoch {number // 500} step {number} loss {1 / (number + 1):.6f}".ljust(WIDTH).encode()
            + b"\n"
            for number in range(first, first + block)
        )
        for writer in writers:
            writer.write(b"stdout", text)
    for writer in writers:
        writer.close()


def measure(key: str) -> dict[str, Any]:
    """Inside: pages and searches in turns with `tail` and `grep` over the same files."""
    import json

    from django.conf import settings

    from bench import organisation
    from bench.wsgi import Browser

    browser = Browser(HTTP_COOKIE=organisation.cookie(organisation.ADMINISTRATOR))
    files = sorted((settings.GANGLINE.data_dir / "logs" / key).rglob("*.log"))
    before = json.loads(browser.get(f"/workloads/{key}/log").body)["before"]
    answer = json.loads(browser.get(f"/workloads/{key}/log?q={NEEDLE}").body)
    newest = [str(path) for path in {path.parent: path for path in files}.values()]
    pages = in_turns(
        {
            "open": lambda: browser.get(f"/workloads/{key}/logs"),
            "older": lambda: browser.get(f"/workloads/{key}/log?before={before}"),
            "tail": lambda: _call("tail", "-q", "-n", "500", *newest),
        },
        rounds=ROUNDS,
    )
    searches = in_turns(
        {
            "search": lambda: browser.get(f"/workloads/{key}/log?q={NEEDLE}"),
            "grep": lambda: _call("grep", "-c", NEEDLE, *map(str, files)),
        },
        rounds=SEARCHES,
        warm=1,
    )
    times = {name: Samples(wall=one.wall).as_json() for name, one in (pages | searches).items()}
    return {
        "times": times,
        "searched": answer["searched"],
        "bytes": sum(path.stat().st_size for path in files),
    }


def _call(*command: str) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
