"""Names of variables, labels and annotations, and those that are not people's to use."""

import re
from typing import Annotated

from pydantic import Field

from .types import Format

USER_PREFIX = "user.gangline.dev/"
RESERVED_DOMAINS = (
    "kubernetes.io", "k8s.io", "kubeflow.org", "kai.scheduler", "run.ai", "runai", "volcano.sh",
    "x-k8s.io", "istio.io", "prometheus.io",
)  # fmt: skip
"""Parts of a cluster read keys with these domains, past every policy."""
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"(?=[^/]{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_KEY = re.compile(rf"(?:({_DOMAIN})/)?({_NAME})")
_LABEL_VALUE = re.compile(rf"(?:{_NAME})?")
_CONTROLLER_KEYS = frozenset(
    {"controller-revision-hash", "controller-uid", "job-name", "pod-template-hash"}
    # The KAI scheduler takes these for requests of its own, past every policy.
    | {"gpu-fraction", "gpu-fraction-container-name", "gpu-fraction-num-devices", "gpu-memory"}
    | {"pod-group-name", "priorityClassName"}
)

_ENV_PREFIXES = {
    "GANGLINE_": "Gangline uses such names to describe the run",
    "SLURM_": "Slurm sets such names",
    "SBATCH_": "Slurm reads such names as options",
    "PET_": "Gangline sets such names for torchrun",
    "OMPI_COMM_WORLD_": "Open MPI sets such names",
    "PMIX_": "Open MPI sets such names",
}
_ENV_NAMES = {
    **dict.fromkeys(
        ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK",
         "GROUP_RANK"),
        "Gangline sets it so that the processes find each other",
    ),
    **dict.fromkeys(
        ("RUNAI_JOB_NAME", "RUNAI_JOB_UUID", "RUNAI_PROJECT", "RUNAI_NUM_OF_GPUS",
         "RUNAI_MPI_NUM_WORKERS"),
        "Gangline sets it for programs written for Run:ai",
    ),
    "TF_CONFIG": "Gangline sets it for TensorFlow",
    **dict.fromkeys(
        ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_ROLE", "DMLC_NUM_WORKER",
         "DMLC_NUM_SERVER", "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT"),
        "Gangline sets it for XGBoost and MXNet",
    ),
    **dict.fromkeys(
        ("COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID"),
        "Gangline sets it for JAX",
    ),
    **dict.fromkeys(
        ("OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_tag_output"),
        "Gangline sets it for MPI",
    ),
    **dict.fromkeys(
        ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
         "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", "HOROVOD_HOSTNAME",
         "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"),
        "Gangline or horovodrun sets it for Horovod",
    ),
    **dict.fromkeys(
        ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
        "the cluster sets it to the GPUs it gives to the process",
    ),
    **dict.fromkeys(("NODE_NAME", "POD_NAME"), "the cluster sets it"),
    **dict.fromkeys(
        ("LD_PRELOAD", "LD_AUDIT", "BASH_ENV"),
        "it would run code inside the processes that start and watch the workload",
    ),
}  # fmt: skip


def reserved_variable(name: str) -> str | None:
    """Why an environment variable of this name is not accepted, or None."""
    for prefix, reason in _ENV_PREFIXES.items():
        if name.startswith(prefix):
            return reason
    return _ENV_NAMES.get(name)


def variable_name_problem(name: str) -> str | None:
    """What is wrong with the name of an environment variable, as a predicate."""
    if not name:
        return "must not be empty"
    if not _ENV_NAME.fullmatch(name):
        return "must have only letters, digits and “_”, and not start with a digit"
    reason = reserved_variable(name)
    return None if reason is None else f"is reserved: {reason}"


def metadata_key_problem(key: str) -> str | None:
    """What is wrong with the name of a label or annotation, as a predicate."""
    if not key:
        return "must not be empty"
    match = _KEY.fullmatch(key)
    if match is not None:
        is_ours = is_of(match[1] or "", "gangline.dev") and f"{match[1]}/" != USER_PREFIX
        if key in _CONTROLLER_KEYS or is_ours:
            return "is reserved: controllers use it"
        return None
    if "/" in key:
        return "must have a domain in lowercase letters before “/”, and a name after it"
    return "must have 1 to 63 letters, digits, “-”, “_” or “.”, with a letter or digit at both ends"


def is_of(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def reserved_domain(key: str) -> str:
    """The domain of those reserved for clusters that ``key`` has as its prefix, or nothing."""
    prefix, slash, _ = key.partition("/")
    return next((one for one in RESERVED_DOMAINS if slash and is_of(prefix, one)), "")


def _label_value_problem(text: str) -> str | None:
    if _LABEL_VALUE.fullmatch(text):
        return None
    return (
        "must have at most 63 letters, digits, “-”, “_” or “.”, with a letter or digit at both ends"
    )


def _annotation_value_problem(text: str) -> str | None:
    visible = all(c.isprintable() or c in "\n\t" for c in text)
    return None if visible else "must not contain control characters"


VariableName = Annotated[
    str,
    Field(max_length=256),
    Format(
        "environment-variable",
        "a name such as NCCL_DEBUG that neither Gangline nor a framework uses",
        variable_name_problem,
    ),
]
MetadataKey = Annotated[
    str,
    Field(max_length=317),
    Format(
        "metadata-key",
        "a name of up to 63 characters, with or without a domain, such as example.com/team",
        metadata_key_problem,
    ),
]
LabelValue = Annotated[
    str,
    Field(max_length=63),
    Format("label-value", "up to 63 letters, digits, “-”, “_” or “.”", _label_value_problem),
]
AnnotationValue = Annotated[
    str,
    Field(max_length=1024),
    Format("annotation-value", "text of up to 1024 characters", _annotation_value_problem),
]
