"""A real web server of the product in a process of its own, on a database of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.waiting import wait_for

ROOT = Path(__file__).parents[2]
_WORLD = """
import json, os, django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tests.support.world import make_world
world = make_world()
from gangline.resources.services import make
from gangline.clusters import nodes
from gangline.drivers.facts import NodeFact
nodes.store(world.cluster, [NodeFact("n-1", "Ready", cpu=2.0, gpus=8, gpu_type="A100")])
key = make("access_key", user=world.people["administrator"], name="tests")
ids = {}
if os.environ.get("TESTS_EVERYTHING"):
    from tests.support.everything import make_everything
    ids = make_everything(world)
print(json.dumps({"ids": ids, "project": str(world.vision.pk), "cluster": str(world.cluster.pk),
                  "token": world.token("researcher-vision"),
                  "administrator": world.token("administrator"),
                  "client_id": str(key.pk), "client_secret": key.secret}))
"""


@dataclass
class WebServer:
    """Only the web part: nothing runs the workloads that it takes."""

    environment: dict[str, str]
    token: str
    project: str
    cluster: str
    administrator: str
    """Their token."""
    client_id: str
    """Of an access key of the administrator."""
    client_secret: str
    ids: dict[str, list[str]]
    """Keys of one object of every resource, where these were made: by the address of its list."""
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    _listener: socket.socket | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, **environment: str) -> None:
        """Start it, with more variables if given, and wait until it answers."""
        listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self._listener, self.port = listener, listener.getsockname()[1]
        handle = listener.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "gangline.config.asgi:application", "--fd",
             str(handle), "--lifespan", "off", "--log-level", "warning"],
            env=self.environment | environment,
            cwd=ROOT,
            pass_fds=[handle],
        )  # fmt: skip
        wait_for(self._answers, seconds=60, what="the web server")

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(20)
        if self._listener is not None:
            self._listener.close()

    def body(self, name: str) -> dict[str, object]:
        """A submission that is accepted."""
        return {
            "name": name,
            "projectId": self.project,
            "clusterId": self.cluster,
            "spec": {
                "distributedFramework": "XGBoost",
                "image": "local://examples",
                "command": "python train.py",
            },
        }

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=60,
        )

    def _answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"The web server ended with {self.process.returncode}.")
        try:
            return httpx.get(f"{self.url}/api/v1/me", timeout=20).status_code == 401
        except httpx.TransportError:
            return False


@contextmanager
def web_server(folder: Path, **environment: str) -> Iterator[WebServer]:
    """A server on a fresh database: SQLite in ``folder`` unless GANGLINE_DATABASE_URL is given.

    ``TESTS_EVERYTHING="1"``: with one object of every resource in it.
    """
    own = _environment(folder, environment)
    made = subprocess.run(
        [sys.executable, "-c", _WORLD],
        env=own,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    server = WebServer(environment=own, **json.loads(made.stdout.splitlines()[-1]))
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GANGLINE_") and k != "PORT"}
    return kept | {
        "DJANGO_SETTINGS_MODULE": "gangline.config.settings",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}",
        "GANGLINE_DATA_DIR": str(folder),
        "GANGLINE_DEMO": "0",
        **more,
    }
