"""A running installation as its users meet it: over HTTP with a token, embedded or production."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from scripts import stack as stacks
from scripts.services import free_port
from tests.support.waiting import wait_for

BIN = Path(sys.executable).parent
ENDED = ("Completed", "Failed", "Stopped")
REQUEST_SECONDS = 20.0
READY_SECONDS = 90.0


@dataclass
class Answer:
    """What came back, and how long it took."""

    status: int
    body: Any
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Installation:
    """Where it is, and a person who may do everything there."""

    url: str
    folder: Path
    environment: dict[str, str]
    token: str = ""

    def manage(self, *arguments: str) -> str:
        """Run a management command and return what it printed."""
        done = subprocess.run(
            [str(BIN / "gangline-manage"), *arguments],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def installation_id(self) -> str:
        """The id that labels what it makes on clusters."""
        return self.manage(
            "shell", "-v", "0", "-c", "from workloads import refs; print(refs.installation_id())"
        ).strip()

    def sign_in(self, user: str) -> None:
        """Make a token for `user` and use it from now on."""
        self.token = self.manage("token", user, "--days", "1").strip()

    def request(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """One request of its own connection. Raises httpx.HTTPError when none answers."""
        started = time.monotonic()
        answer = httpx.request(
            method,
            f"{self.url}/api/v1/{path}",
            json=body,
            headers={"Authorization": f"Bearer {self.token}"}
            | {name.replace("_", "-"): value for name, value in headers.items()},
            timeout=REQUEST_SECONDS,
            trust_env=False,
        )
        seconds = time.monotonic() - started
        try:
            content = answer.json() if answer.content else None
        except json.JSONDecodeError:
            content = answer.text
        return Answer(answer.status_code, content, seconds, dict(answer.headers))

    def get(self, path: str) -> Any:
        answer = self.request("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def body(self, name: str, command: str, *, workers: int = 2, **spec: Any) -> dict[str, Any]:
        """A submission of `workers` equal processes of `command` in the system's Python."""
        project = self.get("org-unit/projects")["projects"][0]
        return {
            "name": name,
            "projectId": project["id"],
            "clusterId": project["clusterId"],
            "configuration": "workersOnly",
            "spec": {
                "distributedFramework": "PyTorch",
                "image": "local://system",
                "command": command,
                "numWorkers": workers,
                "compute": {"cpuCoreRequest": 0.1, "cpuMemoryRequest": "32M"},
            }
            | spec,
        }

    def submit(self, name: str, command: str, *, key: str = "", **more: Any) -> Answer:
        """Post it as a client does, with a key that makes repeating harmless."""
        body = self.body(name, command, **more)
        return self.post_workload(body, key=key)

    def post_workload(self, body: object, *, key: str = "") -> Answer:
        key = key or uuid.uuid4().hex
        return self.request("POST", "workloads/distributed", body, Idempotency_Key=key)

    def started(self, name: str, command: str, **more: Any) -> str:
        """Submit and return the id of the new workload."""
        answer = self.submit(name, command, **more)
        assert answer.status == 202, answer
        return str(answer.body["workloadId"])

    def workload(self, workload_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"workloads/{workload_id}")
        return found

    def workloads(self) -> list[dict[str, Any]]:
        """All that are not deleted."""
        rows: list[dict[str, Any]] = self.get("workloads?limit=200")["workloads"]
        return rows

    def until(self, workload_id: str, *statuses: str, seconds: float = 30) -> dict[str, Any]:
        """Wait for one of the statuses, and return the workload with it."""

        last: dict[str, Any] = {}

        def reached() -> bool:
            last.update(self.workload(workload_id))
            return last["status"] in statuses

        try:
            wait_for(reached, seconds=seconds, every=0.05)
        except AssertionError as late:
            told = [
                f"{e['createdAt']} {e['reason']} {e['message']}" for e in self.events(workload_id)
            ]
            now = f"{last['status']}: {last['phaseMessage']} {last['nextStep']}"
            raise AssertionError("\n".join([f"{now}, not {statuses}", *told])) from late
        return last

    def act(self, workload_id: str, verb: str) -> Answer:
        """`suspend`, `resume`, `rerun` or `delete`."""
        if verb == "delete":
            return self.request("DELETE", f"workloads/distributed/{workload_id}")
        return self.request("POST", f"workloads/distributed/{workload_id}/{verb}")

    def events(self, workload_id: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.get(f"workloads/{workload_id}/events?limit=100")["events"]
        return rows

    def claim(
        self, workload_id: str, replica: str = "worker-0", attempt: int = 1
    ) -> dict[str, Any]:
        """What the supervisor of a replica wrote down when it began."""
        path = self._run(workload_id, attempt) / "ctl" / "claims" / replica
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def log(self, workload_id: str, replica: str = "worker-0", attempt: int = 1) -> str:
        """All that a replica wrote, from the files of its log."""
        folder = self.folder / "logs" / workload_id / str(attempt) / replica
        return "".join(path.read_text() for path in sorted(folder.glob("*.log")))

    def attempts(self, workload_id: str) -> list[int]:
        """Numbers of the attempts that were ever launched here."""
        folder = self.folder / "runs" / workload_id
        return sorted(int(path.name) for path in folder.iterdir()) if folder.is_dir() else []

    def _run(self, workload_id: str, attempt: int) -> Path:
        return self.folder / "runs" / workload_id / str(attempt)


def processes(mark: str) -> list[int]:
    """Living processes whose command line or environment holds `mark`, such as a workload's id."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_bytes().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if mark.encode() in text and state not in (b"Z", b"X"):
            found.append(int(entry.name))
    return found


def end_all(folder: Path) -> None:
    """Kill what workloads of this data folder left behind, at the end of a test."""
    for run in (folder / "runs").glob("*"):
        if re.fullmatch(r"[0-9a-f-]{36}", run.name):
            for pid in processes(run.name):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue


def environment_of(folder: Path, port: int, **more: str) -> dict[str, str]:
    """Variables of an embedded server; nothing of the caller's own settings is in them."""
    foreign = ("GANGLINE_", "DJANGO_", "PYTEST_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign) and k != "PORT"}
    return kept | {"GANGLINE_DATA_DIR": str(folder), "PORT": str(port)} | more


@dataclass
class Embedded(Installation):
    """`gangline-manage run` in a session of its own."""

    process: subprocess.Popen[str] | None = None
    output: Path = Path()

    def start(self) -> float:
        """Start it; return the seconds until the first page was served."""
        began = time.monotonic()
        with self.output.open("a") as written:
            self.process = subprocess.Popen(
                [str(BIN / "gangline-manage"), "run"],
                cwd=self.folder.parent,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
            )
        wait_for(self._serves, seconds=READY_SECONDS, every=0.02, what="the first page")
        return time.monotonic() - began

    def stop(self, how: signal.Signals = signal.SIGINT) -> float:
        """End it as Ctrl-C does; return how long it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(15)
        return time.monotonic() - began

    def kill_session(self) -> None:
        """Kill every process of its session at once."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _serves(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.output.read_text()[-3000:]
        try:
            return httpx.get(f"{self.url}/login", timeout=5, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False


@contextmanager
def embedded(folder: Path, **environment: str) -> Iterator[Embedded]:
    """An embedded installation in `folder`, not started yet; all of it ends with the block."""
    port = free_port()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{port}"
    made = Embedded(url, folder, environment_of(folder, port, **environment))
    made.output = folder.parent / f"{folder.name}.out"
    try:
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.kill_session()
        end_all(folder)


def of_stack(stack: stacks.Stack) -> Installation:
    """The production installation of `stack`, as its administrator."""
    made = Installation(stack.url, stack.folder, stack.environment)
    made.sign_in(stacks.ADMINISTRATOR)
    return made


def slowness() -> float:
    """How much longer all takes now than on an idle machine: tests share it with others."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))
