"""What the pods of a workload run that has a launcher chosen."""

from gangline.drivers import horovod
from gangline.drivers.base import Submission
from gangline.spec.frameworks import GangRole
from gangline.spec.launcher_commands import launched
from gangline.spec.types import split_command

from .kinds import JobKind

HOSTFILE = "/etc/mpi/hostfile"
"""Where mpi-operator puts the workers with their slots."""


def words(submission: Submission, kind: JobKind, role: GangRole) -> list[str]:
    """The program is the command of the workers."""
    worker = submission.worker
    program = [*split_command(worker.command or ""), *split_command(worker.args or "")]
    if kind.launcher and role.launches:
        hosts = [f"{host(submission, kind, str(i))}:1" for i in range(submission.num_workers)]
        return horovod.served(program, hosts, str(kind.port))
    if kind.launcher:
        return horovod.joined(program, meeting(submission, kind), str(kind.port))
    ranks = submission.num_workers * (worker.slots_per_worker or 1)
    return launched(
        worker.launcher or "",
        program,
        ranks=ranks,
        hostfile=HOSTFILE,
        interface=worker.network_interface or "",
    )


def host(submission: Submission, kind: JobKind, index: str) -> str:
    """The name of a worker's host, as JobSet gives it."""
    return f"{submission.name}-{kind.roles['worker']}-0-{index}"


def meeting(submission: Submission, kind: JobKind) -> str:
    """Where the launcher is found."""
    return f"{submission.name}-{kind.roles['master']}-0-0.{submission.name}"
