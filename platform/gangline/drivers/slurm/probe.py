"""The connection check: a look at one cluster, step by step, each with what to do.

Never raises. What one step finds out the next ones use; after a step without which nothing can be
known, the rest is skipped.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gangline.drivers.checks import REACHABILITY, State, Step, Tell, tell_nobody
from gangline.drivers.facts import Capacity, Facts, FrameworkOffer, Health, NodeFact
from gangline.lib.sizes import bytes_in_words
from gangline.spec import lengths
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.slurm import module_problem

from . import containers, looks, surroundings
from .commands import Answer, LoginRefused, NoAnswer, Programs
from .rendering import PARTITION

COMMANDS, CONTROLLER, FOLDER = "Commands", "Controller", "Folder for runs"
SHARED, PARTITIONS, ACCOUNTING = "Shared file system", "Partitions", "Accounting"
MODULES, CONTAINERS, PROGRAMS, LIBRARIES = "Modules", "Containers", "Programs", "Frameworks"
NAMES = (
    REACHABILITY, COMMANDS, CONTROLLER, FOLDER, SHARED, PARTITIONS, ACCOUNTING, MODULES, CONTAINERS,
    PROGRAMS, LIBRARIES,
)  # fmt: skip
REQUIRED = frozenset({REACHABILITY, COMMANDS, CONTROLLER, FOLDER})
NEEDED = ("sbatch", "squeue", "scontrol", "scancel", "sinfo", "srun", "bash", "base64", "stat")
LET_IN = "To give Gangline access, add this line to ~/.ssh/authorized_keys of the account:"
ASSOCIATION = "account,partition,qos,grptres,maxjobs"
NODES = "%N|%R|%T|%c|%m|%G|%f"
MOST_MODULES = 500
AVAILABLE = "timeout 15 bash -lc 'command -v module > /dev/null && module -t avail 2>&1'"
_RESERVATION = re.compile(r"^ReservationName=(\S+)", re.MULTILINE)
_GPUS = re.compile(r"(?:^|,)gpu(?::([^:,()]+))??:(\d+)")
_READY = frozenset({"idle", "mixed", "allocated", "completing", "planned"})
_CORDONED = frozenset({"drained", "draining", "maint", "reserved", "inval"})
_MARKS = "*~#%$@+^-!"
"""Behind a state: what else is going on with the node."""


@dataclass(slots=True)
class _Node:
    """What `sinfo` says of one node, in all of its partitions."""

    state: str
    cpus: int
    memory: int
    gpus: int
    gpu_type: str
    features: tuple[str, ...]
    partitions: list[str] = field(default_factory=list)


class _Stop(Exception):
    """The check ends here; the step that says why was told."""


def probe(
    programs: Programs,
    base: str,
    tell: Tell = tell_nobody,
    *,
    public: str = "",
    modules: Sequence[str] = (),
) -> Health:
    """Look at everything; ``tell`` is called with each step as soon as it is known.

    ``public``: the line that lets Gangline in, where a login node does not. ``modules``: those that
    every job loads.
    """
    check = _Check(programs, base, tell, modules)
    try:
        check.all()
    except _Stop:
        pass
    except NoAnswer as why:
        check.is_login_refused = isinstance(why, LoginRefused)
        if check.is_login_refused and public:
            check.fail(check.step, str(why), LET_IN, public)
        else:
            check.fail(check.step, str(why))
    return check.health()


class _Check:
    """One check on its way."""

    def __init__(self, programs: Programs, base: str, tell: Tell, modules: Sequence[str]) -> None:
        self.programs, self.base, self._tell, self.modules = programs, base, tell, modules
        self.step = REACHABILITY
        self.failure = ""
        self.version = ""
        self.detail: dict[str, Any] = {}
        self.nodes: list[NodeFact] | None = None
        self.is_login_refused = False

    def all(self) -> None:
        self._reach()
        self._commands()
        self._controller()
        self._folder()
        self._partitions()
        self._accounting()
        self._modules()
        self._containers()
        self._surroundings()

    def health(self) -> Health:
        if self.failure:
            return Health(False, self.failure, is_login_refused=self.is_login_refused)
        offers = tuple(FrameworkOffer(name, available=True) for name in FRAMEWORKS)
        facts = Facts(f"Slurm {self.version}", offers, (), self.detail)
        return Health(True, "", facts, self._capacity(), self.nodes, are_rights_known=True)

    def tell(self, state: State, sentence: str, fix: str = "", copy: str = "") -> None:
        self._tell(Step(self.step, state, sentence, fix, copy))

    def fail(self, step: str, sentence: str, fix: str = "", copy: str = "") -> None:
        self.step = step
        self.tell(State.FAILED, sentence, fix, copy)
        if step in REQUIRED:
            self.failure = sentence

    def _run(self, step: str, program: str) -> Answer:
        self.step = step
        return self.programs.run(program)

    def _reach(self) -> None:
        answer = self._run(REACHABILITY, 'echo "$(id -un)@$(uname -n)"')
        if answer.code or "@" not in answer.out:
            self.fail(REACHABILITY, f"The login node does not run programs: {answer.words}.")
            raise _Stop
        self.detail["login"] = answer.out.strip()[:100]
        self.tell(State.OK, f"Programs run as {self.detail['login']}.")

    def _commands(self) -> None:
        program = f"for p in {' '.join(NEEDED)}; do command -v $p > /dev/null || echo $p; done"
        missing = self._run(COMMANDS, program).out.split()
        if missing:
            says = f"Not found: {', '.join(missing)}."
            fix = "Name the folder of Slurm’s programs in the settings of the cluster."
            self.fail(COMMANDS, says, fix)
            raise _Stop
        self.tell(State.OK, "Slurm’s programs are there.")

    def _controller(self) -> None:
        answer = self._run(CONTROLLER, "scontrol show config && squeue -h --me -o %i > /dev/null")
        if answer.code:
            said = answer.words[:300]
            fix = surroundings.controller_fix(said)
            self.fail(CONTROLLER, f"Slurm does not answer: {said}.", fix)
            raise _Stop
        config = _pairs(answer.out)
        self.version = config.get("SLURM_VERSION", "")
        self.detail["name"] = config.get("ClusterName", "")
        self.detail["mpi"] = self._mpi()
        self.detail["accounting"] = config.get("AccountingStorageType", "")
        by = config.get("AuthType", "").removeprefix("auth/") or "nothing"
        name = self.detail["name"] or "unnamed"
        self.tell(State.OK, f"Slurm {self.version}, cluster {name}, signed in by {by}.")

    def _mpi(self) -> list[str] | None:
        """What srun tells the ranks of MPI by, a name on each line; None: it does not say."""
        answer = self._run(CONTROLLER, "srun --mpi=list 2>&1")
        lines = [line.removeprefix("srun:").strip() for line in answer.out.splitlines()]
        return None if answer.code else [line for line in lines if line and " " not in line]

    def _folder(self) -> None:
        place = looks.folder(self.base, ".")
        program = (
            f"mkdir -p {place} && cd {place} && head -c 8192 /dev/zero > .check"
            " && rm -f .check && pwd -P && df -PTk . | tail -n 1 || { rm -f .check; exit 1; }"
        )
        answer = self._run(FOLDER, program)
        if answer.code:
            says = f"It cannot be written to: {answer.words[:300]}."
            self.fail(FOLDER, says, "Choose a folder that login and compute nodes share.")
            raise _Stop
        path, _, disk = answer.out.strip().partition("\n")
        words = disk.split()
        self.detail["folder"] = path
        self.tell(State.OK, f"{path} can be written to.")
        self.step = SHARED
        kind = words[1] if len(words) > 4 else ""
        free = bytes_in_words(int(words[4]) * 1024) if len(words) > 4 else "unknown"
        self.tell(*surroundings.file_system(kind, free))

    def _partitions(self) -> None:
        program = (
            f"sinfo -h -N -o '{NODES}' && echo && sinfo -h -o '%R|%P|%l|%s'"
            " && echo && scontrol -o show reservation"
        )
        answer = self._run(PARTITIONS, program)
        if answer.code:
            self.fail(PARTITIONS, f"sinfo reported: {answer.words[:300]}.")
            return
        rows, kinds, reserved = f"{answer.out}\n\n\n\n".split("\n\n", 2)
        nodes = read_nodes(rows.splitlines())
        self.nodes = [fact(name, node, nodes) for name, node in sorted(nodes.items())]
        usable = [node for node in nodes.values() if _status(node.state) == "Ready"]
        names = sorted({p for node in nodes.values() for p in node.partitions})
        kept = read_partitions(kinds.splitlines())
        default = next((name for name, one in kept.items() if one["isDefault"]), "")
        gpus = sum(node.gpus for node in usable)
        self.detail |= {
            "partitions": names,
            "defaultPartition": default,
            "limits": {name: {k: one[k] for k in ("time", "nodes")} for name, one in kept.items()},
            "reservations": _RESERVATION.findall(reserved),
            "features": sorted({f for node in nodes.values() for f in node.features}),
            "nodes": len(nodes),
            "gpuTypes": sorted({n.gpu_type for n in nodes.values() if n.gpu_type}),
            "largest": {
                "cpus": max((n.cpus for n in nodes.values()), default=0),
                "memory": max((n.memory for n in nodes.values()), default=0),
                "gpus": max((n.gpus for n in nodes.values()), default=0),
            },
        }
        if not usable:
            self.tell(
                State.WARNING,
                f"None of {len(nodes)} nodes accepts jobs.",
                "Run sinfo -R to see why.",
            )
            return
        listed = ", ".join(f"{p} (default)" if p == default else p for p in names)
        kinds = self.detail["gpuTypes"]
        types = f" ({', '.join(kinds)})" if kinds else ""
        self.tell(
            State.OK,
            f"{listed}. {len(usable)} of {len(nodes)} nodes accept jobs, with {gpus} GPUs{types}."
            f"{_limits(kept)}",
        )

    def _accounting(self) -> None:
        self.step = ACCOUNTING
        if "none" in str(self.detail["accounting"]) or not self.detail["accounting"]:
            says = "None: how a job ended is known only from its own records."
            fix = "With slurmdbd it is known even if a run folder is lost."
            self.tell(State.WARNING, says, fix)
            return
        program = f'sacctmgr -n -P show assoc user="$(id -un)" format={ASSOCIATION}'
        answer = self._run(ACCOUNTING, program)
        if answer.code:
            fix = "Run sacctmgr ping to see whether slurmdbd is up; jobs are followed without it."
            self.fail(ACCOUNTING, f"sacctmgr reported: {answer.words[:300]}.", fix)
            return
        rows = [line.split("|") for line in answer.out.splitlines() if line.count("|") == 4]
        self.detail["accounts"] = sorted({row[0] for row in rows if row[0]})
        self.detail["qos"] = sorted({q for row in rows for q in row[2].split(",") if q})
        if not self.detail["accounts"]:
            fix = "An administrator of the cluster adds it: sacctmgr add user NAME account=ACCOUNT."
            self.tell(State.WARNING, "The account that submits has no association.", fix)
            return
        says = f"Accounts: {', '.join(self.detail['accounts'])}."
        if self.detail["qos"]:
            says += f" Quality of service: {', '.join(self.detail['qos'])}."
        held = [f"{row[0]} {row[3]}".strip() for row in rows if row[3]]
        held += [f"{row[0]} {row[4]} jobs at a time" for row in rows if row[4]]
        if held:
            says += f" Limits: {', '.join(dict.fromkeys(held))}."
        self.tell(State.OK, says)

    def _modules(self) -> None:
        """What `module load` takes on the login node; few sites have others on the nodes."""
        answer = self._run(MODULES, AVAILABLE)
        names = (line.strip().removesuffix("(default)") for line in answer.out.splitlines())
        found = sorted({n for n in names if not n.endswith((":", "/")) and not module_problem(n)})
        self.detail["modules"] = found[:MOST_MODULES]
        says = f"{len(found)} modules." if found else "No modules are available."
        self.tell(State.OK if found else State.SKIPPED, says)

    def _containers(self) -> None:
        answer = self._run(CONTAINERS, surroundings.loaded(self.modules, containers.FIND))
        self.detail["containers"] = answer.out.strip()
        self.tell(*surroundings.container(self.detail["containers"]))

    def _surroundings(self) -> None:
        answer = self._run(PROGRAMS, surroundings.loaded(self.modules, surroundings.LOOK))
        lines = [line.split() for line in answer.out.splitlines()]
        programs = [words[1] for words in lines if words[:1] == ["program"]]
        self.detail["programs"] = programs
        self.tell(State.OK, f"{', '.join(programs) or 'None'} beside Slurm’s.")
        self.step = LIBRARIES
        libraries = next((words[1:] for words in lines if words[:1] == ["libraries"]), [])
        mpi = next((" ".join(words[1:]) for words in lines if words[:1] == ["mpi"]), "")
        self.detail["libraries"] = libraries
        self.tell(*surroundings.frameworks(libraries, programs, mpi))

    def _capacity(self) -> Capacity | None:
        if self.nodes is None:
            return None
        usable = [node for node in self.nodes if node.status == "Ready"]
        return Capacity(
            admission="theirs",
            cpus=sum(node.cpu for node in usable),
            memory=sum(node.memory for node in usable),
            gpu_count=sum(node.gpus for node in usable),
        )


def _limits(partitions: Mapping[str, Mapping[str, Any]]) -> str:
    """How long jobs of each partition may run, where that is limited."""
    held = [
        f"{name} {lengths.in_words(one['time'])}" for name, one in partitions.items() if one["time"]
    ]
    return f" Longest: {', '.join(held)}." if held else ""


def read_nodes(rows: Iterable[str]) -> dict[str, _Node]:
    """The nodes of `sinfo -N`, which lists each once for every partition."""
    found: dict[str, _Node] = {}
    for row in rows:
        parts = row.split("|")
        if len(parts) != 7:
            continue
        name, partition, state, cpus, memory, gres, features = parts
        node = found.get(name)
        if node is None:
            gpus = [(kind or "", int(count)) for kind, count in _GPUS.findall(gres)]
            node = found[name] = _Node(
                state=state.rstrip(_MARKS).lower(),
                cpus=_number(cpus),
                memory=_number(memory) * 2**20,
                gpus=sum(count for _, count in gpus),
                gpu_type=next((kind for kind, _ in gpus if kind), ""),
                features=tuple(f for f in features.split(",") if f and f != "(null)"),
            )
        node.partitions.append(partition)
    return found


def read_partitions(rows: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Time limit in seconds and most nodes of a job by partition; None: unlimited."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        name, marked, limit, sizes = (*row.split("|"), "", "", "")[:4]
        most = sizes.rpartition("-")[2]
        found[name] = {
            "isDefault": marked.endswith("*"),
            "time": lengths.seconds(limit),
            "nodes": int(most) if most.isdigit() else None,
        }
    return found


def fact(name: str, node: _Node, nodes: Mapping[str, _Node]) -> NodeFact:
    """A node as the page of nodes has it. Of its partitions the smallest is its pool."""
    smallest = min(node.partitions, key=lambda p: (_size(p, nodes.values()), p))
    labels = {PARTITION: smallest}
    labels |= {f"{PARTITION}/{one}": "true" for one in node.partitions}
    labels |= {f"feature/{one}": "true" for one in node.features}
    return NodeFact(
        name=name,
        status=_status(node.state),
        labels=labels,
        cpu=float(node.cpus),
        memory=node.memory,
        gpus=node.gpus,
        gpu_type=node.gpu_type,
    )


def _size(partition: str, nodes: Iterable[_Node]) -> int:
    return sum(partition in node.partitions for node in nodes)


def _status(state: str) -> str:
    if state in _READY:
        return "Ready"
    if state in _CORDONED:
        return "Cordoned"
    return "Unknown" if state == "unknown" else "NotReady"


def _pairs(text: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        name, is_pair, value = line.partition("=")
        if is_pair:
            found[name.strip()] = value.strip()
    return found


def _number(text: str) -> int:
    digits = text.rstrip("+")
    return int(digits) if digits.isdigit() else 0
