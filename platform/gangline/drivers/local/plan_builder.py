"""From rendered form and slots to ``plan.json``: every word of every process."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangline.drivers import shared_gpus, tools
from gangline.drivers.base import GPU_COUNT, AttemptRef, ReplicaPlacement
from gangline.drivers.logs.segments import Limits
from gangline.spec.frameworks import FRAMEWORKS, role_of
from gangline.spec.launcher_commands import GLOO
from gangline.spec.problems import Problem, Role

from . import launches, mounts, roots, sandbox
from .expansion import expand_variables
from .frameworks import WORKER, hostfile_text, replica_environment
from .rendering import FORM
from .run_folder import RunFolder
from .runtimes import RUNTIMES, launch_path
from .shim.files import PLAN_VERSION

HOST = "127.0.0.1"
HOSTFILE = "hostfile"
"""Name of MPI's in the folder of a launcher."""
HOME = "home"
"""Folder of a replica that asked for one of its own, in its work folder."""
INHERITED = ("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "SHELL", "TZ", "USER")


@dataclass(frozen=True, slots=True)
class Site:
    """What this machine gives to every replica."""

    places: sandbox.Places
    runtimes: Mapping[str, Path]
    """Interpreter by name."""
    limits: Limits

    @property
    def data_dir(self) -> Path:
        return self.places.data_dir


class CannotPlan(Exception):
    """In words, why this attempt cannot run here at all, and at which field."""

    def __init__(self, reason: str, *problems: Problem) -> None:
        super().__init__(reason)
        self.problems = problems


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
        "ranks": [{"name": s.name, "rank": s.index} for s in gang.ranks],
        "marks": {slot.name: mark_of(ref, slot.name) for slot in gang.started},
        "placement": [_placement(slot) for slot in ref.placement],
    }


def from_claims(ref: AttemptRef, names: Sequence[str]) -> dict[str, Any]:
    """As much of a plan as ending a gang needs, where the plan itself is of no use."""
    return {
        "replicas": [{"name": name} for name in names],
        "marks": {name: mark_of(ref, name) for name in names},
    }


