"""From rendered form and slots to ``plan.json``: every word of every process."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangline.drivers.base import GPU_COUNT, AttemptRef, ReplicaPlacement
from gangline.spec.frameworks import FRAMEWORKS

from . import sandbox
from .expansion import expand, expand_variables
from .frameworks import MASTER, WORKER, hostfile_text, replica_environment
from .rendering import FORM
from .run_folder import RunFolder
from .runtimes import RUNTIMES, launch_path
from .shim.files import PLAN_VERSION
from .shim.log import Limits

HOST = "127.0.0.1"
INHERITED = ("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "SHELL", "TZ", "USER")


@dataclass(frozen=True, slots=True)
class Site:
    """What this machine gives to every replica."""

    data_dir: Path
    runtimes: Mapping[str, Path]
    """Interpreter by name."""
    examples_dir: Path | None
    sandboxed: bool
    limits: Limits


class CannotPlan(Exception):
    """In words, why this attempt cannot run here at all."""


def build(site: Site, ref: AttemptRef, native: Mapping[str, Any]) -> dict[str, Any]:
    """The plan for ``ref``. Raises CannotPlan."""
    if native.get("form") != FORM:
        raise CannotPlan("Another version of Gangline prepared it. Run it again.")
    if not ref.placement:
        raise CannotPlan("No slots were assigned to the workload.")
    folder = RunFolder(site.data_dir, ref.workload, ref.attempt)
    gang = _Gang(site, ref, native, folder)
    return {
        "version": PLAN_VERSION,
        "install": ref.install,
        "workload": ref.workload,
        "attempt": ref.attempt,
        "name": ref.name,
        "namespace": ref.namespace,
        "grace": ref.grace_seconds,
        "runs": str(site.data_dir / "runs"),
        "log": list(site.limits),
        "replicas": [gang.replica(slot) for slot in gang.started],
        "ranks": [{"name": _name(s), "rank": s.index} for s in gang.ranks],
        "marks": {_name(slot): mark_of(ref, _name(slot)) for slot in gang.started},
        "placement": [_placement(slot) for slot in ref.placement],
    }


def from_claims(ref: AttemptRef, names: Sequence[str]) -> dict[str, Any]:
    """As much of a plan as ending a gang needs, where the plan itself is of no use."""
    return {
        "replicas": [{"name": name} for name in names],
        "marks": {name: mark_of(ref, name) for name in names},
    }


def mark_of(ref: AttemptRef, name: str) -> str:
    """What all processes of a replica carry in their environment as GANGLINE_RUN."""
    return f"{ref.install}/{ref.workload}/{ref.attempt}/{name}"


def prepare_work(site: Site, folder: RunFolder, plan: Mapping[str, Any]) -> None:
    """Make the folders that the replicas of ``plan`` start in."""
    for replica in plan["replicas"]:
        work = folder.work(replica["name"])
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
        if site.examples_dir is not None and not os.path.lexists(work / "examples"):
            (work / "examples").symlink_to(site.examples_dir)
        if plan["ranks"]:
            (work / "hostfile").write_text(hostfile_text(num_workers=len(plan["ranks"])))


def name_python(folder: Path, runtime_bin: Path) -> None:
    """Let ``python`` mean the runtime's interpreter where that is only called ``python3``."""
    named, other = runtime_bin / "python", runtime_bin / "python3"
    if named.exists() or not other.exists():
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        (folder / "python").symlink_to(other)
    except FileExistsError:
        return


