"""Every engine that Gangline knows: one line each."""

from .kind import ClusterKind
from .kubernetes.kind import KUBERNETES
from .local.kind import LOCAL
from .slurm.kind import SLURM

DRIVERS: dict[str, ClusterKind] = {
    LOCAL.key: LOCAL,
    KUBERNETES.key: KUBERNETES,
    SLURM.key: SLURM,
}
