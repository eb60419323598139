"""Submit → object on a real API server, beside `kubectl create` and a bare POST of the same."""

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx

from bench import kubernetes_bed, servers
from bench.kubernetes_bed import KUBECTL
from bench.kubernetes_eyes import lines
from bench.loads import Samples, row, until
from bench.report import Row, Target
from bench.servers import Place
from gangline.drivers.kubernetes.client import Client, Unreachable
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.resources.services import make
from tests.beds.kubernetes import building
from tests.beds.kubernetes.bed import Bed

ROUNDS, WARM = 20, 3
SECONDS = 60
LOOPBACK = "127.0.0.0/8"
JOBS = KINDS["PyTorch"].resource


def run() -> list[Row]:
    if why := kubernetes_bed.lacking():
        print(f"Not measured: {why}")
        return []
    with (
        kubernetes_bed.running() as bed,
        servers.place(GANGLINE_CLUSTER_ADDRESSES=LOOPBACK) as place,
    ):
        place.run()
        path = kubernetes_bed.write_access(bed, place.folder)
        where = place.inside("bench.kubernetes_submit_bench:prepare", path=str(path))
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{place.port}/api/v1/",
            headers={"Authorization": f"Bearer {place.manage('token', 'administrator')}"},
            timeout=30,
            trust_env=False,
        )
        until(
            lambda: "Connected" in client.get(f"clusters/{where['cluster']}").text,
            SECONDS,
            every=0.02,
        )
        with _Seen(bed) as seen:
            return _measure(_Contest(place, client, bed, seen, where))


def prepare(path: str) -> dict[str, str]:
    """Inside: the bed as a cluster with a project on it."""
    from bench import organisation

    cluster = organisation.connect(kubernetes_bed.access(path, "restricted"))
    department = make("department", cluster=cluster, name="research")
    project = make("project", department=department, name="vision")
    return {"cluster": str(cluster.pk), "project": str(project.pk)}


def _measure(contest: "_Contest") -> list[Row]:
    names = ("object", "released", "kubectl", "ended", "raw")
    times = {name: Samples() for name in names}
    for number in range(-WARM, ROUNDS):
        found = contest.round(f"s{number + WARM}")
        if number >= 0:
            for name in names:
                times[name].wall.append(found[name])
    kubectl, raw = "kubectl create", "bare POST"
    target = (Target("ratio", 1.5),)
    return [
        row("kubernetes-submit", "submit → object", times["object"], floor=times["kubectl"],
            floor_name=kubectl, targets=target, note=_range(times["object"])),
        row("kubernetes-submit", "submit → object released", times["released"],
            floor=times["kubectl"], floor_name=kubectl, note=_range(times["released"])),
        row("kubernetes-submit", "submit → object", times["object"], floor=times["raw"],
            floor_name=raw, note="the bare POST has its connection already"),
        row("kubernetes-submit", "kubectl create → object", times["kubectl"], floor=times["raw"],
            floor_name=raw, note=_range(times["kubectl"])),
        row("kubernetes-submit", "kubectl create → its end", times["ended"], floor=times["raw"],
            floor_name=raw, note=_range(times["ended"])),
    ]  # fmt: skip


def _range(samples: Samples) -> str:
    return f"{min(samples.wall):.0f} to {max(samples.wall):.0f} ms in {len(samples.wall)} rounds"


