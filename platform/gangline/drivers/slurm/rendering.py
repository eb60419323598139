"""From a submission to the form that is frozen with an attempt. JSON data only, no side effect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangline.drivers.base import Part, Submission
from gangline.drivers.launcher_parent import led
from gangline.drivers.mapping import apply, late_variables
from gangline.spec import batch
from gangline.spec.frameworks import framework_of, places, role_of
from gangline.spec.problems import Role

from . import mapping

FORM = "gangline.dev/slurm/v1"
PARTITION = "partition"
"""Key of the node pools of such a cluster: the value is the name of a partition."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What an administrator says for every job of a cluster; empty: nothing."""

    account: str = ""
    qos: str = ""
    reservation: str = ""
    time: str = ""
    modules: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, str]:
        """Those of sbatch."""
        named = {
            "account": self.account,
            "qos": self.qos,
            "reservation": self.reservation,
            "time": self.time,
        }
        return {name: value for name, value in named.items() if value}


NO_DEFAULTS = Defaults()


def render(submission: Submission, defaults: Defaults = NO_DEFAULTS) -> dict[str, Any]:
    """The parts stand in the order in which replicas are numbered."""
    made: dict[str, Any] = {
        "form": FORM,
        "framework": submission.framework,
        "configuration": submission.configuration,
        "identifiers": dict(submission.identifiers),
        "options": defaults.options,
        "modules": list(defaults.modules),
        "parts": _parts(submission),
    }
    if framework_of(submission.framework).runs_script:
        job = submission.worker.slurm
        fills = {one.name: one.value or "" for one in job.values or ()}
        made["script"] = batch.filled(job.script or "", fills)
    return apply(mapping.GANG, submission.worker, made)


def _parts(submission: Submission) -> list[dict[str, Any]]:
    made = [(part.role, _part(submission, part)) for part in submission.parts]
    if not submission.worker.launcher:
        return [part for _, part in made]
    workers = next(part for role, part in made if role.half is Role.WORKER)
    return [led(part, workers) if role.launches else part for role, part in made]


def launches(framework: str) -> bool:
    """One role runs once, on the first node, and starts the ranks itself."""
    return framework_of(framework).launches


def _part(submission: Submission, part: Part) -> dict[str, Any]:
    made = apply(mapping.ROLE, part.spec, {"role": part.role.name, "pods": part.pods})
    asks = made.setdefault("asks", {})
    if not part.role.has_gpus:
        asks.pop("gpus", None)
    if tasks := submission.worker.slurm.tasks_per_node:
        asks["tasks"] = tasks
    if asks.get("gpus") and (kind := submission.worker.slurm.gpu_type):
        asks["gpuType"] = kind
    if submission.worker.slurm.pack_replicas:
        asks["shares"] = True
    if names := asks.pop("partitions", None):
        known = submission.node_pools
        asks["partitions"] = [known[name][1] for name in names if known.get(name, ("", ""))[1]]
    if late := late_variables(part.spec.environment_variables):
        made["late"] = late
    return made


def components(native: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Tasks and what each of them asks for, in the order of the ranks.

    Neighbours that ask for the same are one component: only different ones need a heterogeneous
    job, for which Slurm searches less often. A launcher shares the first node.
    """
    found: list[tuple[int, Mapping[str, Any]]] = []
    for part in started(native):
        pods, asks = int(part["pods"]), dict(part.get("asks") or {})
        if part.get("image"):
            # Slurm starts the containers of pyxis, those of one role in one component.
            asks["containerOf"] = part["role"]
        if found and found[-1][1] == asks:
            found[-1] = (found[-1][0] + pods, asks)
        else:
            found.append((pods, asks))
    return found


def started(native: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts that have nodes of their own: a launcher is on the first of theirs."""
    parts: list[Mapping[str, Any]] = list(native["parts"])
    return [part for part in parts if not _is_launcher(native, part)] or parts


def running(native: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts whose command is run; the ranks of a launcher are its own children."""
    parts: list[Mapping[str, Any]] = list(native["parts"])
    return [part for part in parts if _is_launcher(native, part)] or parts


def launcher(native: Mapping[str, Any]) -> str:
    """Name of the role that starts the ranks; empty where Slurm does.

    Of a person's own script it is the first worker: the others are its steps' business.
    """
    if "script" in native:
        return str(native["parts"][0]["role"])
    return next((p["role"] for p in native["parts"] if _is_launcher(native, p)), "")


def replicas(native: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Role, index and number of each."""
    framework = native["framework"]
    return places((role_of(framework, p["role"]), int(p["pods"])) for p in native["parts"])


def _is_launcher(native: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    return role_of(native["framework"], part["role"]).launches
