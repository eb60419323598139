"""Whether a process of the bed does its work now."""

import contextlib

from gangline.drivers.kubernetes.client import Client, Unreachable

from . import webhooks
from .commands import command
from .kubeconfigs import access
from .layout import Layout
from .objects import LEASES
from .pki import HARD_CODED
from .processes import answers

_LEADERS = {"mpi-operator": ("mpi-operator", "mpi-operator")}
"""Namespace and name of the lease of those that work only as leader and say it nowhere else."""


def is_ready(name: str, layout: Layout) -> bool:
    """Whether the process of this name answers, and leads where that is what counts."""
    if name not in _LEADERS:
        pki = layout.pki
        address = command(name, layout).ready
        is_up = answers(address, authority=pki.path("ca.crt"), token=pki.token("admin"))
        return is_up and all(_serves(url) for url in webhooks.addresses(name, layout))
    with contextlib.closing(Client(access(layout, "admin"))) as client:
        try:
            lease = client.get(LEASES, *_LEADERS[name])
        except Unreachable:
            return False
        return lease.ok and bool(lease.body["spec"].get("holderIdentity"))


def _serves(url: str) -> bool:
    """An operator says that it is ready before it serves its webhooks: 404 until then."""
    return answers(url, authority=HARD_CODED / "ca.crt")


def forget_leader(name: str, layout: Layout) -> None:
    """Let a process that is started again lead at once, in place of the one that has ended."""
    if name not in _LEADERS:
        return
    as_admin = access(layout, "admin")
    with contextlib.closing(Client(as_admin)) as client, contextlib.suppress(Unreachable):
        lease = client.get(LEASES, *_LEADERS[name])
        if lease.ok:
            client.delete(LEASES, *_LEADERS[name], uid=lease.body["metadata"]["uid"])
