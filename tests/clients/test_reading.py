"""Every address of P0 and P1 that the published client reads, into the client's own models.

`reads.txt`: the method of the client, the list whose first object it asks for, and the model.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.test_runapy import api_of, client_of, runai
from tests.support.web_server import WebServer, web_server

if TYPE_CHECKING:
    from runai.runai_client import RunaiClient

READS = [line.split() for line in Path(__file__).with_name("reads.txt").read_text().splitlines()]
ELSEWHERE = {
    "apps": "service-accounts",
    "k8s/clusters": "clusters",
    "user-applications": "access-keys",
    "workload-templates": "workload-templates/distributed",
    "workloads/distributed": "workloads",
}
"""Addresses whose objects are those of another list."""
FIXED = {"authorization/roles": 1, "k8s/setting": "workloads.topology"}
UNITS_AND_NODES = ("MetricsResponse", "TelemetryResponse")
METRICS = {
    "get_cluster_metrics": "ALLOCATED_GPU",
    "get_nodepool_metrics": "ALLOCATED_GPU",
    "get_node_metrics": "CPU_USAGE_CORES",
    "get_workload_metrics": "CPU_USAGE_CORES",
    "get_workload_pod_metrics": "CPU_USAGE_CORES",
}
TELEMETRY = {"get_workloads_telemetry": "WORKLOADS_COUNT", "get_node_telemetry": "TOTAL_GPUS"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with web_server(tmp_path_factory.mktemp("reads"), everything=True) as server:
        yield server


@pytest.fixture(scope="module")
def client(site: WebServer) -> Iterator[RunaiClient]:
    with client_of(site, site.client_id, site.client_secret) as made:
        yield made


def arguments(site: WebServer, method: Any, key: str) -> dict[str, Any]:
    """What the method needs: the key of the object, a time, a figure."""
    now = datetime.now(UTC)
    known = {
        "cluster_id": site.cluster,
        "data_name": "free",
        "end": now,
        "metric_type": [METRICS.get(method.__name__, "GPU_ALLOCATION")],
        "nodepool_name": "default",
        "request_type": "Originated",
        "scope": "project",
        "scope_type": "tenant",
        "start": now - timedelta(hours=1),
        "telemetry_type": TELEMETRY.get(method.__name__, "GPU_QUOTA"),
        "template_name": "free",
    }
    needed = [
        name
        for name, one in inspect.signature(method).parameters.items()
        if one.default is inspect.Parameter.empty
    ]
    found = {name: known[name] for name in needed if name in known}
    of_object = [name for name in needed if name not in found]
    if key != "-":
        where = ELSEWHERE.get(key, key)
        pk = FIXED.get(key) or site.ids[where][0]
        name = of_object[0] if of_object else needed[0]
        found[name] = pk
    if method.__name__ == "get_workload_pod_metrics":
        found["pod_id"] = site.ids["pods"][0]
    if method.__name__ == "get_distributed_policy_v2":
        found["project_id"] = site.project
    return found


@pytest.mark.parametrize(("call", "key", "model"), READS, ids=[row[0] for row in READS])
def test_it_is_read(site: WebServer, client: RunaiClient, call: str, key: str, model: str) -> None:
    api, _, name = call.rpartition(".")
    method = getattr(api_of(client, api), name)
    data = method(**arguments(site, method, key)).data
    if model == "count":
        assert isinstance(data["count"], int)
    elif model == "-":
        assert data is None
    elif model.endswith("[]"):
        assert data
        for one in data:
            assert getattr(runai.models, model[:-2]).from_dict(one).to_dict()
    else:
        assert getattr(runai.models, model).from_dict(data).to_dict()
