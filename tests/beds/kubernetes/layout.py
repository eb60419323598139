"""Where one bed has its files and ports, and what is known of a process before it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .pki import Pki

PORTS = (
    *("etcd", "etcd-peers", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"),
    *("training-operator", "training-operator-metrics", "training-operator-webhook"),
    *("vc-scheduler", "vc-scheduler-health"),
    *("vc-controller-manager", "vc-controller-manager-health"),
    *("jobset", "jobset-metrics", "jobset-webhook"),
)
"""Names of the ports that are chosen when a bed starts, whether it uses them or not."""
MORE_REQUESTS = ("--kube-api-qps=200", "--kube-api-burst=400")
"""What the operators take for more requests per second than they allow themselves."""


@dataclass(frozen=True)
class Layout:
    """Where one bed has its files and ports, and what it was made with."""

    folder: Path
    pki: Pki
    ports: Mapping[str, int]
    with_: Sequence[str] = ()
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """More flags, by the names of processes; the last one of a name counts."""

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    @property
    def admin(self) -> str:
        """Path of the administrator's kubeconfig."""
        return str(self.folder / "admin.kubeconfig")


@dataclass(frozen=True)
class Command:
    """One process: its arguments, what it adds to the environment, where it says it is ready."""

    arguments: tuple[str, ...]
    ready: str = ""
    """Address that answers 200; empty when it is told in another way."""
    environment: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False
    """Whether it wants a network of its own, for a port that it does not let us choose."""
