"""Production mode on one machine, from the installed PostgreSQL and Redis.

Usage: `python -m scripts.stack`. It starts the processes of a real installation, each with the
command that `docs/how-to/go-to-production.md` names: two web processes on one address, a worker
and a watcher. What ends by itself is started again. Tests use `running()` with their own folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scripts import services, system_packages

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
ADMINISTRATOR = "administrator"
PROJECT = "demo"
READY_SECONDS = 120
STOP_SECONDS = 15
WEB = (
    *("uvicorn", "gangline.config.asgi:application", "--lifespan", "off", "--log-level", "warning"),
    *("--no-access-log", "--no-server-header", "--no-proxy-headers", "--ws-max-size", "65536"),
    *("--timeout-graceful-shutdown", "5"),
)
WORKER = (
    *("celery", "-A", "gangline.config.celery", "worker", "--loglevel", "WARNING"),
    *("--without-gossip", "--without-mingle"),
)
PROCESSES = {
    "web-1": WEB,
    "web-2": WEB,
    "worker": WORKER,
    "watch": ("gangline-manage", "watch"),
}
DECLARED = ("GANGLINE_LOCAL_GPUS", "GANGLINE_LOCAL_HIDDEN")
"""Settings of the caller that the processes keep."""


class StackFailed(Exception):
    """Why the set of processes could not be started, as a sentence."""


@dataclass
class Stack:
    """The running set; `processes` are looked up by the names of `PROCESSES`."""

    url: str
    folder: Path
    environment: dict[str, str]
    listener: socket.socket
    postgres: services.Postgres
    redis: services.Redis
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *, like: str = "", **more: str) -> subprocess.Popen[bytes]:
        """Start one process, or start it again; it writes to `logs/<name>.log`.

        `like` names the process of `PROCESSES` that it is another one of. `more` are environment
        variables of this process alone.
        """
        program, *arguments = PROCESSES[like or name]
        fd = self.listener.fileno()
        if program == "uvicorn":
            # Both web processes accept from one socket, so there is one address and no proxy.
            arguments += ["--fd", str(fd)]
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        with (logs / f"{name}.log").open("ab") as output:
            process = subprocess.Popen(
                services.ending_with_us([str(BIN / program), *arguments], ends_by="TERM"),
                cwd=self.folder,
                env=self.environment | more,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[fd] if program == "uvicorn" else [],
                start_new_session=True,
            )
        self.processes[name] = process
        return process

    def start_all(self) -> None:
        """Start every process and wait until pages are served."""
        for name in PROCESSES:
            self.start(name)
        self.wait_until_ready()

    def kill(self, *names: str) -> None:
        """Kill processes with their children, as a power cut does; all of them unless named."""
        chosen = [self.processes[name] for name in names or self.processes]
        for process in chosen:
            # A worker has children of its own; the session is theirs alone.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in chosen:
            process.wait()

    def manage(self, *arguments: str) -> str:
        """Run a management command to its end and return what it printed."""
        done = subprocess.run(
            [str(BIN / "gangline-manage"), *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip()[-2000:]
            raise StackFailed(f"gangline-manage {' '.join(arguments)} failed:\n{lines}")
        return done.stdout

    def wait_until_ready(self) -> None:
        """Return once a page is served; fail when a process ended or none came in time."""
        self._wait(watched=[*self.processes])

    def wait_until_served(self) -> None:
        """Return once a page is served, by whichever processes are left."""
        self._wait(watched=[])

    def _wait(self, watched: list[str]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            for name in watched:
                if (code := self.processes[name].poll()) is not None:
                    raise StackFailed(f"{name} ended with {code}:\n{self.log(name)}")
            if _is_served(f"{self.url}/login"):
                return
            time.sleep(0.1)
        raise StackFailed(f"No page came within {READY_SECONDS} s:\n{self.log('web-1')}")

    def log(self, name: str) -> str:
        """Return the end of what a process wrote."""
        return (self.folder / "logs" / f"{name}.log").read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        """End every process in order; workloads go on."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self.processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextlib.contextmanager
