"""Logs of simulated pods: files that the simulated kubelet serves.

In the form of https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
and told of by https://kwok.sigs.k8s.io/docs/user/kwok-configuration-for-logs/
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gangline.drivers.kubernetes import resources
from gangline.drivers.kubernetes.client import Client

from .objects import LOGS, must


def write(
    client: Client,
    folder: Path,
    namespace: str,
    pod: str,
    lines: Iterable[str],
    *,
    container: str = "",
    at: datetime | None = None,
    stream: str = "stdout",
) -> Path:
    """Append lines to a file in ``folder``; see `Bed.write_log`. Raises BedFailed."""
    path = folder / f"{container or _first_container(client, namespace, pod)}.log"
    is_new = not path.exists()
    folder.mkdir(parents=True, exist_ok=True)
    moment = at or datetime.now(UTC)
    written = []
    for number, line in enumerate(lines):
        stamp = moment + timedelta(microseconds=number)
        written.append(f"{stamp:%Y-%m-%dT%H:%M:%S.%f}000Z {stream} F {line}\n")
    with path.open("a", encoding="utf-8") as log:
        log.write("".join(written))
    if is_new:
        _serve(client, folder, namespace, pod)
    return path


def _first_container(client: Client, namespace: str, pod: str) -> str:
    spec = must(client.get(resources.PODS, namespace, pod)).body["spec"]
    return str(spec["containers"][0]["name"])


def _serve(client: Client, folder: Path, namespace: str, pod: str) -> None:
    logs = [
        {"containers": [path.stem], "logsFile": str(path), "follow": True}
        for path in sorted(folder.glob("*.log"))
    ]
    body = {
        "apiVersion": LOGS.api_version,
        "kind": LOGS.kind,
        "metadata": {"name": pod, "namespace": namespace},
        "spec": {"logs": logs},
    }
    must(client.apply(LOGS, namespace, pod, body))
