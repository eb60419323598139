"""A real Slurm on this machine: munge, slurmctld and several slurmd, each node emulated.

Everything runs as the user that starts it, without systemd or cgroups, on free ports of the
loopback address; keys, spool, logs and pid files lie in one folder, and it is stopped by its pids.
"""

import contextlib
import json
import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS, STOP_SECONDS = 30.0, 15.0
MUNGED, SLURMCTLD, SLURMD = "/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"
SLURMDBD, MARIADB = "/usr/sbin/slurmdbd", "/usr/sbin/mariadbd"
PARTITIONS = ("main", "pool-a", "pool-b")
_ORDER = ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged")
"""In which they are stopped: who depends on others first."""


class LabFailed(Exception):
    """Why the lab did not start, with what the program said."""


@dataclass(frozen=True, slots=True)
class Lab:
    """One that runs, or ran, in ``folder``."""

    folder: Path
    port: int
    nodes: int = 4
    cpus: int = 2
    memory: int = 4000
    """Of each node, in MB."""
    gpus: int = 2
    accounting: bool = False
    extra: Sequence[str] = field(default_factory=tuple)
    """Lines for slurm.conf."""
    user: str = ""
    """Whose all of it is, where root starts it; empty: who starts it."""

    @property
    def config(self) -> Path:
        return self.folder / "etc" / "slurm.conf"

    @property
    def names(self) -> list[str]:
        return [f"n{number}" for number in range(1, self.nodes + 1)]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.config)}

    @property
    def owner(self) -> str:
        """Name of who runs all of it."""
        return self.user or pwd.getpwuid(os.getuid()).pw_name

    @property
    def as_user(self) -> list[str]:
        """What stands before a command that runs as the user."""
        if not self.user:
            return []
        found = pwd.getpwnam(self.user)
        ids = [f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}"]
        return ["setpriv", *ids, "--clear-groups", "--"]

    def run(self, *argv: str, check: bool = True) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(
            [*self.as_user, *argv], env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise LabFailed(f"{' '.join(argv)}: {done.stdout.strip()}")
        return done.stdout

    # Start

    def start(self) -> None:
        """Start what does not run; it is ready when this returns. Raises LabFailed."""
        self._write()
        self._key()
        if self.user:
            found = pwd.getpwnam(self.user)
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, found.pw_uid, found.pw_gid, follow_symlinks=False)
        self._munge()
        if self.accounting:
            self._database()
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        self._until(self._are_idle, "the nodes are not idle")
        if self.accounting:
            user = self.owner
            self.run("sacctmgr", "-i", "add", "account", "team-a", "cluster=lab")
            self.run("sacctmgr", "-i", "add", "user", user, "account=team-a", "cluster=lab")

    def start_controller(self) -> None:
        """Start slurmctld, unless it runs; it goes on where it was."""
        if not self._pid("slurmctld"):
            self._daemon(SLURMCTLD)
        self._until(
            lambda: self.run("scontrol", "ping", check=False).find("UP") > 0, "no slurmctld"
        )

    def stop_controller(self) -> None:
        self._end(["slurmctld"])

    def start_node(self, name: str) -> None:
        if not self._pid(f"slurmd.{name}"):
            self._daemon(SLURMD, "-N", name, "-f", str(self.config.parent / name / "slurm.conf"))

    def _write(self) -> None:
        for name in ("etc", "run", "log", "state", "munge", "devices", "database"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "munge").chmod(0o755)
        for number in range(self.gpus):  # a GPU is any character device
            device = self.folder / "devices" / f"gpu{number}"
            if not device.is_symlink():
                device.symlink_to("/dev/null")
        etc = self.config.parent
        said = {line.partition("=")[0] for line in self.extra} - {"NodeName", "PartitionName"}
        usual = (line for line in self._settings() if line.partition("=")[0] not in said)
        self.config.write_text("\n".join([*usual, *self.extra]) + "\n")
        gres = (
            f"NodeName=n[1-{self.nodes}] Name=gpu File={self.folder}/devices/gpu[0-{self.gpus - 1}]"
        )
        (etc / "gres.conf").write_text(f"{gres}\n" if self.gpus else "")
        for name in self.names:
            (self.folder / "spool" / name).mkdir(parents=True, exist_ok=True)
            # A folder of settings for each, as PMIx' own folders would collide on one machine.
            (etc / name).mkdir(exist_ok=True)
            (etc / name / "mpi.conf").write_text(f"PMIxCliTmpDirBase={self.folder}/spool/{name}\n")
            for shared in ("slurm.conf", "gres.conf"):
                link = etc / name / shared
                if not link.is_symlink():
                    link.symlink_to(f"../{shared}")

    def _settings(self) -> Iterator[str]:
        here, host, user = self.folder, socket.gethostname().split(".")[0], self.owner
        munge = here / "munge" / "munge.socket"
        yield from (
            "ClusterName=lab",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={self.port}",
            f"SlurmUser={user}",
            f"SlurmdUser={user}",
            # Jobs of two labs on one machine take different ports.
            f"FirstJobId={self.port % 997 + 1}",
            "AuthType=auth/munge",
            f"AuthInfo=socket={munge},cred_expire=5",
            "CredType=cred/munge",
            f"StateSaveLocation={here}/state",
            f"SlurmdSpoolDir={here}/spool/%n",
            f"SlurmctldPidFile={here}/run/slurmctld.pid",
            f"SlurmdPidFile={here}/run/slurmd.%n.pid",
            f"SlurmctldLogFile={here}/log/slurmctld.log",
            f"SlurmdLogFile={here}/log/slurmd.%n.log",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SwitchType=switch/none",
            "JobAcctGatherType=jobacct_gather/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core_Memory",
            "MpiDefault=none",
            "ReturnToService=2",
            "SlurmdParameters=config_overrides",  # what is declared, not what the machine has
            "SchedulerType=sched/backfill",
            "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0",
            "TopologyPlugin=topology/none",
            "Licenses=matlab:2",
            "MinJobAge=300",
            "KillWait=5",
            "SlurmctldTimeout=30",
            "SlurmdTimeout=30",
            "MessageTimeout=5",
            "GresTypes=gpu",
        )
        if self.accounting:
            yield "AccountingStorageType=accounting_storage/slurmdbd"
            yield "AccountingStorageHost=127.0.0.1"
            yield f"AccountingStoragePort={self.port + 1}"
            yield f"AccountingStoragePass={munge}"
            yield "AccountingStorageTRES=gres/gpu"
            yield "AccountingStoreFlags=job_comment"
        half = max(1, self.nodes // 2)
        for number, name in enumerate(self.names, start=1):
            feature = "a100,zone1" if number <= half else "v100,zone2"
            yield (
                f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1"
                f" Port={self.port + 1 + number} CPUs={self.cpus} RealMemory={self.memory}"
                f" Gres=gpu:{self.gpus} Feature={feature}"
            )
        yield "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
        yield f"PartitionName=pool-a Nodes=n[1-{half}] MaxTime=1-0 State=UP"
        if self.nodes > half:
            yield f"PartitionName=pool-b Nodes=n[{half + 1}-{self.nodes}] MaxTime=1-0 State=UP"

    def _key(self) -> None:
        key = self.folder / "munge" / "munge.key"
        if not key.exists():
            key.touch(0o400)
            key.chmod(0o600)
            key.write_bytes(secrets.token_bytes(1024))
            key.chmod(0o400)

    def _munge(self) -> None:
        here = self.folder / "munge"
        key = here / "munge.key"
        if self._pid("munged"):
            return
        self._daemon(
            MUNGED, "--force", f"--key-file={key}", f"--socket={here}/munge.socket",
            f"--pid-file={self.folder}/run/munged.pid", f"--log-file={here}/munged.log",
            f"--seed-file={here}/munged.seed",
        )  # fmt: skip
        self._until((here / "munge.socket").exists, "munged made no socket")

    def _database(self) -> None:
        here, user, base = self.folder / "database", self.owner, self.folder
        socket_, data = here / "mysql.sock", here / "data"
        if not (data / "mysql").is_dir():
            self.run(
                "mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
                "--auth-root-authentication-method=socket", f"--auth-root-socket-user={user}",
                f"--user={user}",
            )  # fmt: skip
        if not self._pid("mariadbd"):
            into_background = 'log=$1; shift; "$@" >> "$log" 2>&1 &'
            self._daemon(
                "/bin/sh",
                "-c",
                into_background,
                "start",
                str(base / "log" / "mariadbd.log"),
                MARIADB,
                "--no-defaults",
                f"--datadir={data}",
                f"--socket={socket_}",
                "--skip-networking",
                f"--pid-file={base}/run/mariadbd.pid",
                f"--user={user}",
                "--innodb-buffer-pool-size=64M",
                "--performance-schema=OFF",
            )
        ping = ("mariadb-admin", "--no-defaults", f"--socket={socket_}", "ping")
        self._until(lambda: "alive" in self.run(*ping, check=False), "mariadbd does not answer")
        settings = base / "etc" / "slurmdbd.conf"
        settings.touch(0o600)
        settings.write_text(
            f"AuthType=auth/munge\nAuthInfo=socket={base}/munge/munge.socket\nDbdHost=localhost\n"
            f"DbdPort={self.port + 1}\nSlurmUser={user}\nLogFile={base}/log/slurmdbd.log\n"
            f"PidFile={base}/run/slurmdbd.pid\nStorageType=accounting_storage/mysql\n"
            f"StorageHost=localhost\nStorageUser={user}\nStorageLoc=slurm_acct\n"
        )
        if not self._pid("slurmdbd"):
            self._daemon(SLURMDBD, MYSQL_UNIX_PORT=str(socket_))
        self._until(lambda: _answers(self.port + 1), "slurmdbd does not listen")

    def _daemon(self, *argv: str, **more: str) -> None:
        """Run a program that puts itself into the background."""
        done = subprocess.run(
            [*self.as_user, *argv], env={**self.environment, **more}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=False,
            cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        if done.returncode:
            raise LabFailed(f"{' '.join(argv)}: {done.stdout.strip()[-500:]}")

    def _are_idle(self) -> bool:
        told = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%t", check=False).split()
        return told == ["idle"] * self.nodes

    def _until(self, is_so: object, otherwise: str) -> None:
        assert callable(is_so)
        deadline = time.monotonic() + START_SECONDS
        while not is_so():
            if time.monotonic() > deadline:
                raise LabFailed(f"{otherwise}; the logs are in {self.folder / 'log'}")
            time.sleep(0.03)

    # Stop

    def stop(self) -> None:
        """End every process of it, jobs first."""
        if self._pid("slurmctld"):
            with contextlib.suppress(LabFailed, subprocess.TimeoutExpired):
                self.run("scancel", "--quiet", "--user", self.owner, check=False)
        running = self.pids()
        for program in _ORDER:
            self._end([name for name in running if name.split(".")[0] == program])
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self._strays():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def pids(self) -> dict[str, int]:
        """Those of its daemons that live, by their names: ``slurmd.n1``."""
        names = [path.stem for path in (self.folder / "run").glob("*.pid")]
        return {name: pid for name in names if (pid := self._pid(name))}

    def _end(self, names: Sequence[str]) -> None:
        for name in names:
            _send(self._pid(name), signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(map(self._pid, names)) and time.monotonic() < deadline:
            time.sleep(0.02)
        for name in names:
            _send(self._pid(name), signal.SIGKILL)

    def _pid(self, name: str) -> int:
        """0 when it does not live; a zombie does not."""
        try:
            pid = int((self.folder / "run" / f"{name}.pid").read_text())
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (OSError, ValueError):
            return 0
        program = stat.partition("(")[2].rpartition(")")[0]
        is_dead = stat.rpartition(")")[2].split()[0] == "Z"
        return 0 if is_dead or program != name.split(".")[0] else pid

    def _strays(self) -> list[int]:
        """What jobs left behind: their environment names this lab's settings."""
        mark = f"SLURM_CONF={self.folder}/etc/".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            if int(path.name) in (os.getpid(), os.getppid()):
                continue
            with contextlib.suppress(OSError):
                words = (path / "environ").read_bytes().split(b"\0")
                program = (path / "comm").read_text()
                is_job = any(word.startswith(b"SLURM_JOB_ID=") for word in words)
                if any(w.startswith(mark) for w in words) and (
                    is_job or program.startswith("slurmstepd")
                ):
                    found.append(int(path.name))
        return found

    # To find it again

    def remember(self) -> None:
        words = {
            "port": self.port,
            "nodes": self.nodes,
            "accounting": self.accounting,
            "extra": list(self.extra),
            "user": self.user,
        }
        (self.folder / "lab.json").write_text(json.dumps(words))


def find(folder: Path) -> Lab | None:
    """The one that was started in ``folder``, running or not."""
    try:
        return Lab(folder, **json.loads((folder / "lab.json").read_text()))
    except (OSError, ValueError):
        return None


def make(
    folder: Path,
    *,
    nodes: int = 4,
    accounting: bool = False,
    extra: Sequence[str] = (),
    user: str = "",
) -> Lab:
    """A lab in ``folder``, on ports that are free now; started by `Lab.start`."""
    folder.mkdir(parents=True, exist_ok=True)
    lab = Lab(folder, free_ports(nodes + 2), nodes, accounting=accounting, extra=extra, user=user)
    lab.remember()
    return lab


@contextlib.contextmanager
def running(
    folder: Path,
    *,
    nodes: int = 4,
    accounting: bool = False,
    extra: Sequence[str] = (),
    user: str = "",
) -> Iterator[Lab]:
    """A lab for as long as it is used; its folder goes with it. ``extra``: lines of slurm.conf,
    which go before those of the same name."""
    lab = make(folder, nodes=nodes, accounting=accounting, extra=extra, user=user)
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()
        shutil.rmtree(folder, ignore_errors=True)


def free_ports(count: int) -> int:
    """The first of ``count`` ports in a row, below those that the kernel gives out."""
    for _ in range(200):
        first = random.randrange(17_000, 31_000)
        if all(_is_free(first + number) for number in range(count)):
            return first
    raise LabFailed("No row of free ports was found.")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def _send(pid: int, number: signal.Signals) -> None:
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
