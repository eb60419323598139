"""The watcher of a large cluster: 200 nodes, 2 000 running workloads of 9 pods, 1 000 events/s.

What generates the events, etcd, the API server, the database and a browser share the machine with
it: how many events a watch that only reads them takes in there, with everything of ours at rest, is
measured in the same run.

`BENCH_WORKLOADS` in the environment makes it smaller, with a node for every ten workloads.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import psycopg
from playwright.sync_api import sync_playwright

from bench import kubernetes_bed, kubernetes_events, kubernetes_store, kubernetes_world, servers
from bench.busy import Busy
from bench.kubernetes_load import BENCH, BUSY_RATE, QUIET_RATE, RATE, Load, resting
from bench.kubernetes_world import Gang
from bench.loads import Client, Samples, row, until
from bench.report import Row, Target
from bench.servers import Place
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.log_collector import (
    LONGEST_PAUSE,
    MOST_TURNS,
    READS_PER_SECOND,
)
from gangline.drivers.kubernetes.resources import NAMESPACES, NODES, PODS, Resource
from scripts import services, system_packages
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.objects import SERVICE_ACCOUNTS

WORKLOADS = int(os.environ.get("BENCH_WORKLOADS") or 2_000)
WORKLOADS_PER_NODE, MOVING = 10, 300
REST, IDLE = 45.0, 60.0
PATIENCE = 600.0
OPERATORS = ("training-operator", "mpi-operator")
CONTROL = ("kube-scheduler", "kube-controller-manager")
HOOKS = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration", namespaced=False,
)  # fmt: skip
CLUSTER_LOGS = Resource("kwok.x-k8s.io", "v1alpha1", "clusterlogs", "ClusterLogs", namespaced=False)
JOBS = KINDS["PyTorch"].resource


def run() -> list[Row]:
    if why := _lacking():
        print(f"Not measured: {why}")
        return []
    with (
        kubernetes_bed.running() as bed,
        services.postgres(durable=True) as postgres,
        services.redis() as redis,
        servers.place(
            "PostgreSQL", url=postgres.url, GANGLINE_MODE="production",
            GANGLINE_REDIS_URL=redis.url, GANGLINE_CLUSTER_ADDRESSES="127.0.0.0/8",
        ) as place,
    ):  # fmt: skip
        place.environment["GANGLINE_PUBLIC_URL"] = f"http://127.0.0.1:{place.port}"
        place.manage("migrate", "--verbosity", "0")
        place.manage("collectstatic", "--noinput", "--verbosity", "0")
        access = str(kubernetes_bed.write_access(bed, place.folder))
        where = place.inside("bench.kubernetes_rows:prepare", path=access, count=WORKLOADS)
        world = _World(bed, place, access, where, kubernetes_world.gangs(where["manifests"]))
        _furnish(world)
        plan = _plan(world)
        with psycopg.connect(postgres.url, autocommit=True) as database:
            return _measure(world, plan, database, postgres.process.pid)


@dataclass
class _World:
    bed: Bed
    place: Place
    access: str
    where: dict[str, Any]
    gangs: list[Gang]
    uids: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def nodes(self) -> int:
        return max(1, len(self.gangs) // WORKLOADS_PER_NODE)

    @property
    def store(self) -> Client:
        """Its etcd."""
        return Client(self.bed.ports["etcd"])

    def uid(self, gang: Gang) -> str:
        return self.uids[(gang.namespace, gang.name)]

    def pods(self) -> Iterator[tuple[Gang, dict[str, Any]]]:
        for gang in self.gangs:
            for pod in gang.pods(self.uid(gang), self.nodes):
                yield gang, pod


def _lacking() -> str:
    if missing := system_packages.missing_parts(["postgres", "redis", "chromium"]):
        return f"Not installed here: {', '.join(missing)}."
    return kubernetes_bed.lacking()


def _furnish(world: _World) -> None:
    """Put everything on the cluster, and stop whoever would act on it."""
    bed, began = world.bed, time.monotonic()
    sender = kubernetes_bed.api(bed.admin)

    def write(method: str, status: int, pairs: Any) -> dict[tuple[str, str], str]:
        return kubernetes_bed.write(sender, method, pairs, status)

    spaces = sorted({gang.namespace for gang in world.gangs})
    write("POST", 201, [(NAMESPACES.path(), _namespace(name)) for name in spaces])
    for name in spaces:
        until(partial(_has_account, bed, name))
    for hook in bed.client.list(HOOKS).body["items"]:
        meta = hook["metadata"]
        bed.client.delete(HOOKS, "", meta["name"], uid=meta["uid"])
    first = world.gangs[0]
    for name in OPERATORS:
        bed.kill(name)
    # The API server learns a moment later that nobody checks jobs any more.
    until(lambda: bed.client.create(JOBS, first.namespace, first.job, dry_run=True).ok)
    for name in CONTROL:
        bed.kill(name)
    logs = world.place.folder / "log"
    logs.write_text("".join(f"{_stamp(n)} stdout F line {n}\n" for n in range(20)))
    write("POST", 201, [(CLUSTER_LOGS.path(), _logs_of_all(logs))])
    write("POST", 201, [(NODES.path(), node) for node in kubernetes_world.nodes(world.nodes)])
    jobs = ((JOBS.path(gang.namespace), gang.job) for gang in world.gangs)
    world.uids = write("POST", 201, jobs)
    patch = kubernetes_bed.api(bed.admin, content_type="application/merge-patch+json")
    states = ((JOBS.path(g.namespace, g.name, "status"), g.job_status()) for g in world.gangs)
    kubernetes_bed.write(patch, "PATCH", states, 200)
    write("POST", 201, ((PODS.path(gang.namespace), pod) for gang, pod in world.pods()))
    write("PUT", 200, ((_status(pod), kubernetes_world.running(pod)) for _, pod in world.pods()))
    print(f"  {len(world.gangs)} jobs with {9 * len(world.gangs)} pods on {world.nodes} nodes"
          f" written in {time.monotonic() - began:.0f} s", flush=True)  # fmt: skip


def _has_account(bed: Bed, namespace: str) -> bool:
    return bed.client.get(SERVICE_ACCOUNTS, namespace, "default").ok


def _plan(world: _World) -> str:
    """The changes of status that are sent: of each probed gang the master's alone."""
    chosen = {
        kubernetes_store.key_of(gang.namespace, pod["metadata"]["name"]): (rank, gang, pod)
        for gang in (*world.gangs[:MOVING], *world.gangs[-kubernetes_world.PROBED :])
        for rank, pod in enumerate(gang.pods(world.uid(gang), world.nodes))
        if not gang.is_probed or rank == 0
    }
    trouble = f"since {kubernetes_events.STAMP.decode()}"
    pods = {key: pod for key, (_, _, pod) in chosen.items()}
    ill = _written(world, pods, trouble)
    well = _written(world, pods)
    path = world.place.folder / "plan.json"
    kubernetes_events.write_plan(path, [
        {
            "key": key,
            "shown": f"{gang.workload}/{_replica(pod)}",
            "workload": gang.workload,
            "index": rank,
            "probe": gang.is_probed,
            "ill": ill[key],
            "well": well[key],
        }
        for key, (rank, gang, pod) in chosen.items()
    ])  # fmt: skip
    return str(path)


