"""How the processes of add-ons are started: Volcano and JobSet.

https://volcano.sh/en/docs/schduler_introduction/ and https://jobset.sigs.k8s.io/docs/installation/
"""

import json

from .layout import MORE_REQUESTS, Command, Layout

SCHEDULER_CONFIG = """\
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
  - name: network-topology-aware
"""


def _volcano(layout: Layout, name: str) -> tuple[str, ...]:
    return (
        f"--kubeconfig={layout.admin}",
        "--leader-elect=false",
        f"--listen-address=127.0.0.1:{layout.ports[name]}",
        "--enable-healthz=true",
        f"--healthz-address=127.0.0.1:{layout.ports[f'{name}-health']}",
        "--scheduler-name=volcano",
        *MORE_REQUESTS,
    )


def _health(layout: Layout, name: str) -> str:
    return f"http://127.0.0.1:{layout.ports[f'{name}-health']}/healthz"


def _scheduler(layout: Layout) -> Command:
    config = layout.folder / "volcano-scheduler.conf"
    config.write_text(SCHEDULER_CONFIG)
    return Command(
        (
            *_volcano(layout, "vc-scheduler"),
            f"--scheduler-conf={config}",
            "--schedule-period=500ms",
            "--cache-dumper=false",
        ),
        ready=_health(layout, "vc-scheduler"),
    )


def _controller_manager(layout: Layout) -> Command:
    name = "vc-controller-manager"
    return Command(_volcano(layout, name), ready=_health(layout, name))


def _jobset(layout: Layout) -> Command:
    probes = f"127.0.0.1:{layout.ports['jobset']}"
    config = layout.folder / "jobset.yaml"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
                "kind": "Configuration",
                "leaderElection": {"leaderElect": False},
                "health": {"healthProbeBindAddress": probes},
                "metrics": {"bindAddress": f"127.0.0.1:{layout.ports['jobset-metrics']}"},
                "webhook": {"port": layout.ports["jobset-webhook"], "host": "127.0.0.1"},
                "internalCertManagement": {
                    "enable": True,
                    "webhookServiceName": "jobset-webhook-service",
                    "webhookSecretName": "jobset-webhook-server-cert",
                },
            }
        )
    )
    return Command(
        (f"--config={config}",),
        ready=f"http://{probes}/readyz",
        environment={"KUBECONFIG": layout.admin},
    )


MAKERS = {
    "vc-scheduler": _scheduler,
    "vc-controller-manager": _controller_manager,
    "jobset": _jobset,
}
