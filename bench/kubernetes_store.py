"""Pods as the API server keeps them in etcd, changed there: it tells of that, and checks nothing.

Through the API server a change of status costs 4 ms of its processor time, so that a machine could
not make as many as are to be measured. https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
"""

import base64
import json
from collections.abc import Collection, Iterator

from bench.loads import Client

PODS = "/registry/pods/"
PAGE = 200


def key_of(namespace: str, name: str) -> str:
    """Where the API server keeps a pod."""
    return f"{PODS}{namespace}/{name}"


def put(client: Client, key: str, value: bytes) -> bytes:
    """The request that stores a value."""
    return client.request("POST", "/v3/kv/put", {"key": _told(key.encode()), "value": _told(value)})


def pods(client: Client, keys: Collection[str]) -> dict[str, bytes]:
    """What is stored of these pods, as the API server writes it."""
    wanted = set(keys)
    return {key: value for key, value in _all(client) if key in wanted}


def _all(client: Client) -> Iterator[tuple[str, bytes]]:
    begin, end = PODS.encode(), PODS[:-1].encode() + b"0"  # the first key after all of these
    while True:
        asked = {"key": _told(begin), "range_end": _told(end), "limit": PAGE}
        request = client.request("POST", "/v3/kv/range", asked)
        found = json.loads(client.send([request]).expect(200).bodies[0])
        read = [(base64.b64decode(kv["key"]), kv["value"]) for kv in found.get("kvs", ())]
        for key, value in read:
            yield key.decode(), base64.b64decode(value)
        if not found.get("more"):
            return
        begin = read[-1][0] + b"\0"


def _told(data: bytes) -> str:
    return base64.b64encode(data).decode()
