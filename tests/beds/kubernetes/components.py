"""What the test bed is made of: programs, the Go packages they come from, and their manifests.

Each component has a wrapper module in ``modules/``, whose go.mod and go.sum pin everything.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

MODULES = Path(__file__).parent / "modules"

_VERSION = "k8s.io/component-base/version"
_KUBERNETES = "1.36.3"
_CALLS_ITSELF = {
    f"{_VERSION}.gitVersion": f"v{_KUBERNETES}",
    f"{_VERSION}.gitMajor": _KUBERNETES.split(".")[0],
    f"{_VERSION}.gitMinor": _KUBERNETES.split(".")[1],
    f"{_VERSION}.gitTreeState": "clean",
}
"""Without these a program of Kubernetes calls itself v0.0.0."""


@dataclass(frozen=True)
class Component:
    """One wrapper module, and what is taken from it."""

    name: str
    programs: dict[str, str]
    """Go packages by the names of their programs."""
    module: str = ""
    """Go module whose folder holds the manifests."""
    manifests: tuple[str, ...] = ()
    """Glob patterns below that folder; ``!`` in front takes files out again."""
    variables: dict[str, str] = field(default_factory=dict)
    """What the linker writes into Go variables, by their full names."""

    @property
    def folder(self) -> Path:
        """Where the wrapper module lies."""
        return MODULES / self.name


COMPONENTS = {
    component.name: component
    for component in (
        Component("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
        Component(
            "kubernetes",
            {
                name: f"k8s.io/kubernetes/cmd/{name}"
                for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
            },
            variables=_CALLS_ITSELF,
        ),
        Component(
            "kwok",
            {"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
            "sigs.k8s.io/kwok",
            (
                "kustomize/crd/bases/*.yaml",
                "kustomize/stage/node/fast/node-initialize.yaml",
                "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
            ),
        ),
        Component(
            "training-operator",
            {"training-operator": "github.com/kubeflow/training-operator/cmd/training-operator.v1"},
            "github.com/kubeflow/training-operator",
            (
                "manifests/base/crds/kubeflow.org_*.yaml",
                # MPIJob is the mpi-operator's, in a newer version.
                "!manifests/base/crds/kubeflow.org_mpijobs.yaml",
                "manifests/base/webhook/manifests.yaml",
            ),
        ),
        Component(
            "mpi-operator",
            {"mpi-operator": "github.com/kubeflow/mpi-operator/cmd/mpi-operator"},
            "github.com/kubeflow/mpi-operator",
            ("manifests/base/kubeflow.org_mpijobs.yaml",),
        ),
        Component(
            "volcano",
            {
                "vc-scheduler": "volcano.sh/volcano/cmd/scheduler",
                "vc-controller-manager": "volcano.sh/volcano/cmd/controller-manager",
            },
            "volcano.sh/volcano",
            # Those of jobflow too: without them the queues stay closed.
            ("config/crd/*/bases/*.yaml",),
        ),
        Component(
            "jobset",
            {"jobset": "sigs.k8s.io/jobset"},
            "sigs.k8s.io/jobset",
            (
                "config/components/crd/bases/*.yaml",
                "config/components/webhook/manifests.yaml",
            ),
        ),
        Component("versitygw", {"versitygw": "github.com/versity/versitygw/cmd/versitygw"}),
        Component("kubectl", {"kubectl": "k8s.io/kubernetes/cmd/kubectl"}, variables=_CALLS_ITSELF),
    )
}

ALWAYS = ("etcd", "kubernetes", "kwok", "training-operator", "mpi-operator")
ADD_ONS: dict[str, tuple[str, ...]] = {
    "jobset": ("jobset",),
    "kubectl": ("kubectl",),
    "native-gang": (),
    "s3": ("versitygw",),
    "volcano": ("volcano",),
}
"""What `WITH` may name, and the components that each needs beyond those of every bed."""
S3 = ("versitygw",)
"""A real S3 server: no part of a bed, but built as its parts are."""
TESTED = tuple(name for name in COMPONENTS if name not in ("kubectl", *S3))
"""What tests on a bed need; kubectl is only what benchmarks are compared with."""


def needed(with_: Iterable[str] = ()) -> list[Component]:
    """Components of a bed with these add-ons, in the order in which they are worth building.

    Raises ValueError for a name that is no add-on.
    """
    names = [*ALWAYS]
    for add_on in with_:
        if add_on not in ADD_ONS:
            choice = ", ".join(sorted(ADD_ONS))
            raise ValueError(f"There is no add-on {add_on!r}; choose from {choice}.")
        names += ADD_ONS[add_on]
    return [COMPONENTS[name] for name in dict.fromkeys(names)]
