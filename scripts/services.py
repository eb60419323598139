"""Start a private PostgreSQL or Redis from the installed programs, and stop it again.

Both live in one folder on a free port of the loopback address, take nobody in without a password
made for them, and end with the process that started them.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from scripts import system_packages

START_SECONDS = 30
STOP_SECONDS = 20
POSTGRES_USER = "gangline"

Service = TypeVar("Service", "Redis", "Postgres")


class ServiceFailed(Exception):
    """Why a service did not start, with the end of what it wrote."""


@dataclass
class Program:
    """A running service. A test may kill or stop `process`, and start it again where it was."""

    process: subprocess.Popen[bytes]
    port: int
    password: str
    launch: Callable[[], subprocess.Popen[bytes]]

    def answers(self) -> bool:
        """Tell whether it serves now."""
        raise NotImplementedError

    def start_again(self) -> None:
        """Start it after its end: same port, same password, same folder."""
        self.process.wait()
        deadline = time.monotonic() + START_SECONDS
        self.process = self.launch()
        while not self.answers():
            if self.process.poll() is not None and time.monotonic() < deadline:
                # What was killed may hold port and lock for a moment longer.
                time.sleep(0.2)
                self.process = self.launch()
            if time.monotonic() > deadline:
                raise ServiceFailed(f"It does not answer after {START_SECONDS} s.")
            time.sleep(0.02)


@dataclass
class Redis(Program):
    """A running Redis."""

    @property
    def url(self) -> str:
        """Return the address as `GANGLINE_REDIS_URL` takes it."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def answers(self) -> bool:
        """Tell whether it takes its password, which tells it from another one at the port."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\n".encode())
                return connection.recv(64).startswith(b"+OK")
        except OSError:
            return False


@dataclass
class Postgres(Program):
    """A running PostgreSQL with one empty database."""

    programs: Path

    @property
    def url(self) -> str:
        """Return the address of the first database as `GANGLINE_DATABASE_URL` takes it."""
        return self.url_of(POSTGRES_USER)

    def url_of(self, database: str) -> str:
        """Return the address of one database."""
        return f"postgresql://{POSTGRES_USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def answers(self) -> bool:
        """Tell whether it answers a query."""
        try:
            return self.run_sql("SELECT 1") == "1"
        except ServiceFailed:
            return False

    def create_database(self, name: str = "") -> str:
        """Create an empty database, with a name of its own unless said, and return its address."""
        name = name or f"gangline_{secrets.token_hex(6)}"
        self.run_sql(f'CREATE DATABASE "{name}"')
        return self.url_of(name)

    def run_sql(self, statement: str, database: str = "postgres") -> str:
        """Run one statement and return what `psql` printed, rows as plain lines."""
        command = [str(self.programs / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(
            [*command, "-c", statement, self.url_of(database)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ServiceFailed(done.stderr.strip())
        return done.stdout.strip()


@contextmanager
def redis(*, folder: Path | None = None, port: int = 0) -> Iterator[Redis]:
    """Run a Redis that keeps nothing on disk unless a `folder` is given."""
    password = secrets.token_urlsafe(24)
    with _folder(folder, "redis", owner=None) as place:
        config = place / "redis.conf"
        config.touch(mode=0o600)
        keep = "no" if folder is None else "yes"
        config.write_text(f'requirepass {password}\nsave ""\nappendonly {keep}\ndir "{place}"\n')

        def start(at: int) -> Redis:
            command = ["redis-server", str(config), "--bind", "127.0.0.1", "--port", str(at)]

            def launch() -> subprocess.Popen[bytes]:
                return _spawn(command, place / "redis.log", ends_by="TERM")

            return Redis(launch(), at, password, launch)

        service = _start(start, port, place / "redis.log")
        try:
            yield service
        finally:
            _stop(service.process, signal.SIGTERM)


@contextmanager
def postgres(
    *, folder: Path | None = None, port: int = 0, durable: bool = False
) -> Iterator[Postgres]:
    """Run a PostgreSQL; its data outlives it only in a given `folder`.

    Unless `durable`, it trusts the machine not to lose power, which makes it several times faster.
    PostgreSQL refuses to run as root: for root it runs as the user postgres.
    """
    programs = system_packages.postgres_programs()
    if programs is None:
        raise ServiceFailed("PostgreSQL is not installed (Debian package: postgresql).")
    owner = "postgres" if os.geteuid() == 0 else None
    with _folder(folder, "postgres", owner=owner) as place:
        data, log = place / "data", place / "postgres.log"
        password = _postgres_password(programs, place, owner)
        # A socket path has a length limit, so there is none.
        settings = ["unix_socket_directories=", "max_connections=200", "timezone=UTC"]
        if not durable:
            settings += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        options = [part for setting in settings for part in ("-c", setting)]

        def start(at: int) -> Postgres:
            command = [
                str(programs / "postgres"),
                "-D",
                str(data),
                "-h",
                "127.0.0.1",
                "-p",
                str(at),
            ]

            def launch() -> subprocess.Popen[bytes]:
                return _spawn([*command, *options], log, ends_by="INT", user=owner)

            return Postgres(launch(), at, password, launch, programs)

        service = _start(start, port, log)
        try:
            if not service.run_sql(f"SELECT 1 FROM pg_database WHERE datname = '{POSTGRES_USER}'"):
                service.create_database(POSTGRES_USER)
            yield service
        finally:
            _stop(service.process, signal.SIGINT)


def free_port() -> int:
    """Return a port of the loopback address that was free a moment ago."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _postgres_password(programs: Path, place: Path, owner: str | None) -> str:
    """Make the data folder at the first start; return the password of its superuser."""
    kept = place / "password"
    if not kept.exists():
        kept.touch(mode=0o600)
        kept.write_text(secrets.token_urlsafe(24))
        _give(kept, owner)
    if not (place / "data" / "PG_VERSION").exists():
        options = ["--username", POSTGRES_USER, "--pwfile", str(kept), "--auth", "scram-sha-256"]
        command = [str(programs / "initdb"), "-D", str(place / "data"), *options]
        made = subprocess.run(
            _as_user([*command, "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"], owner),
            capture_output=True,
            text=True,
            check=False,
            cwd=place,
        )
        if made.returncode != 0:
            raise ServiceFailed(made.stderr.strip())
    return kept.read_text().strip()


