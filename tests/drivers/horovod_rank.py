"""Does what a rank of Horovod does first: meets the others by its variables, and by nothing else.

The calls are those of `horovod/common/gloo/http_store.cc`: each rank tells of itself under its
scope, reads what the others told, and says that it is done. With a number as argument, the rank of
that number then dies, while the others wait for ever.
"""

import os
import sys
import time
import urllib.error
import urllib.request


def variable(name: str) -> str:
    return os.environ["HOROVOD_" + name]


def ask(method: str, scope: str, key: str, data: bytes | None = None) -> bytes:
    server = f"{variable('GLOO_RENDEZVOUS_ADDR')}:{variable('GLOO_RENDEZVOUS_PORT')}"
    where = f"http://{server}/{scope}/{key}"
    request = urllib.request.Request(where, data=data, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        told: bytes = answer.read()
    return told


def read(scope: str, key: str) -> bytes:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            return ask("GET", scope, key)
        except urllib.error.HTTPError:
            time.sleep(0.05)
    sys.exit(f"rank {key} of scope {scope} did not come")


def meet(scope: str, rank: str, size: str) -> list[str]:
    ask("PUT", scope, rank, f"rank {variable('RANK')}".encode())
    return [read(scope, str(one)).decode() for one in range(int(size))]


every = meet("global", variable("RANK"), variable("SIZE"))
meet("local_" + variable("HOSTNAME"), variable("LOCAL_RANK"), variable("LOCAL_SIZE"))
meet("cross_" + variable("LOCAL_RANK"), variable("CROSS_RANK"), variable("CROSS_SIZE"))
sys.stdout.write(f"met {', '.join(every)} over {variable('CONTROLLER')}\n")
sys.stdout.flush()
if sys.argv[1:] == [variable("RANK")]:
    sys.exit(3)
if sys.argv[1:]:
    time.sleep(600)
