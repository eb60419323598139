"""The local cluster: processes of this machine, each under a shim that outlives the dashboard."""

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gangline.drivers.base import (
    NO_FACTS,
    AttemptRef,
    Busy,
    Done,
    DryRunResult,
    Kept,
    KeptObject,
    LogChunk,
    NotYet,
    Observation,
    ObservedState,
    OwnedObject,
    Refused,
    Result,
    Submission,
    TellTrouble,
    Unknown,
    ignore_all_told,
    ignore_trouble,
)
from gangline.drivers.claims import CLAIM
from gangline.drivers.facts import Capacity, Facts, FieldNote, Health
from gangline.drivers.logs import store
from gangline.drivers.logs.segments import Limits
from gangline.drivers.ports import Connection
from gangline.drivers.results import GONE, Files
from gangline.drivers.shells import REPLICA_ENDED, Shell, ShellRequest
from gangline.lib.paths import OWN_CODE
from gangline.lib.problems import Problem as Refusal
from gangline.spec.problems import Advice, Problem, Role

from . import (
    capacity,
    check,
    dry_run,
    field_hints,
    mounts,
    observation,
    plan_builder,
    ports,
    rendering,
    results,
    sandbox,
    scripts,
    shells,
    watcher,
)
from .run_folder import BadName, RunFolder, all_runs, make_private, replica_name
from .runtimes import CACHE_NAME, find_runtimes, frameworks_of, how_to_add, offered, probe_runtimes
from .shim import files, gang_end, tree

LAUNCHER = Path(__file__).with_name("launcher.py")
LAUNCH_SECONDS = 20
STUBBORN = 10.0
"""Seconds beyond the grace period after which a supervisor that does not end is killed."""


@dataclass(frozen=True, slots=True)
class Options:
    """How this machine is used. ``declared_gpus`` are given out though nothing was detected."""

    runtimes: Mapping[str, Path] = field(default_factory=dict)
    """Environments or interpreters by name, beside those in the data folder and the system's."""
    declared_gpus: int = 0
    examples_dir: Path | None = None
    roots: tuple[Path, ...] = ()
    """Folders below which a working directory may lie, beside the examples."""
    code: tuple[Path, ...] = OWN_CODE
    """Gangline's own programs, which no workload may change."""
    hidden: tuple[Path, ...] = ()
    """What else than the data folder no workload may see."""
    tools_url: str = ""
    """Where tools are opened, with ``*`` for the name of one; empty: nowhere."""
    use_sandbox: bool | None = None
    """None: use bubblewrap when a trial of it works."""
    log_limits: Limits = field(default_factory=Limits)


