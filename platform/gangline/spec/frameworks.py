"""The frameworks a workload can use: the roles of each one's gang, and its configurations.

A workload is set up in two halves of its spec, the workers and the rest. Which pods there are is
said here: each role of a gang has one of the halves as its set-up.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from gangline.lib.problems import Problem, Role

WORKERS_AND_MASTER = "workersAndMaster"
WORKERS_ONLY = "workersOnly"
CONFIGURATIONS: Mapping[str, str] = MappingProxyType(
    {WORKERS_AND_MASTER: "Workers & master", WORKERS_ONLY: "Workers only"}
)
_BOTH = (WORKERS_AND_MASTER, WORKERS_ONLY)
MOST_PODS = 9_999
INTERFACE_VARIABLES = (
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "HOROVOD_GLOO_IFACE",
    "DMLC_INTERFACE",
)
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GangRole:
    """One role of a gang. Its pods are called ``<name>-0``, ``<name>-1``, …"""

    name: str
    word: str
    """What the framework's own documentation calls it."""
    half: Role
    """The half of the spec that its pods are set up by."""
    counts: tuple[str, ...] = ()
    """Fields of the workers' half that say how many there are: the first with a value. None: 1."""
    has_gpus: bool = True
    has_rank: bool = True
    launches: bool = False
    """It only starts the ranks, and does not count as one."""
    serves: bool = False
    """It runs for the workers, and is ended when they are done."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Its compute, by path, in place of that of its half: it then has no tools either."""

    @property
    def title(self) -> str:
        return f"{self.name.capitalize()}s" if self.counts else self.name.capitalize()

    def count(self, workers: Mapping[str, Any]) -> int:
        """How many there are by the values of the workers' half; a wrong one counts as none."""
        said = [workers.get(path) for path in self.counts]
        numbers = [one for one in said if isinstance(one, int) and not isinstance(one, bool)]
        return min(max((numbers or [1])[0], 0), MOST_PODS)

    def values(self, half: Mapping[str, Any]) -> Mapping[str, Any]:
        """What it has of the values of its half."""
        if not self.fixed:
            return half
        kept = {path: value for path, value in half.items() if not path.startswith(_REPLACED)}
        return {**kept, **self.fixed}


_REPLACED = ("compute.", "exposedUrls", "ports")
_WORKER = GangRole("worker", "worker", Role.WORKER, ("numWorkers",))


def _leader(word: str, **how: Any) -> GangRole:
    return GangRole("master", word, Role.MASTER, **how)


@dataclass(frozen=True, slots=True)
class Framework:
    """One framework. Its roles come in the order in which they are numbered."""

    name: str
    label: str
    configurations: tuple[str, ...]
    roles: tuple[GangRole, ...]
    runs_script: bool = False
    """It is whatever a person's own script does; only some kinds of cluster run those."""
    without: frozenset[str] = frozenset()
    """Paths of fields that it does not have."""

    def gang(self, configuration: str) -> tuple[GangRole, ...]:
        """The roles that it has in this configuration."""
        alone = configuration == WORKERS_ONLY
        return tuple(role for role in self.roles if not alone or role.half is Role.WORKER)

    def of(self, half: Role | str) -> tuple[GangRole, ...]:
        """The roles that a half sets up."""
        return tuple(role for role in self.roles if role.half == half)

    @property
    def leader(self) -> GangRole:
        """The role that may be set up otherwise than the workers; else the workers themselves."""
        return next((r for r in self.roles if r.half is Role.MASTER and not r.fixed), _WORKER)

    def roles_in_words(self, configuration: str) -> str:
        """``Workers & master``; of a framework with more roles all of them."""
        rest = [role.title.lower() for role in reversed(self.roles) if role.half is Role.MASTER]
        if configuration == WORKERS_ONLY or not rest:
            return CONFIGURATIONS.get(configuration, configuration)
        *first, last = ["Workers", *rest]
        return f"{', '.join(first)} & {last}"

    @property
    def launches(self) -> bool:
        """Whether one role starts the ranks of all others."""
        return any(role.launches for role in self.roles)


_KEY_VALUE_STORE = (
    GangRole(
        "scheduler", "scheduler", Role.MASTER, has_gpus=False, has_rank=False,
        serves=True, fixed={"compute.cpuCoreRequest": 0.1, "compute.cpuMemoryRequest": "256M"},
    ),
    GangRole(
        "server", "server", Role.MASTER, ("numServers", "numWorkers"), has_gpus=False,
        has_rank=False, serves=True,
    ),
    replace(_WORKER, has_rank=False),
)  # fmt: skip
"""Workers push to the servers and pull from them; the scheduler tells all who they are. It gives
the ranks, in whatever order they come."""