def _written(world: _World, pods: dict[str, Any], trouble: str = "") -> dict[str, bytes]:
    """What is stored of pods once all of them have this status: the simulated kubelet may still
    write its own, once, over that of a pod that was just made."""
    sender, stored, left = kubernetes_bed.api(world.bed.admin), dict[str, bytes](), set(pods)
    while left:
        asked = ((_status(pods[key]), kubernetes_world.running(pods[key], trouble)) for key in left)
        kubernetes_bed.write(sender, "PUT", asked, 200)
        time.sleep(2.0)
        stored = kubernetes_store.pods(world.store, pods)
        left = {key for key in pods if (kubernetes_events.STAMP in stored[key]) != bool(trouble)}
    return stored


def _measure(
    world: _World, plan: str, database: psycopg.Connection[Any], postgres: int
) -> list[Row]:
    place = world.place
    rows = _said(_lists(world))
    place.serve()
    web = place.processes[-1].pid
    rows += _said([_taking_over(world, database)])
    watcher = psutil.Process(place.processes[-1].pid)
    pids = {
        name: one.pid
        for name, one in world.bed.processes.items()
        if name not in OPERATORS + CONTROL
    }
    rows += _said([_beginning_logs(world, watcher)])
    busy = Busy({"watcher": watcher.pid, "web": web, "PostgreSQL": postgres, **pids})
    time.sleep(REST)
    rows += _said(_idle(busy, watcher))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=system_packages.chromium_program(), args=["--no-sandbox"]
        )
        context = browser.new_context()
        url = f"http://127.0.0.1:{place.port}"
        name, _, value = world.where["cookie"].partition("=")
        context.add_cookies([{"name": name, "value": value, "url": url}])
        page = context.new_page()
        probed = [gang.workload for gang in world.gangs if gang.is_probed]
        load = Load(world.bed, place, plan, database, page, busy, probed)
        rows += _said(load.measured(QUIET_RATE, "gangs", ()))
        rows += _said(load.measured(BUSY_RATE, "gangs", ()))
        rows += _said(load.measured(RATE, "gangs", (Target("p95", 250),)))
        rows += _said(load.measured(RATE, "scattered", ()))
        browser.close()
    rows.append(_memory(watcher, "after the load"))
    with resting(watcher.pid, web):
        return load.against_bare(rows)


