"""The steps of a Kubernetes cluster's connection check, in their order."""

from enum import StrEnum

from gangline.drivers import checks


class StepName(StrEnum):
    """Every step by the name that people see."""

    REACHABILITY = checks.REACHABILITY
    CERTIFICATE = "Certificate"
    IDENTITY = "Identity"
    VERSION = "Version"
    CLOCK = "Clock"
    PERMISSIONS = checks.PERMISSIONS
    OPERATORS = "Operators"
    SCHEDULER = "Scheduler"
    STORAGE = "Storage classes"
    NODES = "Nodes and GPUs"
    METRICS = "Metrics"


REQUIRED = frozenset(
    {StepName.REACHABILITY, StepName.CERTIFICATE, StepName.IDENTITY, StepName.VERSION}
)
"""Without these nothing else can be known, and the cluster counts as unreachable."""
