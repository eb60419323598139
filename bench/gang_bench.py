"""Submit → all three processes of a local gang running, beside fork and exec of three."""

import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from bench import servers
from bench.loads import Samples, row
from bench.report import Row, Target
from bench.servers import Place

ROUNDS = 20
# Each process writes when it began to run its own code, by the clock that all share.
SCRIPT = "import time; print(time.time(), flush=True); time.sleep(600)"
COMMAND = f"python3 -c '{SCRIPT}'"
SECONDS = 30


def run() -> list[Row]:
    running, shown, raw = Samples(), Samples(), Samples()
    with servers.place() as place:
        place.run()
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{place.port}/api/v1/",
            headers={"Authorization": f"Bearer {place.manage('token', 'administrator')}"},
            timeout=30,
            trust_env=False,
        )
        body = body_of(client)
        for number in range(-2, ROUNDS):
            ran, told = _gang(place, client, body)
            bare = _forked()
            if number >= 0:
                running.wall.append(ran)
                shown.wall.append(told)
                raw.wall.append(bare)
    name = "fork + exec of 3"
    return [
        row("gang", "submit → 3 processes run", running, floor=raw, floor_name=name,
            targets=(Target("median", 300),)),
        row("gang", "submit → Running in the API", shown, floor=raw, floor_name=name,
            note="asked every 10 ms"),
    ]  # fmt: skip


def body_of(client: httpx.Client) -> dict[str, Any]:
    until(lambda: client.get("clusters").json(), lambda found: "Connected" in str(found))
    project = client.get("org-unit/projects").json()["projects"][0]
    return {
        "projectId": project["id"],
        "clusterId": project["clusterId"],
        "configuration": "workersOnly",
        "spec": {
            "distributedFramework": "PyTorch", "image": "local://system", "command": COMMAND,
            "numWorkers": 3, "compute": {"cpuCoreRequest": 0.1, "cpuMemoryRequest": "32M"},
        },
    }  # fmt: skip


def _gang(place: Place, client: httpx.Client, body: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds until the last process ran, and until the API said so."""
    began = time.time()
    answer = client.post("workloads/distributed", json=body | {"name": f"g{time.time_ns()}"})
    if answer.status_code != 202:
        raise AssertionError(answer.text)
    key = answer.json()["workloadId"]
    until(lambda: client.get(f"workloads/{key}").json(), _all_run)
    shown = time.time()
    logs = place.folder / "logs" / key / "1"
    stamps = until(lambda: _stamps(logs), lambda found: len(found) == 3)
    client.delete(f"workloads/distributed/{key}")
    until(lambda: client.get(f"workloads/{key}").status_code, lambda status: status == 404)
    return (max(stamps) - began) * 1000, (shown - began) * 1000


def _all_run(row: dict[str, Any]) -> bool:
    return bool(row["status"] == "Running" and row["runningPods"] == 3)


def _stamps(logs: Path) -> list[float]:
    texts = [path.read_text() for path in logs.glob("*/*.log")]
    return [float(text.split()[-1]) for text in texts if text.endswith("\n")]


def _forked() -> float:
    """The same three processes without anything around them."""
    began = time.time()
    processes = [
        subprocess.Popen(["/usr/bin/python3", "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    stamps = [float(process.stdout.readline()) for process in processes if process.stdout]
    for process in processes:
        process.kill()
        process.communicate()
    return (max(stamps) - began) * 1000


def until(ask: Any, is_reached: Any) -> Any:
    deadline = time.monotonic() + SECONDS
    while True:
        found = ask()
        if is_reached(found):
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"Not reached in {SECONDS} s: {str(found)[:1000]}")
        time.sleep(0.01)
