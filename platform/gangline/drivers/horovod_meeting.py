"""Run by the Python of a workload: serves the meeting of Horovod's ranks, or joins it.

    serve HOSTS PORT [COMMAND …]    HOSTS as in n1:1,n2:1
    join ADDRESS PORT COMMAND …

Standard library, Horovod and old syntax only.
"""

import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

PATIENCE = 300.0
"""Seconds in which the server must be there: importing Horovod from a slow disk takes a while."""


def serve(hosts: str, port: int, command: "list[str]") -> None:
    places = importlib.import_module("horovod.runner.common.util.hosts")
    http = importlib.import_module("horovod.runner.http.http_server")
    slots = places.parse_hosts(hosts)
    plan = places.get_host_assignments(slots, sum(host.slots for host in slots))
    # RendezvousServer itself listens at a port by chance, which nobody else would know.
    server = http.RendezvousHTTPServer(("", port), http.RendezvousHandler, 0)
    server.init(plan)
    sys.stdout.write(f"Ranks of Horovod meet at port {port}: {hosts}\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if not command:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
        while True:
            signal.pause()
    child = subprocess.Popen(command)
    signal.signal(signal.SIGTERM, lambda number, frame: child.terminate())
    code = child.wait()
    sys.exit(code if code >= 0 else 128 - code)


def join(address: str, port: int, command: "list[str]") -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((address, port), 5).close()
            break
        except OSError as problem:
            if time.monotonic() > until:
                sys.exit(f"Horovod's rendezvous at {address}:{port}: {problem}")
            time.sleep(0.2)
    try:
        os.execvp(command[0], command)  # noqa: S606 - what people typed, with no shell in between
    except OSError as problem:
        sys.stderr.write(f"{command[0]}: {problem.strerror}\n")
        sys.exit(127 if isinstance(problem, FileNotFoundError) else 126)


if __name__ == "__main__":
    what, place, number = sys.argv[1:4]
    {"serve": serve, "join": join}[what](place, int(number), sys.argv[4:])