def _late(plan: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Place, variable, credential and key of everything that is known only at the start.

    A place is a replica, or one of the steps before its command: ``worker-0/0``.
    """
    for replica in plan["replicas"]:
        places = {str(replica["name"]): replica.get("late", ())}
        for number, step in enumerate(replica.get("fetches", ())):
            places[f"{replica['name']}/{number}"] = step.get("late", ())
        for place, late in places.items():
            for name, credential, key in late:
                yield place, name, credential, key


def lacking(plan: Mapping[str, Any], secrets: Mapping[str, Mapping[str, str]]) -> str:
    """Why a variable of ``plan`` cannot be filled in from a credential; else empty."""
    for _, name, credential, key in _late(plan):
        if credential not in secrets:
            return f"The credential {credential}, for the variable {name}, does not exist."
        if key not in secrets[credential]:
            return f"The credential {credential} has no {key}, for the variable {name}."
    for _, one in _files(plan):
        if one["credential"] not in secrets:
            return f"The credential {one['credential']}, for {one['target']}, does not exist."
    return ""


def _files(plan: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Place and credential of everything whose keys become files: ``worker-0/files/0``."""
    for replica in plan["replicas"]:
        for number, one in enumerate(replica.get("files", ())):
            yield f"{replica['name']}/files/{number}", one


def late_of(
    plan: Mapping[str, Any], secrets: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """The variables and files of each place that are secret: nobody writes them down."""
    found: dict[str, dict[str, str]] = {}
    for place, name, credential, key in _late(plan):
        found.setdefault(place, {})[name] = secrets[credential][key]
    return found | {place: dict(secrets[one["credential"]]) for place, one in _files(plan)}


def ref_of(plan: Mapping[str, Any]) -> AttemptRef:
    """The attempt that a plan was made for."""
    slots = tuple(
        ReplicaPlacement(**{**slot, "gpus": tuple(slot["gpus"]), "ports": tuple(slot["ports"])})
        for slot in plan["placement"]
    )
    return AttemptRef(
        install=plan["install"],
        workload=plan["workload"],
        attempt=plan["attempt"],
        name=plan["name"],
        namespace=plan["namespace"],
        placement=slots,
        ext_uid=f"{plan['workload']}/{plan['attempt']}",
        grace_seconds=plan["grace"],
    )


def mark_of(ref: AttemptRef, name: str) -> str:
    """What all processes of a replica carry in their environment as GANGLINE_RUN."""
    return f"{ref.install}/{ref.workload}/{ref.attempt}/{name}"


def prepare_work(site: Site, folder: RunFolder, plan: Mapping[str, Any]) -> None:
    """Make the folders that the replicas of ``plan`` start in."""
    for replica in plan["replicas"]:
        for _, source in replica["mounts"]:
            if source and Path(source).is_relative_to(site.data_dir):
                Path(source).mkdir(mode=0o700, parents=True, exist_ok=True)
        work = folder.work(replica["name"])
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
        if site.places.examples_dir is not None and not os.path.lexists(work / "examples"):
            (work / "examples").symlink_to(site.places.examples_dir)
        if replica["env"].get("HOME") == str(work / HOME):
            (work / HOME).mkdir(mode=0o700, exist_ok=True)
        if plan["ranks"]:
            (work / HOSTFILE).write_text(hostfile_text(num_workers=len(plan["ranks"])))


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
        framework = FRAMEWORKS[native["framework"]]
        order = [role.name for role in framework.roles]
        slots = sorted(ref.placement, key=lambda slot: (order.index(slot.role), slot.index))
        self.slots, self.framework = slots, framework
        self.launcher = str(native.get("launcher", ""))
        self.meets = self.launcher == GLOO
        """Each rank is started by itself, and the launcher only serves their meeting."""
        self.uses_launcher = framework.launches and not self.meets
        self.workers = [slot for slot in slots if slot.role == WORKER]
        self.started = slots[:1] if self.uses_launcher else slots
        self.ranks = [slot for slot in self.workers if slot not in self.started]
        self.ports = [slot.ports[0] for slot in slots if slot.ports]
        if not self.ports:
            raise CannotPlan("No port was assigned to the workload.")
        self._start = launches.Start(native, len(self.workers), HOST, self.ports[0])

    def replica(self, slot: ReplicaPlacement) -> dict[str, Any]:
        name, role = slot.name, self._role(slot)
        work = self.folder.work(name)
        runtime = str(role.get("runtime", ""))
        python = self.site.runtimes.get(runtime)
        if python is None:
            raise CannotPlan(f"This machine has no runtime named '{runtime}'.")
        name_python(self.site.data_dir / "bin" / runtime, python.parent)
        said = [(pair[0], pair[1]) for pair in role.get("variables", [])]
        given = self._environment(slot, runtime, python, work)
        if role.get("home"):
            given["HOME"] = str(work / HOME)
        given |= _of_tools(slot, role.get("tools", ()))
        environment = expand_variables(given, said)
        environment["GANGLINE_RUN"] = mark_of(self.ref, name)
        if category := role.get("category"):
            environment["GANGLINE_CATEGORY"] = category
        for kind in ("labels", "annotations"):
            if pairs := role.get(kind):
                environment[f"GANGLINE_{kind.upper()}"] = json.dumps(dict(pairs))
        try:
            argv = self._start.words(slot.role, role, environment, str(work / HOSTFILE))
        except launches.NoCommand as problem:
            raise CannotPlan(str(problem)) from problem
        if any("\0" in text for text in (*argv, *environment, *environment.values())):
            raise CannotPlan("A command or variable contains a NUL character.")
        places = self.site.places
        found = self._mounts(slot, role)
        chosen = self._working_directory(slot.role, role, found)
        shown = [self.site.data_dir / "bin" / runtime, *readable(self.site, python)]
        shown = [folder for folder in shown if folder.is_dir()]
        writable = [] if chosen is None or roots.is_example(chosen, places) else [chosen]
        cwd = str(chosen or work)
        inside = places.sandboxed
        where = str(role.get("workingDirectory") or "")
        at = where if mounts.around(where, found) else cwd
        return {
            "name": name,
            "role": slot.role,
            "index": slot.index,
            "rank": slot.rank,
            **({"serves": True} if self._serves(slot.role) else {}),
            "runtime": runtime,
            "argv": argv,
            "env": environment,
            "late": role.get("late", []),
            "cwd": cwd,
            "log": str(self.folder.logs / name),
            "memory_limit": self._memory_limit(slot),
            "cores": _cores(role.get("limits", {}).get("cores"), slot.rank),
            "opened": [] if chosen is None else [cwd],
            "sandbox": sandbox.prefix(
                places, cwd=at, readable=shown, writable=writable, work=work, mounts=found
            )
            if inside
            else [],
            "at": at,
            "mounts": [[one.target, one.source] for one in found],
            "fetches": self._replica(slot, role).fetches(),
            "files": self._replica(slot, role).files(),
            "hidden": [*map(str, places.covered()), sandbox.PRIVATE],
            "shown": [str(p) for p in (*shown, *writable, work)],
            "scratch": "" if inside else environment["TMPDIR"],
        }

    def _serves(self, role: str) -> bool:
        return role_of(self.framework.name, role).serves or (self.meets and role != WORKER)

    def _replica(self, slot: ReplicaPlacement, role: Mapping[str, Any]) -> mounts.Replica:
        return mounts.Replica(
            places=self.site.places,
            folder=self.folder,
            name=slot.name,
            project=str(self.native.get("volumesOf", "")),
            elsewhere=self.native.get("volumesElsewhere", {}),
            native=role.get("mounts", {}),
            role=self._half(slot.role),
        )

    def _half(self, name: str) -> Role:
        return role_of(self.framework.name, name).half

    def _mounts(self, slot: ReplicaPlacement, role: Mapping[str, Any]) -> list[sandbox.Mount]:
        """What stands at container paths, judged again as the working directory."""
        try:
            return self._replica(slot, role).mounts()
        except mounts.CannotMount as problem:
            raise CannotPlan(str(problem), problem.problem) from problem

    def _working_directory(
        self, name: str, role: Mapping[str, Any], found: Sequence[sandbox.Mount]
    ) -> Path | None:
        """The chosen folder, judged again: since the submission a link may lead elsewhere.

        None: it is the replica's own, or lies in what is mounted.
        """
        given = role.get("workingDirectory")
        if not given or mounts.around(given, found):
            return None
        try:
            return roots.folder(given, self.site.places)
        except roots.UnfitFolder as unfit:
            problem = unfit.problem.at(role=self._half(name), path="workingDir", value=given)
            reason = f"The working directory '{given}' {problem.told}"
            raise CannotPlan(reason, problem) from unfit

    def _role(self, slot: ReplicaPlacement) -> Mapping[str, Any]:
        own: Mapping[str, Any] | None = self.native.get(slot.role)
        return own if own is not None else self.native["worker"]

    def _environment(
        self, slot: ReplicaPlacement, runtime: str, python: Path, work: Path
    ) -> dict[str, str]:
        shares = self.slots if self.uses_launcher else [slot]
        ranks = self.workers if self.uses_launcher else self.slots
        # Ranks of one launcher may share a device.
        gpus = list(dict.fromkeys(gpu for share in shares for gpu in share.gpus))
        scratch = sandbox.PRIVATE if self.site.places.sandboxed else str(work.parent / "tmp")
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        contract = replica_environment(
            framework=self.native["framework"],
            configuration=self.native["configuration"],
            rank=slot.rank,
            world_size=len(ranks),
            role=slot.role,
            index=slot.index,
            num_workers=len(self.workers),
            num_servers=sum(slot.role == "server" for slot in self.slots),
            interface=self.native.get("interface", ""),
            master_addr=HOST,
            master_port=self.ports[0],
            cpus=(self.workers[:1] or [slot])[0].cpus if self.uses_launcher else slot.cpus,
            ports=self.ports,
            hostfile=str(work / HOSTFILE),
            launcher=self.launcher,
            is_root=os.geteuid() == 0,
            identifiers=self.native.get("identifiers", {}),
        )
        own = {
            "PATH": launch_path(self.site.data_dir, runtime, python),
            "TMPDIR": scratch,
            "GANGLINE_ATTEMPT": str(self.ref.attempt),
            "GANGLINE_RUN_DIR": str(work),
            "CUDA_VISIBLE_DEVICES": ",".join(gpus),
            GPU_COUNT: str(len(gpus)),
        }
        if (part := (self.workers if self.uses_launcher else [slot])[0].gpu_share) < 1:
            own["GANGLINE_GPU_PORTION"] = f"{part:g}"
            sharing = self.workers[0] if self.uses_launcher else slot
            own |= shared_gpus.variables(self._role(sharing))
        if self.site.places.examples_dir is not None:
            own["GANGLINE_EXAMPLES"] = str(self.site.places.examples_dir)
        if (runtimes := self.site.data_dir / RUNTIMES).is_dir():
            own["GANGLINE_RUNTIMES"] = str(runtimes)
        return {"LANG": "C.UTF-8"} | inherited | own | contract

    def _memory_limit(self, slot: ReplicaPlacement) -> int | None:
        shares = self.slots if self.uses_launcher else [slot]
        limits = [self._role(share).get("limits", {}).get("memory") for share in shares]
        return None if None in limits else sum(limits)


def readable(site: Site, python: Path) -> list[Path]:
    """Folders that whoever runs ``python`` needs, where they would be hidden."""
    runtimes = site.data_dir / RUNTIMES
    # All of them: a program may use data that another runtime's package brings along.
    folders = [runtimes, python.parent.parent]
    if site.places.examples_dir is not None:
        folders.append(site.places.examples_dir)
    # Programs of an environment name it by its path, which may be behind a link.
    folders += [Path(os.path.realpath(folder)) for folder in folders]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _of_tools(slot: ReplicaPlacement, names: Sequence[str]) -> dict[str, str]:
    """The port of each tool of the role, after the one at which peers find the replica."""
    ports = dict(zip(names, slot.ports[1:], strict=False))
    return {tools.variable(name): str(port) for name, port in ports.items()}


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
        "gpu_share": slot.gpu_share,
    }
