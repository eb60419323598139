"""Kubeflow's kinds: which object a framework becomes, its roles, and what its operator expects.

https://www.kubeflow.org/docs/components/trainer/legacy-v1/ and
https://github.com/kubeflow/mpi-operator/tree/v0.8.0
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .resources import Resource

TRAINING_OPERATOR = "training-operator"
MPI_OPERATOR = "mpi-operator"


@dataclass(frozen=True, slots=True)
class JobKind:
    """One framework's object."""

    framework: str
    resource: Resource
    operator: str
    replicas: str
    """Key of the map of roles below ``spec``."""
    container: str
    """Name that the main container must have; the first one is the main one everywhere."""
    roles: Mapping[str, str]
    """What the operator calls each role of the gang: keys of ``replicas`` and, in lower case,
    values of labels."""
    port: int = 0
    """Where rank 0 listens, as the operator's default has it."""

    def role(self, native: str) -> str:
        """The role of the gang that the operator calls so; empty: it has none."""
        return next((role for role, name in self.roles.items() if name == native), "")


def _v1(plural: str, kind: str) -> Resource:
    return Resource("kubeflow.org", "v1", plural, kind)


def _led_by(leader: str) -> Mapping[str, str]:
    return {"master": leader, "worker": "Worker"}


KINDS: dict[str, JobKind] = {
    job.framework: job
    for job in (
        JobKind(
            "PyTorch", _v1("pytorchjobs", "PyTorchJob"), TRAINING_OPERATOR,
            "pytorchReplicaSpecs", "pytorch", _led_by("Master"), port=23456,
        ),
        JobKind(
            "TF", _v1("tfjobs", "TFJob"), TRAINING_OPERATOR,
            "tfReplicaSpecs", "tensorflow", _led_by("Chief"), port=2222,
        ),
        JobKind(
            "XGBoost", _v1("xgboostjobs", "XGBoostJob"), TRAINING_OPERATOR,
            "xgbReplicaSpecs", "xgboost", _led_by("Master"), port=9999,
        ),
        JobKind(
            "JAX", _v1("jaxjobs", "JAXJob"), TRAINING_OPERATOR,
            "jaxReplicaSpecs", "jax", {"worker": "Worker"}, port=6666,
        ),
        JobKind(
            "MPI", Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"), MPI_OPERATOR,
            "mpiReplicaSpecs", "mpi", _led_by("Launcher"),
        ),
    )
}  # fmt: skip
"""By the framework's name in the API (`gangline.spec.frameworks`)."""
ROLES: Mapping[str, str] = {
    native.lower(): role for kind in KINDS.values() for role, native in kind.roles.items()
}
"""The role of a gang by what operators call it in labels."""
