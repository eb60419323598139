"""The connection check: a look at one cluster, step by step, each with what to do.

Never raises. What one step finds out the next ones use; after a step without which nothing can be
known, the rest is skipped.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gangline.drivers.checks import REACHABILITY, State, Step, Tell, tell_nobody
from gangline.drivers.facts import Capacity, Facts, FrameworkOffer, Health, NodeFact
from gangline.lib.sizes import bytes_in_words
from gangline.spec.frameworks import FRAMEWORKS

from . import looks
from .commands import Answer, LoginRefused, NoAnswer, Programs
from .rendering import PARTITION

COMMANDS, CONTROLLER, FOLDER = "Commands", "Controller", "Folder for runs"
PARTITIONS, ACCOUNTING = "Partitions", "Accounting"
NAMES = (REACHABILITY, COMMANDS, CONTROLLER, FOLDER, PARTITIONS, ACCOUNTING)
REQUIRED = frozenset({REACHABILITY, COMMANDS, CONTROLLER, FOLDER})
NEEDED = ("sbatch", "squeue", "scontrol", "scancel", "sinfo", "srun", "bash", "base64", "stat")
LET_IN = "To let Gangline in, add this line to ~/.ssh/authorized_keys of the account there:"
NODES = "%N|%R|%T|%c|%m|%G|%f"
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


def probe(programs: Programs, base: str, tell: Tell = tell_nobody, *, public: str = "") -> Health:
    """Look at everything; ``tell`` is called with each step as soon as it is known.

    ``public``: the line that lets Gangline in, where a login node does not.
    """
    check = _Check(programs, base, tell)
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

    def __init__(self, programs: Programs, base: str, tell: Tell) -> None:
        self.programs, self.base, self._tell = programs, base, tell
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
            self.fail(REACHABILITY, f"The login node runs no programs: {answer.words}.")
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
            self.fail(CONTROLLER, f"Slurm does not answer: {answer.words[:300]}.")
            raise _Stop
        config = _pairs(answer.out)
        self.version = config.get("SLURM_VERSION", "")
        self.detail["name"] = config.get("ClusterName", "")
        self.detail["mpi"] = self._mpi()
        self.detail["accounting"] = config.get("AccountingStorageType", "")
        self.tell(State.OK, f"Slurm {self.version}, cluster {self.detail['name'] or 'unnamed'}.")

    def _mpi(self) -> list[str] | None:
        """What srun tells the ranks of MPI by, a name on each line; None: it does not say."""
        answer = self._run(CONTROLLER, "srun --mpi=list 2>&1")
        lines = [line.removeprefix("srun:").strip() for line in answer.out.splitlines()]
        return None if answer.code else [line for line in lines if line and " " not in line]

    def _folder(self) -> None:
        place = looks.folder(self.base, ".")
        program = (
            f"mkdir -p {place} && cd {place} && : > .check && rm -f .check && pwd -P"
            " && df -Pk . | tail -n 1"
        )
        answer = self._run(FOLDER, program)
        if answer.code:
            says = f"It cannot be written to: {answer.words[:300]}."
            self.fail(FOLDER, says, "Choose a folder that login and compute nodes share.")
            raise _Stop
        path, _, disk = answer.out.strip().partition("\n")
        words = disk.split()
        free = int(words[3]) * 1024 if len(words) > 3 and words[3].isdigit() else 0
        self.detail["folder"] = path
        says = f"{path}, {bytes_in_words(free)} free. Compute nodes must see it at the same path."
        self.tell(State.OK, says)

    def _partitions(self) -> None:
        answer = self._run(PARTITIONS, f"sinfo -h -N -o '{NODES}' && echo && sinfo -h -o '%R|%P'")
        if answer.code:
            self.fail(PARTITIONS, f"sinfo says: {answer.words[:300]}.")
            return
        rows, _, kinds = answer.out.partition("\n\n")
        nodes = read_nodes(rows.splitlines())
        self.nodes = [fact(name, node, nodes) for name, node in sorted(nodes.items())]
        usable = [node for node in nodes.values() if _status(node.state) == "Ready"]
        names = sorted({p for node in nodes.values() for p in node.partitions})
        default = next((k.partition("|")[0] for k in kinds.split() if k.endswith("*")), "")
        gpus = sum(node.gpus for node in usable)
        self.detail |= {
            "partitions": names,
            "defaultPartition": default,
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
                State.WARNING, f"None of {len(nodes)} nodes takes jobs.", "sinfo -R says why."
            )
            return
        listed = ", ".join(f"{p} (default)" if p == default else p for p in names)
        self.tell(
            State.OK,
            f"{listed}. {len(usable)} of {len(nodes)} nodes take jobs, with {gpus} GPUs.",
        )

    def _accounting(self) -> None:
        self.step = ACCOUNTING
        if "none" in str(self.detail["accounting"]) or not self.detail["accounting"]:
            says = "There is none: how a job ended is known from its own records alone."
            self.tell(State.WARNING, says)
            return
        program = 'sacctmgr -n -P show assoc user="$(id -un)" format=account,partition,qos'
        answer = self._run(ACCOUNTING, program)
        if answer.code:
            self.fail(ACCOUNTING, f"sacctmgr says: {answer.words[:300]}.")
            return
        rows = [line.split("|") for line in answer.out.splitlines() if line.count("|") == 2]
        self.detail["accounts"] = sorted({row[0] for row in rows if row[0]})
        self.detail["qos"] = sorted({q for row in rows for q in row[2].split(",") if q})
        if not self.detail["accounts"]:
            self.tell(State.WARNING, "The account that submits has no association.")
            return
        self.tell(State.OK, f"Accounts: {', '.join(self.detail['accounts'])}.")

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
