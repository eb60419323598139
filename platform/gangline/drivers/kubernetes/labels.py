"""How Gangline's own objects are told from all others on a cluster."""

from typing import Any

from gangline.drivers.base import AttemptRef

INSTALL = "gangline.dev/install"
WORKLOAD = "gangline.dev/workload"
ATTEMPT = "gangline.dev/attempt"
ROLE = "gangline.dev/role"
CATEGORY = "gangline.dev/category"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "gangline"
_DIGITS = 9
"""So many are far more than we ever count to, and fit into a column of any database."""


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


def number(text: Any) -> int:
    """What a label counts; 0 where it is no number of ours. Attempts count from 1."""
    word = str(text or "")
    return int(word) if word.isascii() and word.isdigit() and len(word) <= _DIGITS else 0