class _Gang:
    def __init__(
        self, site: Site, ref: AttemptRef, native: Mapping[str, Any], folder: RunFolder
    ) -> None:
        self.site, self.ref, self.native, self.folder = site, ref, native, folder
        slots = sorted(ref.placement, key=lambda slot: (slot.rank, slot.role, slot.index))
        self.slots = slots
        self.uses_launcher = not FRAMEWORKS[native["framework"]].master_trains
        self.workers = [slot for slot in slots if slot.role == WORKER]
        masters = [slot for slot in slots if slot.role == MASTER]
        self.started = (masters or self.workers)[:1] if self.uses_launcher else slots
        self.ranks = [slot for slot in self.workers if slot not in self.started]
        self.ports = [port for slot in slots for port in slot.ports]
        if not self.ports:
            raise CannotPlan("No port was assigned to the workload.")

    def replica(self, slot: ReplicaPlacement) -> dict[str, Any]:
        name, role = _name(slot), self._role(slot)
        work = self.folder.work(name)
        runtime = str(role.get("runtime", ""))
        python = self.site.runtimes.get(runtime)
        if python is None:
            raise CannotPlan(f"This machine has no runtime named '{runtime}'.")
        name_python(self.site.data_dir / "bin" / runtime, python.parent)
        said = [(pair[0], pair[1]) for pair in role.get("variables", [])]
        environment = expand_variables(self._environment(slot, runtime, python, work), said)
        environment["GANGLINE_RUN"] = mark_of(self.ref, name)
        for kind in ("labels", "annotations"):
            if pairs := role.get(kind):
                environment[f"GANGLINE_{kind.upper()}"] = json.dumps(dict(pairs))
        words = [*role.get("command", []), *role.get("arguments", [])]
        argv = [expand(word, environment) for word in words]
        if not argv:
            raise CannotPlan(f"The {slot.role} has no command.")
        if any("\0" in text for text in (*argv, *environment, *environment.values())):
            raise CannotPlan("A command or variable holds a NUL character.")
        cwd = str(role.get("workingDirectory") or work)
        readable = self._readable(runtime, python)
        writable = [] if cwd == str(work) or self._is_example(cwd) else [Path(cwd)]
        inside = self.site.sandboxed
        return {
            "name": name,
            "role": slot.role,
            "index": slot.index,
            "rank": slot.rank,
            "runtime": runtime,
            "argv": argv,
            "env": environment,
            "cwd": cwd,
            "log": str(self.folder.logs / name),
            "memory_limit": self._memory_limit(slot),
            "cores": _cores(role.get("limits", {}).get("cores"), slot.rank),
            "sandbox": sandbox.prefix(
                data_dir=self.site.data_dir,
                work=work,
                cwd=cwd,
                readable=readable,
                writable=[folder for folder in writable if folder.is_dir()],
            )
            if inside
            else [],
            "hidden": [str(self.site.data_dir), sandbox.PRIVATE],
            "shown": [str(p) for p in (*readable, *writable, work)],
            "scratch": "" if inside else environment["TMPDIR"],
        }

    def _role(self, slot: ReplicaPlacement) -> Mapping[str, Any]:
        own: Mapping[str, Any] | None = self.native.get(slot.role)
        return own if own is not None else self.native["worker"]

    def _environment(
        self, slot: ReplicaPlacement, runtime: str, python: Path, work: Path
    ) -> dict[str, str]:
        shares = self.slots if self.uses_launcher else [slot]
        ranks = self.workers if self.uses_launcher else self.slots
        scratch = sandbox.PRIVATE if self.site.sandboxed else str(work.parent / "tmp")
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        contract = replica_environment(
            framework=self.native["framework"],
            configuration=self.native["configuration"],
            rank=slot.rank,
            world_size=len(ranks),
            role=slot.role,
            index=slot.index,
            num_workers=len(self.workers),
            master_addr=HOST,
            master_port=self.ports[0],
            cpus=(self.workers[:1] or [slot])[0].cpus if self.uses_launcher else slot.cpus,
            ports=self.ports,
            hostfile=str(work / "hostfile"),
            is_root=os.geteuid() == 0,
            identifiers=self.native.get("identifiers", {}),
        )
        own = {
            "PATH": launch_path(self.site.data_dir, runtime, python),
            "TMPDIR": scratch,
            "GANGLINE_ATTEMPT": str(self.ref.attempt),
            "GANGLINE_RUN_DIR": str(work),
            "CUDA_VISIBLE_DEVICES": ",".join(gpu for share in shares for gpu in share.gpus),
            GPU_COUNT: str(sum(len(share.gpus) for share in shares)),
        }
        if self.site.examples_dir is not None:
            own["GANGLINE_EXAMPLES"] = str(self.site.examples_dir)
        if self._runtimes.is_dir():
            own["GANGLINE_RUNTIMES"] = str(self._runtimes)
        return {"LANG": "C.UTF-8"} | inherited | own | contract

    def _memory_limit(self, slot: ReplicaPlacement) -> int | None:
        shares = self.slots if self.uses_launcher else [slot]
        limits = [self._role(share).get("limits", {}).get("memory") for share in shares]
        return None if None in limits else sum(limits)

    def _readable(self, runtime: str, python: Path) -> list[Path]:
        folders = [self.site.data_dir / "bin" / runtime, python.parent.parent]
        if self.site.examples_dir is not None:
            folders.append(self.site.examples_dir)
        # All of them: a program may use data that another runtime's package brings along.
        folders.insert(0, self._runtimes)
        return [folder for folder in folders if folder.is_dir()]

    @property
    def _runtimes(self) -> Path:
        return self.site.data_dir / RUNTIMES

    def _is_example(self, cwd: str) -> bool:
        examples = self.site.examples_dir
        return examples is not None and Path(cwd).is_relative_to(examples)


def _name(slot: ReplicaPlacement) -> str:
    return f"{slot.role}-{slot.index}"


def _cores(limit: int | None, rank: int) -> list[int]:
    """The cores a replica with a CPU limit may run on; empty for all of them."""
    cores: Sequence[int] = sorted(os.sched_getaffinity(0))
    if limit is None or limit >= len(cores):
        return []
    return sorted(cores[(rank * limit + i) % len(cores)] for i in range(limit))


def _placement(slot: ReplicaPlacement) -> dict[str, Any]:
    return {
        "role": slot.role,
        "index": slot.index,
        "rank": slot.rank,
        "cpus": slot.cpus,
        "memory": slot.memory,
        "gpus": list(slot.gpus),
        "ports": list(slot.ports),
    }
