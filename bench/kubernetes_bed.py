"""A Kubernetes of a benchmark's own, and requests to it that cost their sender little."""

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.loads import Client
from gangline.drivers.kubernetes.access import ClusterCredentials, tls_context
from tests.beds.kubernetes import bed, building, components, processes
from tests.beds.kubernetes.bed import Bed

KUBECTL = "kubectl"
BRIEFLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
"""Answers without spec and status: https://kubernetes.io/docs/reference/using-api/api-concepts/"""
WRITERS = 16
AT_ONCE = 1_000


def lacking() -> str:
    """Why there can be no bed here, as a sentence; empty when there can."""
    if why := processes.is_supported():
        return why
    if not building.is_built(components.ALWAYS):
        return "The programs of the test bed are not built: `make bed-build` does it."
    return ""


@contextlib.contextmanager
def running() -> Iterator[Bed]:
    """A bed that ends with the block. kubectl is built where it is missing."""
    with (
        tempfile.TemporaryDirectory(prefix="gangline-bench-bed-") as folder,
        bed.running(Path(folder), with_=(KUBECTL,)) as made,
    ):
        yield made


def write_access(made: Bed, folder: Path) -> Path:
    """Both ways in, for the processes of the benchmark that `access` reads; only for their user."""
    path = folder / "bed.json"
    path.touch(mode=0o600)
    ways = {"admin": made.admin.as_json(), "restricted": made.restricted.as_json()}
    path.write_text(json.dumps(ways))
    return path


def access(path: str, user: str) -> ClusterCredentials:
    """What `write_access` wrote of ``admin`` or ``restricted``."""
    return ClusterCredentials.from_json(json.loads(Path(path).read_text())[user])


def api(way: ClusterCredentials, *, content_type: str = "application/json") -> Client:
    """Prepared requests to the API server over kept connections."""
    headers = {
        "Accept": BRIEFLY,
        "Authorization": f"Bearer {way.token}",
        "User-Agent": "gangline-bench",
    }
    port = urlsplit(way.server).port
    assert port, way.server
    return Client(port, headers, tls_context(way), content_type)


def write(
    sender: Client, method: str, objects: Iterable[tuple[str, Mapping[str, Any]]], expect: int
) -> dict[tuple[str, str], str]:
    """Send (path, body) pairs, many at a time; uids by namespace and name."""
    uids: dict[tuple[str, str], str] = {}
    pairs = iter(objects)
    while part := list(islice(pairs, AT_ONCE)):
        requests = [sender.request(method, path, body) for path, body in part]
        for body in sender.send(requests, clients=WRITERS).expect(expect).bodies:
            meta = json.loads(body)["metadata"]
            uids[(meta.get("namespace", ""), meta["name"])] = meta["uid"]
    return uids
