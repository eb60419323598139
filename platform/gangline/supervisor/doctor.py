"""What could be wrong with this machine and its settings, each with the way to mend it."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from django.db import DatabaseError, connection

from gangline.config.env import env
from gangline.db import sealed
from gangline.db.clock import db_now
from gangline.drivers.registry import DRIVERS
from gangline.lib.sealing import CannotSeal
from gangline.lib.sizes import bytes_in_words
from gangline.supervisor import lockfile, schema

LEAST_FREE = 200 * 10**6
LEAST_POSTGRES = 15
MOST_SKEW = 5.0
REDIS_SECONDS = 2.0

Grade = Literal["ok", "note", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One look at one thing. A note is worth knowing; an error must be mended."""

    grade: Grade
    what: str
    says: str
    mend: str = ""


def findings() -> Iterator[Finding]:
    """Every check of the mode this installation is in; one that breaks is an error of its own."""
    for check in _CHECKS:
        try:
            yield from check()
        except DatabaseError as error:
            yield Finding("error", "Database", f"It rejected a query: {error}".strip())


def _python() -> Iterator[Finding]:
    yield Finding("ok", "Python", f"{sys.version.split()[0]} in {sys.prefix}")


def _data_folder() -> Iterator[Finding]:
    folder = env().data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = folder.stat().st_mode & 0o777
        free = shutil.disk_usage(folder).free
    except OSError as error:
        yield Finding(
            "error",
            "Data folder",
            f"{folder}: {error.strerror}.",
            "Set GANGLINE_DATA_DIR to another.",
        )
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding("error", "Data folder", f"{folder} is not writable.", f"chown it: {folder}")
    elif mode & 0o077:
        yield Finding("error", "Data folder", f"{folder} is open to others.", f"chmod 700 {folder}")
    else:
        yield Finding("ok", "Data folder", str(folder))
    words = f"{bytes_in_words(free)} free in {folder}"
    if free < LEAST_FREE:
        yield Finding("error", "Disk", f"Only {words}.", "Free at least 200 MB.")
    else:
        yield Finding("ok", "Disk", words)


def _sandbox() -> Iterator[Finding]:
    if not env().offers_local_cluster:
        return
    if env().local_sandbox == "off":
        yield Finding(
            "note", "bubblewrap", "Switched off: workloads can read Gangline's own data.",
            "Unset GANGLINE_LOCAL_SANDBOX.",
        )  # fmt: skip
    elif DRIVERS["local"].is_isolated():
        yield Finding("ok", "bubblewrap", "Workloads cannot see Gangline's own data.")
    else:
        there = shutil.which("bwrap") is not None
        says = "It may not make namespaces here, or is too old" if there else "It is not installed"
        yield Finding(
            "note",
            "bubblewrap",
            f"{says}: workloads run as Gangline's user and can read its data.",
            "Allow unprivileged user namespaces; bubblewrap must know --bind-fd and --clearenv."
            if there
            else "Debian package: bubblewrap",
        )


def _mpirun() -> Iterator[Finding]:
    if not env().offers_local_cluster:
        return
    program = shutil.which("mpirun")
    if program:
        yield Finding("ok", "mpirun", program)
    else:
        yield Finding(
            "note", "mpirun", "MPI workloads cannot run here.", "Debian package: openmpi-bin"
        )


def _server() -> Iterator[Finding]:
    if env().mode == "production":
        return
    holder = lockfile.holder(env().data_dir)
    if holder:
        yield Finding(
            "ok", "Server", f"Process {holder.pid} serves this folder at {holder.address}."
        )
    else:
        yield Finding("note", "Server", "None runs on this folder.", "make run")


def _database() -> Iterator[Finding]:
    if env().mode == "production" and not env().database_url:
        yield Finding(
            "error",
            "Database",
            "Production needs PostgreSQL, and none is set.",
            "Set GANGLINE_DATABASE_URL to postgresql://user:password@host:5432/name",
        )
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        said = " ".join(str(error).split())[:200]
        yield Finding(
            "error",
            "Database",
            f"It does not answer: {said}",
            "Start it, or fix GANGLINE_DATABASE_URL.",
        )
        return
    yield from _postgres() if connection.vendor == "postgresql" else _sqlite()
    yield from _migrations()


def _postgres() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        version = int(cursor.fetchone()[0]) // 10_000
        cursor.execute("SHOW fsync")
        is_safe = cursor.fetchone()[0] == "on"
        cursor.execute("SHOW synchronous_commit")
        is_safe &= cursor.fetchone()[0] in ("on", "remote_apply", "remote_write", "local")
    if version < LEAST_POSTGRES:
        yield Finding(
            "error", "PostgreSQL", f"{version} is too old.", "Install PostgreSQL 15 or newer."
        )
    else:
        yield Finding("ok", "PostgreSQL", f"Version {version}")
    if not is_safe:
        yield Finding(
            "error",
            "PostgreSQL",
            "fsync or synchronous_commit is off: a power cut loses submissions.",
            "Switch both on in postgresql.conf.",
        )


