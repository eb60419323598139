"""What a Slurm cluster asks for, told at the fields of the form before anything is typed."""

from collections.abc import Mapping

from gangline.drivers.base import NO_FACTS
from gangline.drivers.facts import Choice, Facts, FieldNote
from gangline.spec import lengths
from gangline.spec.frameworks import framework_of
from gangline.spec.launcher_commands import LAUNCH_EXAMPLE, LAUNCHER_CHOICES, SRUN, leading_half
from gangline.spec.problems import Role

from .rendering import NO_DEFAULTS, Defaults, launches

PMIX = "pmix"
"""What `srun --mpi` calls the way by which ranks of Open MPI learn of each other."""


def field_notes(
    *,
    framework: str,
    role: Role,
    has_own_master: bool,
    launcher: str = "",
    facts: Facts = NO_FACTS,
    defaults: Defaults = NO_DEFAULTS,
) -> Mapping[str, FieldNote]:
    """Notes by field path. What a master leaves open follows the workers."""
    is_script = framework_of(framework).runs_script
    features = [Choice(str(name)) for name in facts.detail.get("features") or ()]
    return {
        "command": FieldNote(
            help="A program of the cluster’s nodes, run without a shell: no pipes or wildcards.",
            placeholder=LAUNCH_EXAMPLE if launches(framework) and not launcher else "",
            is_required=role
            is leading_half(framework, has_own_master=has_own_master, launcher=launcher),
        ),
        "launcher": FieldNote(
            choices={
                "": [Choice(name, reason=no_launcher(name, facts)) for name in LAUNCHER_CHOICES]
            }
        ),
        "slurm.script": FieldNote(is_required=is_script),
        "workingDir": FieldNote(
            help="A folder of the cluster’s file system. Empty: one of the replica’s own."
        ),
        "nodeType": FieldNote(
            help="A feature of the nodes, as sinfo shows it.", choices={"": features}
        ),
        "compute.cpuCoreRequest": FieldNote(help="Whole cores: a part of one is rounded up."),
        **_of_the_job(facts, defaults),
    }


def no_launcher(launcher: str, facts: Facts) -> str:
    """Why a launcher is not to be had; empty: it is, or nobody knows.

    Those of people's own environments, such as horovodrun, are nowhere on a login node.
    """
    found = facts.detail.get("mpi")
    if launcher == SRUN and found is not None and PMIX not in found:
        return f"srun here has no PMIx, only {', '.join(found) or 'none'}."
    return ""


def _of_the_job(facts: Facts, defaults: Defaults) -> dict[str, FieldNote]:
    """What the check found to choose from, and what the cluster has where nothing is chosen."""
    found = {
        "slurm.account": ("accounts", defaults.account),
        "slurm.qos": ("qos", defaults.qos),
        "slurm.reservation": ("reservations", defaults.reservation),
        "slurm.gpuType": ("gpuTypes", ""),
    }
    notes = {}
    for path, (name, standing) in found.items():
        values = [str(value) for value in facts.detail.get(name) or ()]
        if standing:
            values = list(dict.fromkeys((standing, *values)))
        empty = f"As the cluster has it: {standing}" if standing else ""
        choices = [Choice("", empty)] if empty and values else []
        notes[path] = FieldNote(
            placeholder=standing, choices={"": [*choices, *map(Choice, values)]} if values else {}
        )
    modules = [Choice(str(name)) for name in facts.detail.get("modules") or ()]
    loaded = ", ".join(defaults.modules)
    notes["slurm.modules"] = FieldNote(
        help=f"Loaded in this order, before the command. Empty: {loaded}." if loaded else "",
        choices={"name": modules} if modules else {},
    )
    notes["slurm.timeLimit"] = FieldNote(help=_limits(facts, defaults))
    return notes


def _limits(facts: Facts, defaults: Defaults) -> str:
    """What each partition allows; empty where none is known to limit the time."""
    known = facts.detail.get("limits") or {}
    said = [
        f"{name} {lengths.in_words(one['time'])}" for name, one in known.items() if one.get("time")
    ]
    if not said and not defaults.time:
        return ""
    standing = defaults.time or "as the partition has it"
    most = f" At most: {', '.join(said)}." if said else ""
    return f"Slurm ends the job after this time.{most} Empty: {standing}."
