"""Whether a process of the bed does its work now."""

import contextlib

from gangline.clusters.drivers.kubernetes.client import Client, Unreachable

from .commands import command
from .kubeconfigs import access
from .layout import Layout
from .objects import LEASES
from .processes import answers

_LEADERS = {"mpi-operator": ("mpi-operator", "mpi-operator")}
"""Namespace and name of the lease of those that work only as leader and say it nowhere else."""


def is_ready(name: str, layout: Layout) -> bool:
    """Whether the process of this name answers, and leads where that is what counts."""
    if name not in _LEADERS:
        pki = layout.pki
        address = command(name, layout).ready
        return answers(address, authority=pki.path("ca.crt"), token=pki.token("admin"))
    with contextlib.closing(Client(access(layout, "admin"))) as client:
        try:
            lease = client.get(LEASES, *_LEADERS[name])
        except Unreachable:
            return False
        return lease.ok and bool(lease.body["spec"].get("holderIdentity"))


def forget_leader(name: str, layout: Layout) -> None:
    """Let a process that is started again lead at once, in place of the one that has ended."""
    if name not in _LEADERS:
        return
    as_admin = access(layout, "admin")
    with contextlib.closing(Client(as_admin)) as client, contextlib.suppress(Unreachable):
        lease = client.get(LEASES, *_LEADERS[name])
        if lease.ok:
            client.delete(LEASES, *_LEADERS[name], uid=lease.body["metadata"]["uid"])