def _said(rows: list[Row]) -> list[Row]:
    """``rows``, told at once: all of them take a quarter of an hour."""
    for one in rows:
        print(f"  {time.strftime('%H:%M:%S')} {one.what}: {one.median:.1f} {one.unit} {one.note}",
              flush=True)  # fmt: skip
    return rows


def _lists(world: _World) -> list[Row]:
    found = world.place.inside(
        "bench.kubernetes_lists:compare", access=world.access, install=world.where["install"]
    )
    ours, bare = (Samples(**found[name]) for name in ("product", "bare"))
    return [
        row(BENCH, f"list {9 * len(world.gangs)} pods", ours, floor=bare,
            floor_name="bare paged list", note=f"{found['megabytes']:.0f} MB of JSON in pages")
    ]  # fmt: skip


def _taking_over(world: _World, database: psycopg.Connection[Any]) -> Row:
    """From the start of a watcher that knows nothing to the last row that is right."""
    began = time.monotonic()
    world.place.start(str(servers.BIN / "gangline-manage"), "watch")
    process = psutil.Process(world.place.processes[-1].pid)
    until(lambda: _count(database, "Running") == len(world.gangs), PATIENCE)
    took = time.monotonic() - began
    used = sum(process.cpu_times()[:2])
    note = f"{used:.1f} s of processor time"
    what = f"start → {len(world.gangs)} rows right"
    return Row(BENCH, what, took, unit="s", note=note)


def _beginning_logs(world: _World, watcher: psutil.Process) -> Row:
    """What is read of each log at first; after that, of logs that stay silent, little."""
    count, began = 9 * len(world.gangs), time.monotonic()
    used = sum(watcher.cpu_times()[:2])
    have = _logs_begun(world.place)
    until(lambda: _logs_begun(world.place) >= count, PATIENCE)
    used, took = sum(watcher.cpu_times()[:2]) - used, time.monotonic() - began
    later = count / max(LONGEST_PAUSE, MOST_TURNS * count / READS_PER_SECOND)
    each = used * 1000 / max(1, count - have)
    return Row(
        BENCH, f"rows right → {count} logs begun", took, unit="s", cpu=each,
        note=f"{100 * used / took:.0f} % of one core; silent ones are read at {later:.0f}/s later",
    )  # fmt: skip


def _logs_begun(place: Place) -> int:
    return sum(1 for _ in Path(place.environment["GANGLINE_DATA_DIR"]).glob("logs/*/*/*/0*.log"))


def _idle(busy: Busy, watcher: psutil.Process) -> list[Row]:
    with busy:
        time.sleep(IDLE)
    logs = sum(1 for thread in watcher.threads())
    note = f"of one core, over {IDLE:.0f} s; {logs} threads; {busy.told('watcher')}"
    return [
        Row(BENCH, "CPU of the watcher, idle", busy.share["watcher"], unit="%", note=note),
        _memory(watcher, "idle"),
    ]


def _memory(process: psutil.Process, when: str) -> Row:
    text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    pss = int(text.partition("\nPss:")[2].split()[0]) / 1024
    rss = process.memory_info().rss / 2**20
    return Row(BENCH, f"memory of the watcher, {when}", pss, unit="MiB", note=f"PSS; RSS {rss:.0f}")


def _count(database: psycopg.Connection[Any], status: str) -> int:
    query = "SELECT count(*) FROM workloads_workload WHERE status = %s"
    found = database.execute(query, [status]).fetchone()
    assert found
    return int(found[0])


def _status(pod: dict[str, Any]) -> str:
    return PODS.path(pod["metadata"]["namespace"], pod["metadata"]["name"], "status")


def _replica(pod: dict[str, Any]) -> str:
    marks = pod["metadata"]["labels"]
    kind = "training.kubeflow.org"
    return f"{marks[f'{kind}/replica-type']}-{marks[f'{kind}/replica-index']}"


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _logs_of_all(path: Path) -> dict[str, Any]:
    return {
        "apiVersion": CLUSTER_LOGS.api_version,
        "kind": CLUSTER_LOGS.kind,
        "metadata": {"name": "all"},
        "spec": {"logs": [{"logsFile": str(path), "follow": True}]},
    }


def _stamp(number: int) -> str:
    return f"2026-01-01T00:00:{number:02}.000000000Z"