class _Contest:
    """The same manifest, made three times in turns: by the product, by kubectl, by one request."""

    def __init__(
        self, place: Place, client: httpx.Client, bed: Bed, seen: "_Seen", where: dict[str, str]
    ) -> None:
        self.place, self.client, self.bed, self.seen, self.where = place, client, bed, seen, where
        self.kubeconfig = place.folder / "kubeconfig"
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(bed.kubeconfig("gangline"))
        self.api = Client(bed.restricted)

    def round(self, name: str) -> dict[str, float]:
        """Milliseconds until each step was seen on the API server."""
        key, began = self._submitted(name)
        held = self.seen.until(name, lambda raw: True)
        free = self.seen.until(name, lambda raw: not raw["spec"]["runPolicy"]["suspend"])
        found = {"object": held - began, "released": free - began}
        manifest = self._manifest(name)
        until(
            lambda: self.client.get(f"workloads/{key}").json()["status"] == "Running",
            SECONDS,
            every=0.02,
        )
        self.client.delete(f"workloads/distributed/{key}")
        self.seen.until_gone(name)
        until(lambda: self.client.get(f"workloads/{key}").status_code == 404, SECONDS, every=0.02)
        found |= self._by_kubectl(manifest, f"{name}-k")
        found["raw"] = self._by_request(manifest, f"{name}-r")
        return {key: seconds * 1000 for key, seconds in found.items()}

    def _submitted(self, name: str) -> tuple[str, float]:
        worker = {
            "distributedFramework": "PyTorch", "image": "registry.example/training:1",
            "command": "python train.py", "numWorkers": 2,
            "compute": {"cpuCoreRequest": 0.5, "cpuMemoryRequest": "256M"},
        }  # fmt: skip
        body = {
            "name": name, "projectId": self.where["project"], "clusterId": self.where["cluster"],
            "configuration": "workersAndMaster", "spec": worker,
        }  # fmt: skip
        began = time.monotonic()
        answer = self.client.post("workloads/distributed", json=body)
        if answer.status_code != 202:
            raise AssertionError(answer.text)
        return str(answer.json()["workloadId"]), began

    def _manifest(self, name: str) -> dict[str, Any]:
        """What the product made of it and released, as a person would write it."""
        raw = self.seen.raw[name]
        kept = {key: raw["metadata"][key] for key in ("namespace", "labels", "annotations")}
        # Another installation's: the product must neither watch it nor count it as its own.
        kept["labels"] = {k: v for k, v in kept["labels"].items() if "gangline.dev" not in k}
        return {**{k: raw[k] for k in ("apiVersion", "kind", "spec")}, "metadata": kept}

    def _by_kubectl(self, manifest: dict[str, Any], name: str) -> dict[str, float]:
        path = self.place.folder / "manifest.json"
        path.write_text(json.dumps(_named(manifest, name)))
        cache = self.place.folder / "kubectl-cache"
        command = [
            str(building.program(KUBECTL)), f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={cache}", "create", "-f", str(path),
        ]  # fmt: skip
        began = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        ended = time.monotonic()
        at = self.seen.until(name, lambda raw: True)
        self._removed(manifest, name)
        return {"kubectl": at - began, "ended": ended - began}

    def _by_request(self, manifest: dict[str, Any], name: str) -> float:
        namespace = manifest["metadata"]["namespace"]
        began = time.monotonic()
        answer = self.api.create(JOBS, namespace, _named(manifest, name))
        if not answer.ok:
            raise AssertionError(answer.message)
        at = self.seen.until(name, lambda raw: True)
        self._removed(manifest, name)
        return at - began

    def _removed(self, manifest: dict[str, Any], name: str) -> None:
        uid = self.seen.raw[name]["metadata"]["uid"]
        self.api.delete(JOBS, manifest["metadata"]["namespace"], name, uid=uid)
        self.seen.until_gone(name)


def _named(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "name": name}}


class _Seen:
    """What a bare watch tells of every job, with the moment; the same eye for all contestants."""

    def __init__(self, bed: Bed) -> None:
        self.client = Client(bed.admin)
        self.raw: dict[str, dict[str, Any]] = {}
        self._told: list[tuple[float, str, dict[str, Any]]] = []
        self._news = threading.Condition()

    def __enter__(self) -> "_Seen":
        version = self.client.list(JOBS).body["metadata"]["resourceVersion"]
        thread = threading.Thread(target=self._follow, args=(version,), daemon=True)
        thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def until(self, name: str, condition: Callable[[dict[str, Any]], bool]) -> float:
        """When the object of this name was first seen so."""
        return self._until(
            lambda word, raw: (
                word != "DELETED" and raw["metadata"]["name"] == name and condition(raw)
            )
        )

    def until_gone(self, name: str) -> float:
        """When it was seen to be gone."""
        return self._until(lambda word, raw: word == "DELETED" and raw["metadata"]["name"] == name)

    def _until(self, condition: Callable[[str, dict[str, Any]], bool]) -> float:
        deadline = time.monotonic() + SECONDS
        looked = 0
        with self._news:
            while True:
                for at, word, raw in self._told[looked:]:
                    if condition(word, raw):
                        return at
                looked = len(self._told)
                if not self._news.wait(deadline - time.monotonic()):
                    raise AssertionError(f"Not seen within {SECONDS} s.")

    def _follow(self, version: str) -> None:
        # The bed ends before this thread does.
        with contextlib.suppress(Unreachable):
            self._listen(version)

    def _listen(self, version: str) -> None:
        query: dict[str, Any] = {"watch": True, "resourceVersion": version}
        with self.client.stream(JOBS.path(), query=query, silence=600) as (_, pieces):
            for line in lines(pieces):
                at, event = time.monotonic(), json.loads(line)
                with self._news:
                    self.raw[event["object"]["metadata"]["name"]] = event["object"]
                    self._told.append((at, event["type"], event["object"]))
                    self._news.notify_all()
