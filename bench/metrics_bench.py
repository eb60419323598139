"""What sampling costs a supervisor, and how fast figures become a page."""

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import servers
from bench.loads import Samples, in_turns, row
from bench.report import Row, Target

if TYPE_CHECKING:
    from gangline.accounts.models import User

GANGS = (4, 64, 512)
BUCKETS, ROUNDS, SAMPLES = 240, 12, 300
THREADS = """
import threading, time
for _ in range(16):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)
"""
PROCESSES = 4


def run() -> list[Row]:
    sampled = _sampled()
    share = sorted(sampled.cpu)[len(sampled.cpu) // 2] / 5000 * 100
    rows = [
        row("metrics", f"one sample of {PROCESSES} processes of 17 threads", sampled,
            targets=(Target("median", 25),),
            note=f"{share:.3f} % of a core at one sample in 5 s"),
    ]  # fmt: skip
    with servers.place() as place:
        place.manage("migrate", "--verbosity", "0")
        keys = place.inside("bench.metrics_bench:prepare")
        for pods, key in zip(GANGS, keys, strict=True):
            found: dict[str, Any] = place.inside("bench.metrics_bench:measure", key=key)
            times = {name: Samples(**one) for name, one in found["times"].items()}
            targets = (Target("median", 30),) if pods == GANGS[0] else ()
            note = f"{BUCKETS} buckets a pod"
            rows += [
                row("metrics", f"figures and charts of {pods} pods", times["charts"],
                    targets=targets, floor=times["bytes"], floor_name="the files alone", note=note),
                row("metrics", f"the report's page of {pods} pods", times["page"]),
            ]  # fmt: skip
    return rows


def _sampled() -> Samples:
    """The sampler of a supervisor on real processes, as often as it can."""
    from gangline.drivers.local.shim import tree
    from gangline.drivers.local.shim.sampler import Sampler

    found = Samples()
    with tempfile.TemporaryDirectory() as folder:
        children = [subprocess.Popen(["python3", "-c", THREADS]) for _ in range(PROCESSES)]
        try:
            time.sleep(1)
            sampler = Sampler({"name": "worker-0", "env": {}}, folder)
            sampler.begin()
            processes = [p for p in tree.descendants(os.getpid()) if p.pid in _pids(children)]
            for _ in range(SAMPLES):
                began, busy = time.perf_counter(), time.process_time()
                sampler.sample(processes)
                found.cpu.append((time.process_time() - busy) * 1000)
                found.wall.append((time.perf_counter() - began) * 1000)
        finally:
            for child in children:
                child.kill()
                child.wait()
    return found


def _pids(children: "list[subprocess.Popen[bytes]]") -> set[int]:
    return {child.pid for child in children}


def prepare() -> list[str]:
    """Inside: workloads of this machine."""
    from django.conf import settings

    from bench import organisation, rules
    from gangline.clusters.connections import host_id
    from gangline.clusters.models import Cluster

    world = organisation.make()
    Cluster.objects.update(host_id=host_id(settings.GANGLINE.data_dir))
    user = world.by_name[organisation.ADMINISTRATOR]
    made = []
    for pods in GANGS:
        body = rules.usual_body(f"gang-{pods}", world.projects[0].pk, str(world.cluster.pk))
        body |= {"configuration": "workersOnly"}
        body["spec"]["numWorkers"] = pods
        made.append(_gang(user, body, pods))
    return made


def _gang(user: "User", body: dict[str, Any], pods: int) -> str:
    """A workload with figures of every pod."""
    from django.conf import settings

    from gangline.access.actor import Actor
    from gangline.db.clock import db_now
    from gangline.drivers.metrics.recorder import Recorder
    from workloads.models import Attempt, Replica
    from workloads.services import bodies, submission

    actor = Actor(user=user, channel="api")
    workload = submission.submit(actor=actor, request=bodies.read(user, body)).workload
    attempt = Attempt.objects.get(workload=workload)
    now, logs = db_now(), settings.GANGLINE.data_dir / "logs" / str(workload.pk) / "1"
    Replica.objects.bulk_create(
        Replica(attempt=attempt, role="worker", index=n, rank=n, state="Running", started_at=now)
        for n in range(pods)
    )
    for pod in range(pods):
        recorder = Recorder(logs / f"worker-{pod}")
        for second in range(BUCKETS):
            values = {"cpu": 1 + (second + pod) % 7 / 7, "memory": 1e9 + second * 1e6}
            recorder.add(now.timestamp() + second, values | {"read": 5e5, "written": 1e5})
        recorder.close()
    return str(workload.pk)


def measure(key: str) -> dict[str, Any]:
    """Inside: figures, charts and the page, in turns with a bare read of the files."""
    from django.conf import settings

    from bench import organisation
    from bench.wsgi import Browser
    from workloads.models import Workload
    from workloads.report.summary import report_of
    from workloads.selectors import details

    browser = Browser(HTTP_COOKIE=organisation.cookie(organisation.ADMINISTRATOR))
    workload = Workload.objects.select_related("project__scope", "cluster").get(pk=key)
    attempt = details.attempts(workload)[0]
    details.expected_replicas(workload, attempt)
    files: list[Path] = sorted((settings.GANGLINE.data_dir / "logs" / key).rglob("metrics"))
    found = in_turns(
        {
            "charts": lambda: report_of(workload, attempt).charts,
            "page": lambda: browser.get(f"/workloads/{key}/report"),
            "bytes": lambda: [path.read_bytes() for path in files],
        },
        rounds=ROUNDS,
        warm=2,
    )
    return {"times": {name: one.as_json() for name, one in found.items()}}