class LocalDriver:
    """See ``Driver``. ``data_dir`` is owned by the user of the dashboard, mode 0700."""

    kind = "local"
    unsupported = rendering.UNSUPPORTED
    mapped = rendering.MAPPED
    in_flight_max = 2.0

    def __init__(
        self,
        data_dir: Path,
        host_id: str,
        options: Options | None = None,
        *,
        boot_id: Callable[[], str] = files.boot_id,
    ) -> None:
        self.data_dir = Path(os.path.realpath(data_dir))
        self.host_id = host_id
        self.options = options or Options()
        self.boot_id = boot_id

    def probe(self) -> Health:
        problem = self._folder_problem()
        if problem:
            return Health(reachable=False, reason=problem)
        probed = probe_runtimes(self._runtimes(), self.data_dir / CACHE_NAME, self._confined)
        room, advice = self.capacity(), how_to_add(self.data_dir)
        detail: dict[str, Any] = {
            "hostId": self.host_id,
            "node": platform.node(),
            "system": f"{platform.system()} {platform.release()}",
            "sandbox": self._is_sandboxed(),
            "cpus": room.cpus,
            "memory": room.memory,
            "gpus": list(room.gpus),
            "gpusDeclared": room.gpus_declared,
            "gpuMemory": room.gpu_memory,
            "moreRuntimes": advice,
        }
        facts = Facts(
            version=platform.release(),
            frameworks=tuple(frameworks_of(probed, advice).values()),
            runtimes=tuple(map(offered, probed)),
            detail=detail,
        )
        return Health(reachable=True, facts=facts, nodes=(capacity.node(room),))

    def capacity(self) -> Capacity:
        declared = self.options.declared_gpus
        found = tuple(map(str, range(declared))) if declared else capacity.gpus()
        return Capacity(
            admission="ours",
            cpus=capacity.cores(),
            memory=capacity.memory(),
            gpus=found,
            gpus_declared=declared > 0,
            gpu_memory=0 if declared else capacity.gpu_memory(),
            ports=capacity.PORTS,
        )

    def check(self, submission: Submission, facts: Facts) -> list[Problem]:
        return [
            *check.check(submission, facts, self._places()),
            *check.tool_problems(submission, self.options.tools_url),
        ]

    def advise(self, submission: Submission, facts: Facts) -> list[Advice]:
        return list(scripts.advise(submission, self._places()))

    def field_notes(
        self,
        *,
        framework: str,
        role: Role,
        has_own_master: bool,
        launcher: str = "",
        facts: Facts = NO_FACTS,
    ) -> Mapping[str, FieldNote]:
        return field_hints.field_notes(
            framework=framework,
            role=role,
            has_own_master=has_own_master,
            launcher=launcher,
            facts=facts,
            roots=self._roots(),
            sandboxed=self._is_sandboxed(),
        )

    def render(self, submission: Submission) -> dict[str, Any]:
        return rendering.render(submission)

    def dry_run(self, ref: AttemptRef) -> DryRunResult:
        return dry_run.dry_run(ref.rendered, self.data_dir, self._runtimes())

    def observe(self, ref: AttemptRef) -> Observation:
        try:
            folder = self._folder(ref)
            seen = observation.observe(folder, self.boot_id())
            if seen.state is ObservedState.TERMINATING:
                # However the end began: nothing else comes by once a supervisor hangs.
                self._end_stubborn(folder, ref)
            return seen
        except BadName:
            return Observation(ref.workload, ref.attempt, ObservedState.ABSENT)
        except OSError as problem:
            reason = f"The run folder cannot be read: {problem.strerror}."
            return Observation(ref.workload, ref.attempt, ObservedState.UNKNOWN, reason)

    def create(self, ref: AttemptRef) -> Result:
        return _answer(self._create, ref)

    def commit(self, ref: AttemptRef) -> Result:
        return Done()

    def suspend(self, ref: AttemptRef) -> Result:
        return _answer(self._suspend, ref)

    def resume(self, ref: AttemptRef) -> Result:
        return Refused("A stopped attempt is not continued on this machine; a new one is started.")

    def delete(self, ref: AttemptRef) -> Result:
        return _answer(self._delete, ref)

    def owned_objects(self, install: str) -> Sequence[OwnedObject] | Unknown:
        """Runs in the data folder that still have a process."""
        boot = self.boot_id()
        found = []
        for folder in all_runs(self.data_dir):
            try:
                plan = folder.plan()
            except files.UnusablePlan:
                continue
            if plan is None or plan["install"] != install:
                continue
            if observation.live_replicas(folder, plan, boot):
                ref = plan_builder.ref_of(plan)
                found.append(OwnedObject(ref, "run", gpus=sum(len(p.gpus) for p in ref.placement)))
        return found

    def delete_object(self, owned: OwnedObject) -> Result:
        return self.delete(owned.ref)

    def apply(self, wanted: KeptObject) -> Kept:
        """A claim is a folder here."""
        try:
            folder = self._claim(wanted)
            if wanted.is_others and not folder.is_dir():
                return Kept("failed", Refusal("missing:claim", "", {"value": wanted.name}))
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except ValueError as problem:
            params = {"said": str(problem), "value": wanted.kind}
            return Kept("failed", Refusal("kind:machine", "", params))
        except OSError as problem:
            params = {"said": problem.strerror or "", "value": wanted.name}
            return Kept("failed", Refusal("folder", "", params))
        return Kept("ok")

    def remove(self, wanted: KeptObject) -> Kept:
        if wanted.is_others:
            return Kept("gone")
        try:
            return Kept("gone" if mounts.forget(self._claim(wanted)) else "deleting")
        except ValueError:
            return Kept("gone")

    def _claim(self, wanted: KeptObject) -> Path:
        """Where it lies; raises ValueError for anything but a claim."""
        if wanted.kind != CLAIM:
            raise ValueError("There are no objects of this kind on this machine.")
        return mounts.claim_folder(self.data_dir, wanted.namespace, wanted.name)

    def watch(
        self,
        install: str,
        cursor: str,
        tell: TellTrouble = ignore_trouble,
        all_told: Callable[[], None] = ignore_all_told,
    ) -> Iterator[Sequence[Observation]]:
        def owns(folder: RunFolder) -> bool:
            try:
                plan = folder.plan()
            except files.UnusablePlan:
                return True  # the data folder is ours, and so are its attempts
            return plan is not None and plan["install"] == install

        def look(folder: RunFolder) -> Observation:
            return self.observe(AttemptRef(install, folder.workload, folder.attempt, name=""))

        return watcher.watch(self.data_dir, owns, look, all_told)

    def silent_for(self) -> float | None:
        return None

    def read_log(self, ref: AttemptRef, replica: str, offset: int, limit: int) -> LogChunk:
        try:
            folder, name = self._folder(ref), replica_name(replica)
        except BadName:
            return LogChunk(b"", 0, end=True)
        # Whether it has ended is asked first: what it wrote until then is read below.
        ended = not observation.may_write(folder, name, self.boot_id())
        return store.read(folder.logs / name, offset, limit, ended=ended)

    def open_shell(
        self, ref: AttemptRef, replica: str, request: ShellRequest
    ) -> Shell | Refused | Unknown | Busy:
        try:
            folder, name = self._entered(ref, replica)
        except (BadName, files.UnusablePlan):
            return Refused(REPLICA_ENDED)

        def has_ended() -> bool:
            if folder.exit(name) is not None or folder.started(name) is None:
                return True
            return not observation.is_live(folder.claim(name), self.boot_id())

        return shells.visit(folder, name, request, has_ended)

    def open_port(
        self, ref: AttemptRef, replica: str, port: int
    ) -> Connection | Refused | Unknown | Busy:
        try:
            folder, name = self._entered(ref, replica)
        except (BadName, files.UnusablePlan):
            return Refused(REPLICA_ENDED)
        claim = folder.claim(name)
        if claim is None or not observation.is_live(claim, self.boot_id()):
            return Refused(REPLICA_ENDED)
        return ports.connect([one.pid for one in tree.descendants(int(claim["pid"]))], port)

    def _entered(self, ref: AttemptRef, replica: str) -> tuple[RunFolder, str]:
        """Where one is when one enters a replica. Raises BadName, UnusablePlan."""
        folder, name = self._folder(ref), replica_name(replica)
        plan = folder.plan()
        if plan is not None and name in [rank["name"] for rank in plan["ranks"]]:
            # Ranks run within the sandbox of the launcher that starts them.
            name = str(plan["replicas"][0]["name"])
        return folder, name

    def files_of(self, ref: AttemptRef) -> Files | Refused:
        try:
            return results.Reader(self._folder(ref), self._places())
        except BadName:
            return Refused(GONE)

    def _create(self, ref: AttemptRef) -> Result:
        folder = self._folder(ref)
        folder.prepare()
        if folder.is_cancelled:
            return Refused("The attempt was deleted before it started.")
        plan = folder.plan()
        if plan is None:
            native = ref.rendered
            if native is None:
                if ref.submission is None:
                    return Refused("The attempt has no rendered form.")
                native = self.render(ref.submission)
            site = self._site()
            try:
                plan = plan_builder.build(site, ref, native)
            except plan_builder.CannotPlan as problem:
                return Refused(str(problem), problem.problems)
            plan_builder.prepare_work(site, folder, plan)
            folder.write_plan(plan)
        if missing := plan_builder.lacking(plan, ref.secrets):
            return Refused(missing)
        return self._launch(folder, plan_builder.late_of(plan, ref.secrets))

    def _launch(self, folder: RunFolder, late: Mapping[str, Mapping[str, str]]) -> Result:
        """``late`` are variables by replica: they go through a pipe, and onto no disk."""
        line = [sys.executable, "-I", "-S", str(LAUNCHER), str(folder.path)]
        with (folder.ctl / "faults.txt").open("ab") as faults:
            launcher = subprocess.run(
                line,
                env={"LANG": "C.UTF-8"},
                cwd="/",
                input=json.dumps(late).encode(),
                stdout=faults,
                stderr=faults,
                start_new_session=True,
                timeout=LAUNCH_SECONDS,
                check=False,
            )
        if launcher.returncode:
            return Unknown(f"The launcher ended with code {launcher.returncode}.")
        folder.note_launch()
        return NotYet()

    def _suspend(self, ref: AttemptRef) -> Result:
        return self._end(self._folder(ref), gang_end.STOP, ref)

    def _delete(self, ref: AttemptRef) -> Result:
        folder = self._folder(ref)
        # Cancel first, read claims afterwards: a shim does it the other way round (R7a).
        folder.cancel()
        ended = self._end(folder, gang_end.DELETE, ref)
        if not isinstance(ended, Done) or ref.goes_on:
            return ended
        kept = mounts.kept_folder(self.data_dir, folder.workload)
        return ended if mounts.forget(kept) else NotYet()

    def _end(self, folder: RunFolder, cause: str, ref: AttemptRef) -> Result:
        try:
            plan = folder.plan()
        except files.UnusablePlan:
            plan = plan_builder.from_claims(ref, folder.claimed())
        if plan is None:
            return Done()
        boot = self.boot_id()
        exits = [folder.exit(str(replica["name"])) for replica in plan["replicas"]]
        live = observation.live_replicas(folder, plan, boot)
        if None in exits:
            gang_end.request(str(folder.ctl), cause=cause, grace=float(ref.grace_seconds))
        if live:
            self._end_stubborn(folder, ref)
            return NotYet()
        for replica in plan["replicas"]:
            name = str(replica["name"])
            if folder.exit(name) is None and folder.claim(name) is not None:
                tree.kill_marked(plan["marks"][name])
        return Done()

    def _end_stubborn(self, folder: RunFolder, ref: AttemptRef) -> None:
        """Kill supervisors that should be gone for long, and everything below them."""
        end = folder.end()
        if end is None or time.time() - float(end["time"]) < float(end["grace"]) + STUBBORN:
            return
        for name in folder.claimed():
            claim = folder.claim(name)
            is_live = observation.is_live(claim, self.boot_id())
            if claim is None or not is_live or folder.exit(name) is not None:
                continue
            shim = tree.Process(int(claim["pid"]), int(claim["start_time"]))
            below = tree.descendants(shim.pid)
            for process in (shim, *below):
                tree.send(process, signal.SIGKILL)
            tree.kill_marked(plan_builder.mark_of(ref, name))

    def _site(self) -> plan_builder.Site:
        return plan_builder.Site(
            places=self._places(),
            runtimes=self._runtimes(),
            limits=self.options.log_limits,
        )

    def _places(self) -> sandbox.Places:
        return sandbox.Places(
            data_dir=self.data_dir,
            roots=self._roots(),
            examples_dir=self.options.examples_dir,
            code=self.options.code,
            hidden=self.options.hidden,
            sandboxed=self._is_sandboxed(),
        )

    def _runtimes(self) -> dict[str, Path]:
        return find_runtimes(self.data_dir, self.options.runtimes)

    def _is_sandboxed(self) -> bool:
        wanted = self.options.use_sandbox
        return sandbox.works() if wanted is None else wanted

    def _roots(self) -> tuple[Path, ...]:
        examples = self.options.examples_dir
        return (*self.options.roots, examples) if examples else self.options.roots

    def _folder(self, ref: AttemptRef) -> RunFolder:
        return RunFolder(self.data_dir, ref.workload, ref.attempt)

    def _confined(self, python: Path) -> list[str]:
        """What to put before a runtime's interpreter: workloads may have written its packages."""
        if not self._is_sandboxed():
            return []
        shown = plan_builder.readable(self._site(), python)
        return [*sandbox.prefix(self._places(), cwd="/", readable=shown), "--"]

    def _folder_problem(self) -> str:
        try:
            runs = self.data_dir / "runs"
            make_private(self.data_dir)
            if not os.access(runs, os.W_OK | os.X_OK):
                return f"The folder {runs} cannot be written to."
        except OSError as problem:
            return f"The data folder cannot be used: {problem.strerror}."
        return ""


def _answer(act: Callable[[AttemptRef], Result], ref: AttemptRef) -> Result:
    """Outages of this machine are answers, not exceptions."""
    try:
        return act(ref)
    except BadName:
        return Refused("The workload has a name that cannot be a folder.")
    except subprocess.TimeoutExpired:
        return Unknown("The launcher did not answer in time.")
    except files.UnusablePlan as problem:
        return Refused(str(problem))
    except BlockingIOError:
        return Busy(retry_after=5.0, reason="This machine cannot start more processes right now.")
    except OSError as problem:
        return Unknown(f"The data folder could not be written: {problem.strerror or problem}.")
