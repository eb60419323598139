"""What a Kubernetes cluster asks for, told at the fields of the form before anything is typed."""

from collections.abc import Mapping

from gangline.drivers import classes
from gangline.drivers.base import NO_FACTS
from gangline.drivers.facts import Choice, Facts, FieldNote
from gangline.spec.frameworks import framework_of
from gangline.spec.launcher_commands import GLOO, LAUNCH_EXAMPLE, LAUNCHER_CHOICES, SRUN, runs
from gangline.spec.problems import Role

from . import priorities
from .placement import NODE_TYPE

_COMMAND = "Runs directly, without a shell: no pipes, && or wildcards. Empty: the image’s own."
_SSH_WORKERS = (
    "Workers run an SSH server, through which the launcher starts the ranks. Only a command that "
    "starts sshd itself replaces it."
)
_BY_MPIRUN = (
    "$(NAME) in a value stands for another variable. Ranks on other pods receive those that "
    "mpirun is told to pass on, as in mpirun -x NCCL_DEBUG."
)


_PROGRAM = {
    Role.WORKER: "The program that the launcher starts as the ranks, without a shell.",
    Role.MASTER: "The launcher starts the command of the workers: leave this as it is.",
}
_SECRETS = "The keys of a credential, or of a Secret in the project’s namespace, as files."


def field_notes(
    *,
    framework: str,
    role: Role,
    has_own_master: bool,
    launcher: str = "",
    node_type: str = NODE_TYPE,
    facts: Facts = NO_FACTS,
) -> Mapping[str, FieldNote]:
    """Notes by field path. What a master leaves open follows the workers."""
    launches = framework_of(framework).launches and launcher != GLOO
    runs_here = runs(framework, role, has_own_master=has_own_master, launcher=launcher)
    image = "A container image that the nodes of the cluster can pull."
    if launches:
        image += " It needs an SSH server and Open MPI."
    elif launcher == GLOO:
        image += " It needs Horovod with Gloo."
    notes = {
        "image": FieldNote(help=image, is_required=role is Role.WORKER),
        "command": FieldNote(
            help=_SSH_WORKERS
            if launches and not runs_here and role is Role.WORKER
            else _PROGRAM.get(role, _COMMAND)
            if launcher
            else _COMMAND,
            placeholder=LAUNCH_EXAMPLE if launches and runs_here and not launcher else "",
            is_required=bool(launcher) and runs_here,
        ),
        "launcher": FieldNote(
            choices={
                "": [Choice(name, reason=no_launcher(name, facts)) for name in LAUNCHER_CHOICES]
            }
        ),
        "workingDir": FieldNote(help="Where the command starts. Empty: as the image has it."),
        "nodeType": FieldNote(help=f"Only nodes whose label {node_type} has this value."),
        "priorityClass": FieldNote(choices={"": priorities.choices(facts)}),
        "storage.pvc": classes.note(facts.detail),
        "storage.secretVolume": FieldNote(help=_SECRETS),
    }
    if launches:
        notes["environmentVariables"] = FieldNote(help=_BY_MPIRUN)
    return notes


def no_launcher(launcher: str, facts: Facts) -> str:
    """Why a launcher is not to be had; empty: it is, as far as that is not the image's matter."""
    if launcher == SRUN:
        return "Only Slurm has it."
    if launcher == GLOO:
        sets = next((one for one in facts.frameworks if one.framework == "MXNet"), None)
        if sets is not None and not sets.available:
            return "The cluster has no JobSet, which such ranks run in."
    return ""
