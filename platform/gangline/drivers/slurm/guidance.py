"""What a Slurm cluster asks for, told at the fields of the form before anything is typed."""

from collections.abc import Mapping

from gangline.drivers.base import NO_FACTS
from gangline.drivers.facts import Choice, Facts, FieldNote
from gangline.spec.launching import LAUNCH_EXAMPLE, LAUNCHER_CHOICES, SRUN, leading_half
from gangline.spec.problems import Role

from .rendering import launches


def field_notes(
    *,
    framework: str,
    role: Role,
    has_own_master: bool,
    launcher: str = "",
    facts: Facts = NO_FACTS,
) -> Mapping[str, FieldNote]:
    """Notes by field path. What a master leaves open follows the workers."""
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
        "workingDir": FieldNote(
            help="A folder of the cluster’s file system. Empty: one of the replica’s own."
        ),
        "nodeType": FieldNote(
            help="A feature of the nodes, as sinfo shows it.", choices={"": features}
        ),
        "compute.cpuCoreRequest": FieldNote(help="Whole cores: a part of one is rounded up."),
    }


def no_launcher(launcher: str, facts: Facts) -> str:
    """Why a launcher is not to be had; empty: it is, or nobody knows.

    Those of people's own environments, such as horovodrun, are nowhere on a login node.
    """
    found = facts.detail.get("mpi")
    if launcher == SRUN and found is not None and PMIX not in found:
        return f"srun here has no PMIx, only {', '.join(found) or 'none'}."
    return ""


PMIX = "pmix"
"""What `srun --mpi` calls the way by which ranks of Open MPI learn of each other."""
