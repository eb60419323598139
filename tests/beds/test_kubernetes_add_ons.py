"""The add-on JobSet; what Volcano and gangs of Kubernetes do, the tests of workloads show."""

from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.kubernetes import resources
from gangline.drivers.kubernetes.resources import Resource
from tests.beds.kubernetes.bed import Bed, running
from tests.support.waiting import wait_for

pytestmark = pytest.mark.thorough


JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")


def phases(bed: Bed, namespace: str) -> list[str]:
    items = bed.client.list(resources.PODS, namespace).body["items"]
    return sorted(item["status"]["phase"] for item in items)


@pytest.mark.needs_kubernetes
def test_a_jobset_runs_and_its_webhook_refuses_a_wrong_one(tmp_path: Path) -> None:
    """Slow, because it starts a bed. https://jobset.sigs.k8s.io/docs/concepts/"""
    container = {"name": "main", "image": "registry.example/training:1"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    template = {"spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod}}}
    body: dict[str, Any] = {
        "apiVersion": JOB_SETS.api_version,
        "kind": "JobSet",
        "metadata": {"name": "set"},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]},
    }
    flags = {"kube-apiserver": ["--default-watch-cache-size=50"]}
    with running(tmp_path / "bed", ["jobset"], flags) as bed, bed.namespace() as namespace:
        server = bed.processes["kube-apiserver"]
        assert flags["kube-apiserver"][0] in Path(f"/proc/{server.pid}/cmdline").read_text()
        made = bed.client.create(JOB_SETS, namespace, body)
        assert made.status == 201, made.message
        wait_for(lambda: phases(bed, namespace) == ["Running"] * 2, seconds=30)
        wrong = body | {"metadata": {"name": "x" * 60}}
        answer = bed.client.create(JOB_SETS, namespace, wrong)
        assert answer.status == 422
        assert "vjobset.kb.io" in answer.message
