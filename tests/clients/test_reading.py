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

from tests.clients.test_runapy import _Lazily, api_of, client_of
from tests.support.web_server import WebServer, web_server

if TYPE_CHECKING:
    import runai
    from runai.runai_client import RunaiClient
else:
    runai = _Lazily()

READS = [line.split() for line in Path(__file__).with_name("reads.txt").read_text().splitlines()]
ELSEWHERE = {
    "apps": "service-accounts",
    "k8s/departments": "org-unit/departments",
    "k8s/projects": "org-unit/projects",
    "k8s/clusters": "clusters",
    "user-applications": "access-keys",
    "workload-templates": "workload-templates/distributed",
    "workloads/distributed": "workloads",
}
"""Addresses whose objects are those of another list."""
BELOW_CLUSTERS = ("k8s/departments", "k8s/projects")
FIXED = {"authorization/roles": 1, "k8s/setting": "workloads.topology"}
PLAIN = {"bool": bool, "count": dict, "dict": dict}
METRICS = {
    "get_cluster_metrics": "ALLOCATED_GPU",
    "get_nodepool_metrics": "ALLOCATED_GPU",
    "get_node_metrics": "CPU_USAGE_CORES",
    "get_workload_metrics": "CPU_USAGE_CORES",
}
TELEMETRY = {"get_workloads_telemetry": "WORKLOADS_COUNT", "get_node_telemetry": "TOTAL_GPUS"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with web_server(tmp_path_factory.mktemp("reads"), TESTS_EVERYTHING="1") as server:
        with server.client() as http:
            about = {"name": "cap", "scope": "project", "projectId": int(server.project)}
            rules = {"rules": {"worker": {"numWorkers": {"max": 8}}}}
            where, body = (
                f"{server.url}/api/v2/policy/distributed",
                {"meta": about, "policy": rules},
            )
            headers = {"Authorization": f"Bearer {server.administrator}"}
            assert http.put(where, json=body, headers=headers).status_code == 200
            nodes = http.get("nodes", headers=headers).json()["nodes"]
            server.ids["nodes"] = [one["id"] for one in nodes]
        yield server


@pytest.fixture(scope="module")
def client(site: WebServer) -> Iterator[RunaiClient]:
    with client_of(site, site.client_id, site.client_secret) as made:
        yield made


def arguments(site: WebServer, method: Any, key: str) -> tuple[list[Any], dict[str, Any]]:
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
        "version": "2.22",
    }
    needed = [
        name
        for name, one in inspect.signature(method).parameters.items()
        if one.default is inspect.Parameter.empty
    ]
    pk = FIXED.get(key) or (site.ids[ELSEWHERE.get(key, key)][0] if key != "-" else "")
    if "args" in needed:
        # Of a deprecated method nothing but the order is known.
        return ([site.cluster, pk] if key in BELOW_CLUSTERS else [pk] * bool(pk)), {}
    found = {name: known[name] for name in needed if name in known}
    if key != "-":
        found[next((name for name in needed if name not in found), needed[0])] = pk
    if method.__name__ == "get_distributed_policy_v2":
        found["project_id"] = site.project
    if method.__name__ == "download_audit_logs":
        found["file_type"] = "JSON"  # it parses whatever comes
    return [], found


@pytest.mark.parametrize(("call", "key", "model"), READS, ids=[row[0] for row in READS])
def test_it_is_read(site: WebServer, client: RunaiClient, call: str, key: str, model: str) -> None:
    api, _, name = call.rpartition(".")
    method = getattr(api_of(client, api), name)
    given, named = arguments(site, method, key)
    data = method(*given, **named).data
    model, _, envelope = model.partition(":")
    data = data[envelope] if envelope else data
    if model == "-":
        assert data is None
    elif model in PLAIN:
        assert isinstance(data, PLAIN[model])
    elif model.endswith("[]"):
        assert data or name == "get_datavolume_shared_scopes"
        for one in data:
            assert getattr(runai.models, model[:-2]).from_dict(one).to_dict()
    else:
        assert getattr(runai.models, model).from_dict(data).to_dict()