_NOT_OF_A_SCRIPT = frozenset(
    {"command", "args", "image", "imagePullPolicy", "imagePullSecrets", "slurm.packReplicas"}
)
FRAMEWORKS: Mapping[str, Framework] = MappingProxyType(
    {
        framework.name: framework
        for framework in (
            Framework("PyTorch", "PyTorch", _BOTH, (_leader("master"), _WORKER)),
            Framework("TF", "TensorFlow", _BOTH, (_leader("chief"), _WORKER)),
            Framework("XGBoost", "XGBoost", (WORKERS_AND_MASTER,), (_leader("master"), _WORKER)),
            Framework(
                "MPI",
                "MPI",
                (WORKERS_AND_MASTER,),
                (_leader("launcher", has_gpus=False, has_rank=False, launches=True), _WORKER),
            ),
            Framework("JAX", "JAX", (WORKERS_ONLY,), (_WORKER,)),
            Framework("MXNet", "MXNet", (WORKERS_AND_MASTER,), _KEY_VALUE_STORE),
            Framework(
                "Script",
                "Own script",
                (WORKERS_ONLY,),
                (replace(_WORKER, has_rank=False),),
                runs_script=True,
                without=_NOT_OF_A_SCRIPT,
            ),
        )
    }
)
PROGRAMS: Mapping[str, Framework] = MappingProxyType(
    {name: one for name, one in FRAMEWORKS.items() if not one.runs_script}
)
"""Those whose processes Gangline starts itself, on every kind of cluster."""
_UNKNOWN = Framework("", "", _BOTH, (_leader("master"), _WORKER))
ROLE_NAMES = tuple(dict.fromkeys(role.name for f in FRAMEWORKS.values() for role in f.roles))
"""Names of the roles of all frameworks."""


def framework_of(name: object) -> Framework:
    """The framework of this name. One that is not known has a master and trains on everything."""
    return FRAMEWORKS.get(name, _UNKNOWN) if isinstance(name, str) else _UNKNOWN


def role_of(framework: object, name: str) -> GangRole:
    """The role of this name of a framework's gang; what is not known there is a worker."""
    return next((role for role in framework_of(framework).roles if role.name == name), _WORKER)


def has_gpus(framework: object, half: Role | str) -> bool:
    """Whether pods that a half sets up get the GPUs they ask for."""
    roles = framework_of(framework).of(half)
    return not roles or any(role.has_gpus for role in roles)


def places(counts: Iterable[tuple[GangRole, int]]) -> Iterator[tuple[str, int, int]]:
    """Role, index and number of every replica of a gang; the number is the rank, if it has one."""
    for role, count, first in numbered(counts):
        yield from ((role.name, index, first + index) for index in range(count))


def numbered(counts: Iterable[tuple[GangRole, int]]) -> Iterator[tuple[GangRole, int, int]]:
    """``counts`` with the number of the first replica of each role: a launcher has none of them."""
    first = 0
    for role, count in counts:
        yield role, count, first
        first += 0 if role.launches else count


def interfaces(name: str) -> dict[str, str]:
    """The variables by which programs choose the network interface that they talk over."""
    return dict.fromkeys(INTERFACE_VARIABLES, name)


def key_value_store(role: str, *, servers: int, workers: int) -> dict[str, str]:
    """What MXNet's processes must know beside the address of the scheduler.

    https://mxnet.apache.org/versions/1.9.1/api/faq/distributed_training
    """
    return {
        "DMLC_ROLE": role,
        "DMLC_NUM_SERVER": str(servers),
        "DMLC_NUM_WORKER": str(workers),
    }


def configuration_problem(framework: object, configuration: object) -> Problem | None:
    """Why the framework cannot run in this configuration (form rule V4)."""
    known = FRAMEWORKS.get(framework) if isinstance(framework, str) else None
    draft = Problem.of(
        Role.WORKLOAD, "configuration", "framework:configuration", value=configuration,
        accepted=" or ".join(known.configurations if known else CONFIGURATIONS),
        label="Configuration",
    )  # fmt: skip
    if not isinstance(configuration, str) or configuration not in CONFIGURATIONS:
        return draft
    if known is None or configuration in known.configurations:
        return None
    if configuration == WORKERS_ONLY:
        return draft.at(
            code="framework:needs_master", framework=known.label, master=known.leader.word
        )
    return draft.at(code="framework:no_master", framework=known.label)
