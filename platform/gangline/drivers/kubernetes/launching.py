"""What an MPI launcher waits for before its one try: that every worker can be reached.

The operator has a policy for that, but makes the launcher of a suspended job before the first
worker. A container that runs first waits instead, in the launcher's own image and with the SSH
client that mpirun uses, so that the image's ports and names hold.
https://github.com/kubeflow/mpi-operator/blob/v0.8.0/pkg/controller/mpi_job_controller.go
"""

import copy
from collections.abc import Mapping
from typing import Any

NAME = "wait-for-workers"
_COPIED = ("image", "imagePullPolicy", "resources")
_UNREACHABLE = ("resolve", "refused", "timed out", "No route", "unreachable")
"""Words of the client where nobody answers; that it is not let in does not matter here."""
SCRIPT = f"""\
worker=0
while [ "$worker" -lt "$2" ]; do
  said=$(ssh -n -o BatchMode=yes -o ConnectTimeout=5 -o StrictHostKeyChecking=no \\
    -o UserKnownHostsFile=/dev/null "$1-worker-$worker.$1" true 2>&1)
  case $said in
    {"|".join(f'*"{words}"*' for words in _UNREACHABLE)}) sleep 1 ;;
    *) worker=$((worker + 1)) ;;
  esac
done
"""
"""Arguments: the workload and its number of workers. An image without ``ssh`` does not wait."""


def waits_for_workers(
    container: Mapping[str, Any], workload: str, num_workers: int
) -> dict[str, Any]:
    """The container that runs before a launcher's own ``container``."""
    copied = {key: copy.deepcopy(container[key]) for key in _COPIED if key in container}
    command = ["sh", "-c", SCRIPT, NAME, workload, str(num_workers)]
    return {"name": NAME, **copied, "command": command}
