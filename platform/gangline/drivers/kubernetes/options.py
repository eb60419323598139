"""What an installation or an admin decides about one Kubernetes cluster."""

from dataclasses import dataclass
from pathlib import Path

from .quantities import GPU


@dataclass(frozen=True, slots=True)
class Options:
    """How the driver behaves on a cluster; nothing of it is secret."""

    namespace_prefix: str = "gangline"
    """A project's namespace is called ``<prefix>-<project>`` unless its policy names one."""
    scheduler: str = ""
    """Scheduler asked for by the admin; empty: the best of those that the cluster has."""
    log_cap: int = 2**30
    """Most bytes of log that are kept of one replica."""
    gpu: str = GPU
    """What the cluster's nodes call a GPU."""
    data_dir: Path | None = None
    """Where logs are archived before their pods go."""