def _sqlite() -> Iterator[Finding]:
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 20_000}
    with connection.cursor() as cursor:
        differing = []
        for name, value in wanted.items():
            cursor.execute(f"PRAGMA {name}")
            (found,) = cursor.fetchone()
            if found != value:
                differing.append(f"{name} is {found}, not {value}")
        cursor.execute("PRAGMA quick_check(1)")
        (damage,) = cursor.fetchone()
    if damage != "ok":
        yield Finding(
            "error",
            "SQLite",
            f"The database is damaged: {' '.join(str(damage).split())[:200]}",
            "Restore a copy from backups/ in the data folder.",
        )
    if differing:
        yield Finding(
            "error",
            "SQLite",
            "; ".join(differing),
            "Put the data folder on a local disk: network file systems cannot do this.",
        )
    else:
        yield Finding("ok", "SQLite", "Write-ahead log, every commit on disk.")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        (damage,) = cursor.fetchone()
    if damage != "ok":
        file, copies = env().database_file, env().data_dir / "backups"
        yield Finding(
            "error",
            "SQLite",
            f"{file} is damaged: {' '.join(damage.split())}",
            f"Stop Gangline and put a backup in its place; copies from before upgrades: {copies}",
        )


def _migrations() -> Iterator[Finding]:
    missing, must = schema.pending(), env().mode == "production"
    if missing:
        count = f"{len(missing)} migration{'s' if len(missing) != 1 else ''}"
        yield Finding(
            "error" if must else "note",
            "Schema",
            f"{count} not applied, such as {missing[0]}.",
            "gangline-manage migrate" if must else "The next start applies them.",
        )
    else:
        yield Finding("ok", "Schema", "Up to date")


def _keys() -> Iterator[Finding]:
    """Whether the credentials of clusters can be opened; silent while there are none."""
    if schema.pending() or not (counts := sealed.counts()):
        return
    file = sealed.key_file()
    try:
        known, mode = set(file.keyring().keys), file.path.stat().st_mode & 0o077
    except CannotSeal as why:
        yield Finding("error", "Keys", str(why))
        return
    lost = sum(number for kid, number in counts.items() if kid not in known)
    if lost:
        says = f"{lost} of {sum(counts.values())} credentials are sealed with a key that is gone."
        yield Finding("error", "Keys", says, f"Restore {file.path}, or enter them again.")
    elif mode:
        yield Finding("error", "Keys", f"{file.path} is open to others.", f"chmod 600 {file.path}")
    else:
        yield Finding("ok", "Keys", f"{file.path} opens every credential.")


def _clock() -> Iterator[Finding]:
    try:
        before = datetime.now(UTC)
        there = db_now()
        after = datetime.now(UTC)
    except DatabaseError:
        return
    # The truth lies between the two looks at our own clock.
    skew = max((before - there).total_seconds(), (there - after).total_seconds(), 0.0)
    if skew > MOST_SKEW:
        yield Finding(
            "error",
            "Clock",
            f"This machine and the database differ by {skew:.0f} s.",
            "Synchronize both with a time server.",
        )
    else:
        yield Finding("ok", "Clock", "Agrees with the database's")


def _redis() -> Iterator[Finding]:
    if env().mode != "production":
        return
    mend = "Set GANGLINE_REDIS_URL to redis://:password@host:6379/0"
    if not env().redis_url:
        yield Finding("error", "Redis", "Production needs Redis, and none is set.", mend)
        return
    import redis  # late: only production has it to talk to

    try:
        with redis.Redis.from_url(
            env().redis_url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
        ) as client:
            policy = str(client.info("memory").get("maxmemory_policy", ""))
    except (redis.RedisError, OSError, ValueError) as error:
        yield Finding(
            "error",
            "Redis",
            f"It does not answer: {str(error)[:200]} Work continues more slowly without it.",
            f"Start it. {mend}",
        )
        return
    if policy == "noeviction":
        yield Finding("ok", "Redis", "Answers, and evicts nothing")
    else:
        yield Finding(
            "error",
            "Redis",
            f"maxmemory-policy is {policy}: messages may vanish when memory is short.",
            "CONFIG SET maxmemory-policy noeviction",
        )


def _addresses() -> Iterator[Finding]:
    url = env().public_url
    if env().mode != "production":
        return
    if not url:
        yield Finding(
            "error", "Address", "The address at which people open Gangline is not set.",
            "Set GANGLINE_PUBLIC_URL to https://…",
        )  # fmt: skip
    elif not url.startswith("https://"):
        yield Finding(
            "note", "Address", f"{url} is not encrypted in transit.", "Put a TLS proxy in front."
        )
    else:
        yield Finding("ok", "Address", url)
    if not env().secret_key:
        yield Finding(
            "note",
            "Secret key",
            "Kept in the data folder: processes on other machines would make their own.",
            "Set GANGLINE_SECRET_KEY.",
        )


_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _python,
    _data_folder,
    _sandbox,
    _mpirun,
    _server,
    _addresses,
    _database,
    _keys,
    _clock,
    _redis,
)
