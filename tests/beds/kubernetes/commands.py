"""How each process of the bed is started, and where it says that it is ready.

Everything listens on the loopback address. Flags:
https://kubernetes.io/docs/reference/command-line-tools-reference/ and https://kwok.sigs.k8s.io/
"""

from collections.abc import Sequence

from . import add_on_commands, building
from .layout import MORE_REQUESTS, Command, Layout

NATIVE_GANG = "native-gang"
SERVICE_RANGE = "10.96.0.0/16"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_OPERATORS = ("kwok", "training-operator", "mpi-operator")
_ADD_ONS = {"volcano": ("vc-controller-manager", "vc-scheduler"), "jobset": ("jobset",)}
_GANG_GATES = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"
_GANG_API = "scheduling.k8s.io/v1alpha2"
_WITHOUT = (
    *("node-ipam-controller", "node-route-controller", "service-lb-controller"),
    *("cloud-node-lifecycle-controller", "persistentvolume-attach-detach-controller"),
)
_SIMULATED = (
    *("Stage", "Logs", "ClusterLogs", "Exec", "ClusterExec", "Attach", "ClusterAttach"),
    *("PortForward", "ClusterPortForward"),
)
_SCHEMES = ("pytorchjob", "tfjob", "xgboostjob", "jaxjob")


def operators(with_: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the processes besides the control plane, in the order in which they start."""
    added = (name for add_on in with_ for name in _ADD_ONS.get(add_on, ()))
    return (*_OPERATORS, *added)


def command(name: str, layout: Layout) -> Command:
    """How the process of this name is started."""
    made = _MAKERS[name](layout)
    arguments = (str(building.program(name)), *made.arguments, *layout.flags.get(name, ()))
    return Command(arguments, made.ready, made.environment, made.isolated)


def _etcd(layout: Layout) -> Command:
    clients = f"http://127.0.0.1:{layout.ports['etcd']}"
    peers = f"http://127.0.0.1:{layout.ports['etcd-peers']}"
    return Command(
        (
            f"--data-dir={layout.folder / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
        ready=f"{clients}/health",
    )


def _api_server(layout: Layout) -> Command:
    path = layout.pki.path
    gang: tuple[str, ...] = ()
    if NATIVE_GANG in layout.with_:
        gang = (f"--feature-gates={_GANG_GATES}", f"--runtime-config={_GANG_API}=true")
    return Command(
        (
            f"--etcd-servers=http://127.0.0.1:{layout.ports['etcd']}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={layout.ports['kube-apiserver']}",
            # The loopback address may be no endpoint of a service.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={path('apiserver.crt')}",
            f"--tls-private-key-file={path('apiserver.key')}",
            f"--client-ca-file={path('ca.crt')}",
            f"--token-auth-file={path('tokens.csv')}",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={path('service-accounts.pub')}",
            f"--service-account-signing-key-file={path('service-accounts.key')}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            f"--kubelet-client-certificate={path('kubelet-client.crt')}",
            f"--kubelet-client-key={path('kubelet-client.key')}",
            "--kubelet-preferred-address-types=InternalIP",
            "--allow-privileged=true",
            "--enable-priority-and-fairness=false",
            *gang,
        ),
        ready=f"{layout.server}/readyz",
    )


def _kubeconfigs(layout: Layout) -> tuple[str, ...]:
    flags = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    return tuple(f"--{flag}={layout.admin}" for flag in flags)


def _serving(layout: Layout, name: str) -> tuple[str, ...]:
    return (
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.ports[name]}",
        f"--tls-cert-file={layout.pki.path('apiserver.crt')}",
        f"--tls-private-key-file={layout.pki.path('apiserver.key')}",
    )


def _controller_manager(layout: Layout) -> Command:
    path = layout.pki.path
    return Command(
        (
            *_kubeconfigs(layout),
            *_serving(layout, "kube-controller-manager"),
            "--leader-elect=false",
            f"--service-account-private-key-file={path('service-accounts.key')}",
            f"--root-ca-file={path('ca.crt')}",
            "--use-service-account-credentials=true",
            f"--cluster-signing-cert-file={path('ca.crt')}",
            f"--cluster-signing-key-file={path('ca.key')}",
            f"--controllers={','.join(['*', *(f'-{name}' for name in _WITHOUT)])}",
            # A frozen control plane must not make the nodes fail.
            "--node-monitor-grace-period=1h",
            *MORE_REQUESTS,
        ),
        ready=f"https://127.0.0.1:{layout.ports['kube-controller-manager']}/healthz",
    )


def _scheduler(layout: Layout) -> Command:
    gang = (f"--feature-gates={_GANG_GATES}",) if NATIVE_GANG in layout.with_ else ()
    return Command(
        (
            *_kubeconfigs(layout),
            *_serving(layout, "kube-scheduler"),
            "--leader-elect=false",
            *MORE_REQUESTS,
            *gang,
        ),
        ready=f"https://127.0.0.1:{layout.ports['kube-scheduler']}/healthz",
    )


def _kwok(layout: Layout) -> Command:
    port = layout.ports["kwok"]
    return Command(
        (
            f"--kubeconfig={layout.admin}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-ip=127.0.0.1",
            f"--node-port={port}",
            f"--server-address=127.0.0.1:{port}",
            f"--tls-cert-file={layout.pki.path('apiserver.crt')}",
            f"--tls-private-key-file={layout.pki.path('apiserver.key')}",
            "--cidr=10.244.0.0/16",
            "--node-lease-duration-seconds=40",
            f"--enable-crds={','.join(_SIMULATED)}",
        ),
        ready=f"https://127.0.0.1:{port}/healthz",
    )


def _training_operator(layout: Layout) -> Command:
    probes = layout.ports["training-operator"]
    return Command(
        (
            *(f"--enable-scheme={scheme}" for scheme in _SCHEMES),
            f"--metrics-bind-address=127.0.0.1:{layout.ports['training-operator-metrics']}",
            f"--health-probe-bind-address=127.0.0.1:{probes}",
            f"--webhook-server-port={layout.ports['training-operator-webhook']}",
            "--controller-threads=4",
            *MORE_REQUESTS,
            *(["--gang-scheduler-name=volcano"] if "volcano" in layout.with_ else []),
        ),
        ready=f"http://127.0.0.1:{probes}/readyz",
        environment={"KUBECONFIG": layout.admin},
    )


def _mpi_operator(layout: Layout) -> Command:
    arguments = (
        f"--kubeConfig={layout.admin}",
        "--lock-namespace=mpi-operator",
        *MORE_REQUESTS,
        *(["--gang-scheduling=volcano"] if "volcano" in layout.with_ else []),
    )
    # Its health check is on port 8080 of all addresses, and nothing can change that.
    return Command(arguments, isolated=True)


_MAKERS = {
    "etcd": _etcd,
    "kube-apiserver": _api_server,
    "kube-controller-manager": _controller_manager,
    "kube-scheduler": _scheduler,
    "kwok": _kwok,
    "training-operator": _training_operator,
    "mpi-operator": _mpi_operator,
    **add_on_commands.MAKERS,
}
