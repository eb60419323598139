"""How Gangline's own objects are told from all others on a cluster."""

from gangline.clusters.drivers.base import AttemptRef

INSTALL = "gangline.dev/install"
WORKLOAD = "gangline.dev/workload"
ATTEMPT = "gangline.dev/attempt"
ROLE = "gangline.dev/role"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "gangline"


def of(ref: AttemptRef) -> dict[str, str]:
    """Labels of every object of an attempt, pods included; they win over what a person wrote."""
    return {
        MANAGED_BY: MANAGER,
        INSTALL: ref.install,
        WORKLOAD: ref.workload,
        ATTEMPT: str(ref.attempt),
    }


def selector(install: str) -> str:
    """Selector of everything that this installation has made."""
    return f"{INSTALL}={install}"
