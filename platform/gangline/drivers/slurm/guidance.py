"""What a Slurm cluster asks for, told at the fields of the form before anything is typed."""

from collections.abc import Mapping

from gangline.drivers.base import NO_FACTS
from gangline.drivers.facts import Choice, Facts, FieldNote
from gangline.spec.launching import LAUNCH_EXAMPLE, leading_half
from gangline.spec.problems import Role

from .rendering import launches


def field_notes(
    *, framework: str, role: Role, has_own_master: bool, facts: Facts = NO_FACTS
) -> Mapping[str, FieldNote]:
    """Notes by field path. What a master leaves open follows the workers."""
    launcher = launches(framework)
    features = [Choice(str(name)) for name in facts.detail.get("features") or ()]
    return {
        "command": FieldNote(
            help="A program of the cluster’s nodes, run without a shell: no pipes or wildcards.",
            placeholder=LAUNCH_EXAMPLE if launcher else "",
            is_required=role is leading_half(framework, has_own_master=has_own_master),
        ),
        "workingDir": FieldNote(
            help="A folder of the cluster’s file system. Empty: one of the replica’s own."
        ),
        "nodeType": FieldNote(
            help="A feature of the nodes, as sinfo shows it.", choices={"": features}
        ),
        "compute.cpuCoreRequest": FieldNote(help="Whole cores: a part of one is rounded up."),
    }
