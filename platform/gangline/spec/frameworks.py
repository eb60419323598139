"""The frameworks a workload can use, and which configurations each of them has."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .problems import Problem, Role

WORKERS_AND_MASTER = "workersAndMaster"
WORKERS_ONLY = "workersOnly"
CONFIGURATIONS: Mapping[str, str] = MappingProxyType(
    {WORKERS_AND_MASTER: "Workers & master", WORKERS_ONLY: "Workers only"}
)
_BOTH = (WORKERS_AND_MASTER, WORKERS_ONLY)


@dataclass(frozen=True, slots=True)
class Framework:
    """One framework. ``master_word`` is what its own documentation calls the master role."""

    name: str
    label: str
    configurations: tuple[str, ...]
    master_word: str
    master_trains: bool
    """False: the master only launches, so it does not count as a rank."""


FRAMEWORKS: Mapping[str, Framework] = MappingProxyType(
    {
        framework.name: framework
        for framework in (
            Framework("PyTorch", "PyTorch", _BOTH, "master", True),
            Framework("TF", "TensorFlow", _BOTH, "chief", True),
            Framework("XGBoost", "XGBoost", (WORKERS_AND_MASTER,), "master", True),
            Framework("MPI", "MPI", (WORKERS_AND_MASTER,), "launcher", False),
            Framework("JAX", "JAX", (WORKERS_ONLY,), "master", True),
        )
    }
)


def has_gpus(framework: str, role: str) -> bool:
    """Whether pods of the role get the GPUs they ask for: a launcher only starts the ranks."""
    known = FRAMEWORKS.get(framework)
    return role != "master" or known is None or known.master_trains


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
            code="framework:needs_master", framework=known.label, master=known.master_word
        )
    return draft.at(code="framework:no_master", framework=known.label)
