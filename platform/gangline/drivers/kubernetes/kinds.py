"""Kubeflow's kinds: which object a framework becomes, its roles, and what its operator expects.

https://www.kubeflow.org/docs/components/trainer/legacy-v1/ and
https://github.com/kubeflow/mpi-operator/tree/v0.8.0
"""

from dataclasses import dataclass

from .resources import Resource

TRAINING_OPERATOR = "training-operator"
MPI_OPERATOR = "mpi-operator"


@dataclass(frozen=True, slots=True)
class JobKind:
    """One framework's object. Role names are keys of ``replicas`` and, in lower case, of labels."""

    framework: str
    resource: Resource
    operator: str
    replicas: str
    """Key of the map of roles below ``spec``."""
    container: str
    """Name that the main container must have; the first one is the main one everywhere."""
    master: str = ""
    """Key of the role that leads: ``Master``, ``Chief``, ``Launcher``; empty when there is none."""
    worker: str = "Worker"
    port: int = 0
    """Where rank 0 listens, as the operator's default has it."""


def _v1(plural: str, kind: str) -> Resource:
    return Resource("kubeflow.org", "v1", plural, kind)


KINDS: dict[str, JobKind] = {
    job.framework: job
    for job in (
        JobKind(
            "PyTorch", _v1("pytorchjobs", "PyTorchJob"), TRAINING_OPERATOR,
            "pytorchReplicaSpecs", "pytorch", master="Master", port=23456,
        ),
        JobKind(
            "TF", _v1("tfjobs", "TFJob"), TRAINING_OPERATOR,
            "tfReplicaSpecs", "tensorflow", master="Chief", port=2222,
        ),
        JobKind(
            "XGBoost", _v1("xgboostjobs", "XGBoostJob"), TRAINING_OPERATOR,
            "xgbReplicaSpecs", "xgboost", master="Master", port=9999,
        ),
        JobKind(
            "JAX", _v1("jaxjobs", "JAXJob"), TRAINING_OPERATOR,
            "jaxReplicaSpecs", "jax", port=6666,
        ),
        JobKind(
            "MPI", Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"), MPI_OPERATOR,
            "mpiReplicaSpecs", "mpi", master="Launcher",
        ),
    )
}  # fmt: skip
"""By the framework's name in the API (`gangline.spec.frameworks`)."""