@contextmanager
def _folder(folder: Path | None, name: str, *, owner: str | None) -> Iterator[Path]:
    """Give the service's own folder: the given one, or one that is removed at the end."""
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _give(folder, owner)
        yield folder
        return
    # Not below pytest's folder: that is closed to the user that PostgreSQL runs as.
    place = Path(tempfile.mkdtemp(prefix=f"gangline-{name}-"))
    try:
        _give(place, owner)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _give(path: Path, owner: str | None) -> None:
    if owner is not None:
        entry = pwd.getpwnam(owner)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def _as_user(command: list[str], user: str | None) -> list[str]:
    if user is None:
        return command
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *command]


def ending_with_us(command: list[str], *, ends_by: str, user: str | None = None) -> list[str]:
    """The command line of what is told to end when this process dies, even by SIGKILL."""
    if not shutil.which("setpriv"):
        return command
    change = [f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
    return ["setpriv", *change, f"--pdeathsig={ends_by}", *command]


def _spawn(
    command: list[str], log: Path, *, ends_by: str, user: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a service that also ends when this process is killed, where `setpriv` is there."""
    command = ending_with_us(command, ends_by=ends_by, user=user)
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            start_new_session=True,
        )


def _start(start: Callable[[int], Service], port: int, log: Path) -> Service:
    """Start at `port`, or at a free one, and wait until it answers."""
    # A port that was free may be taken by the time the service binds it.
    for _ in range(1 if port else 3):
        service = start(port or free_port())
        deadline = time.monotonic() + START_SECONDS
        while service.process.poll() is None and time.monotonic() < deadline:
            if service.answers():
                return service
            time.sleep(0.02)
        _stop(service.process, signal.SIGKILL)
    raise ServiceFailed(log.read_text(errors="replace")[-2000:] or "It wrote nothing.")


def _stop(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(how)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
