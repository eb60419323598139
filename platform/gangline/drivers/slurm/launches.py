"""The words of a chosen launcher, which runs on the first node of a job.

Names in ``$(NAME)`` are of the batch script, see `shell`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gangline.drivers import horovod
from gangline.spec.launcher_commands import GLOO, SRUN, launched

HOSTFILE = "$(GANGLINE_HOSTFILE)"
_RANK = """\
export HOROVOD_RANK=$SLURM_PROCID HOROVOD_SIZE=$SLURM_NTASKS
export HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=1
export HOROVOD_CROSS_RANK=$SLURM_PROCID HOROVOD_CROSS_SIZE=$SLURM_NTASKS
export HOROVOD_HOSTNAME=$SLURMD_NODENAME
exec "$@"
"""
"""Of bash. One rank runs on each node."""


def words(native: Mapping[str, Any], program: Sequence[str]) -> list[str]:
    workers = next(part for part in native["parts"] if part["role"] == "worker")
    ranks = int(workers["pods"])
    step = [
        "srun", "--kill-on-bad-exit=1", "--label", f"--nodes={ranks}", f"--ntasks={ranks}",
        f"--cpus-per-task={int((workers.get('asks') or {}).get('cpus') or 1)}",
    ]  # fmt: skip
    match native["launcher"]:
        case launcher if launcher == SRUN:
            return [*step, "--mpi=pmix", *program]
        case launcher if launcher == GLOO:
            told = horovod.meeting_variables("$(GANGLINE_MEETING)", "$(GANGLINE_PORT)")
            joined = ["env", *(f"{name}={value}" for name, value in told.items())]
            then = [*step, *joined, "bash", "-c", _RANK, "rank", *program]
            return horovod.served(program, ["$(GANGLINE_HOSTS)"], "$(GANGLINE_PORT)", then)
        case launcher:
            over = native.get("interface", "")
            return launched(launcher, program, ranks=ranks, hostfile=HOSTFILE, interface=over)
