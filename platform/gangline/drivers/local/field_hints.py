"""What this machine asks for, told at the fields of the form before anything is typed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gangline.drivers.facts import Choice, Facts, FieldNote, Fit
from gangline.spec.frameworks import framework_of
from gangline.spec.launcher_commands import LAUNCH_EXAMPLE, LAUNCHER_CHOICES, leading_half
from gangline.spec.placement import PRIORITIES
from gangline.spec.problems import Role
from gangline.spec.storage_classes import CLASS, PARAMETERS, SIZE, VOLUME_MODE
from gangline.spec.words import one_of

from .runtimes import no_launcher
from .sandbox import PRIVATE

_TOOLS = (
    "Programs of the workload that people open in a browser. The command starts them on 127.0.0.1"
    " and the port that Gangline gives, such as $(GANGLINE_TOOL_PORT_TENSORBOARD) for tensorboard."
    " Anyone with a login on this machine can reach that port regardless of the list."
)
FOLDER = Fit(
    closed=frozenset({CLASS, VOLUME_MODE, PARAMETERS}),
    hints={SIZE: "Volumes of this machine are folders: their size is not limited."},
)
"""A volume, as far as this machine has what there is to say of one."""
OWN_TMP = f"{PRIVATE} is each replica’s own and begins empty."


def field_notes(
    *,
    framework: str,
    role: Role,
    has_own_master: bool,
    launcher: str,
    facts: Facts,
    roots: Sequence[Path],
    sandboxed: bool,
) -> Mapping[str, FieldNote]:
    """Notes by field path. A master is asked for little: what it leaves open follows the workers.

    ``roots`` are the folders below which a working directory may lie.
    """
    where = [f"Where the command starts: {folders(roots)}."] if roots else []
    start = " ".join(
        [*where, "Empty: the replica’s run folder.", *([OWN_TMP] if sandboxed else [])]
    )
    return {
        "image": FieldNote(
            help="A runtime of this machine; the cluster’s page says how to add one.",
            is_required=role is Role.WORKER,
        ),
        "command": FieldNote(
            placeholder=LAUNCH_EXAMPLE if framework_of(framework).launches and not launcher else "",
            is_required=role
            is leading_half(framework, has_own_master=has_own_master, launcher=launcher),
        ),
        "launcher": FieldNote(
            choices={
                "": [
                    Choice(name, reason=no_launcher(name, facts.runtimes) if facts.version else "")
                    for name in LAUNCHER_CHOICES
                ]
            }
        ),
        "exposedUrls": FieldNote(help=_TOOLS),
        "priorityClass": FieldNote(
            help="Workloads of a higher class start first.",
            choices={"": [Choice(name) for name in PRIORITIES]},
        ),
        "storage.pvc": FieldNote(by=CLASS, fits={"": FOLDER}, unless="existingPvc"),
        "workingDir": FieldNote(help=start, placeholder=str(roots[0]) if roots else ""),
    }


def folders(roots: Sequence[Path]) -> str:
    """``roots`` as the end of "must be …"."""
    return f"a folder in {one_of(map(str, roots))}" if roots else "no folder but the run folder"