def prepared(
    folder: Path, *, port: int = 0, database_folder: Path | None = None, durable: bool = False
) -> Iterator[Stack]:
    """Run PostgreSQL and Redis with a new installation in `folder`; its processes come next.

    The port is of the loopback address, free unless said. Everything ends with the block.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        contextlib.closing(_listen(port)) as listener,
        services.redis(folder=folder / "redis") as redis,
        services.postgres(folder=database_folder, durable=durable) as postgres,
    ):
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        environment = _environment(folder, url, postgres, redis)
        stack = Stack(url, folder, environment, listener, postgres, redis)
        try:
            stack.manage("migrate", "--verbosity", "0")
            stack.manage("collectstatic", "--noinput", "--verbosity", "0")
            stack.manage(
                "bootstrap", "--admin", ADMINISTRATOR, "--project", PROJECT, "--local-cluster"
            )
            yield stack
        finally:
            stack.stop()


@contextlib.contextmanager
def running(
    folder: Path, *, port: int = 0, database_folder: Path | None = None, durable: bool = False
) -> Iterator[Stack]:
    """Run the whole set in `folder` until the block ends; see `prepared`."""
    with prepared(folder, port=port, database_folder=database_folder, durable=durable) as stack:
        stack.start_all()
        yield stack


def _environment(
    folder: Path, url: str, postgres: services.Postgres, redis: services.Redis
) -> dict[str, str]:
    """Return the variables of every process; nothing of the caller's own settings reaches them."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("GANGLINE_", "DJANGO_")) and key != "PORT"
    }
    declared = {key: os.environ[key] for key in DECLARED if key in os.environ}
    return {
        **kept,
        **declared,
        "GANGLINE_MODE": "production",
        "GANGLINE_DATA_DIR": str(folder),
        "GANGLINE_DATABASE_URL": postgres.url,
        "GANGLINE_REDIS_URL": redis.url,
        "GANGLINE_SECRET_KEY": _kept_secret(folder / "secret"),
        "GANGLINE_PUBLIC_URL": url,
        "GANGLINE_LOCAL_CLUSTER": "1",
        "PORT": url.rpartition(":")[2],
    }


def _kept_secret(path: Path) -> str:
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(48))
    return path.read_text().strip()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as problem:
        listener.close()
        raise StackFailed(
            f"Port {port} is taken ({problem.strerror}); choose one with PORT=."
        ) from None
    listener.listen(512)
    return listener


def _is_served(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def main() -> int:
    """Run the set until Ctrl-C; start again what ends by itself."""
    lacking = system_packages.missing_parts(["postgres", "redis"])
    if lacking:
        print(f"Production mode needs what is not installed here: {', '.join(lacking)}.")
        print(f"  sudo {' '.join(system_packages.install_command(lacking))}")
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    data = ROOT / (os.environ.get("GANGLINE_DATA_DIR") or "var")
    folder = data / "stack"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Around it lies what `make run` keeps: another database, and the keys of its sessions.
    hidden = os.environ.get("GANGLINE_LOCAL_HIDDEN", "")
    os.environ["GANGLINE_LOCAL_HIDDEN"] = ",".join(filter(None, (hidden, str(data))))
    if not (folder / "runtimes").exists():
        (folder / "runtimes").symlink_to(data / "runtimes")
    try:
        port = int(os.environ.get("PORT") or 8000)
        print("Starting PostgreSQL, Redis, two web processes, a worker and a watcher.", flush=True)
        with running(
            folder, port=port, database_folder=_database_folder(folder), durable=True
        ) as stack:
            _say_how_to_use(stack)
            while True:
                time.sleep(1)
                _start_again(stack)
    except (StackFailed, services.ServiceFailed) as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Running workloads go on.", flush=True)
    return 0


def _start_again(stack: Stack) -> None:
    for name, process in list(stack.processes.items()):
        if process.poll() is not None:
            print(f"{name} ended with {process.returncode}; starting it again.", flush=True)
            stack.start(name)


def _database_folder(folder: Path) -> Path:
    """Return where PostgreSQL keeps its data; root's own folders are closed to its user."""
    if os.geteuid() != 0:
        return folder / "postgres"
    mark = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    return Path("/var/lib/postgresql") / f"gangline-{mark}"


def _kept_environment(stack: Stack) -> Path:
    """Write what commands of this installation need to know; it holds the database's address."""
    path = stack.folder / "environment"
    path.touch(mode=0o600)
    names = sorted(name for name in stack.environment if name.startswith("GANGLINE_"))
    path.write_text("".join(f"{n}={shlex.quote(stack.environment[n])}\n" for n in names))
    return path


def _say_how_to_use(stack: Stack) -> None:
    link = stack.manage("sign-in-link", ADMINISTRATOR).strip()
    # Read by the shell itself: on a command line everybody would see the database's password.
    settings = shlex.quote(str(_kept_environment(stack)))
    manage = shlex.quote(str(BIN / "gangline-manage"))
    command = f"(set -a; . {settings}; {manage} sign-in-link"
    print(f"Gangline in production mode\n  Open          {stack.url}")
    print(f"  Sign in as    {ADMINISTRATOR}  {link}   (once, 15 minutes)")
    print(f"  Another link  {command} {ADMINISTRATOR})")
    print(f"  Logs          {stack.folder / 'logs'}")
    for name, process in stack.processes.items():
        print(f"  {name:13} pid {process.pid}")
    print("  Stop          Ctrl-C   (running workloads keep running)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
