"""The bed's users, as Gangline takes them and as kubeconfigs that hold everything in themselves."""

import base64
import json
from typing import Any

from gangline.drivers.kubernetes.access import ClusterCredentials

from .layout import Layout

USERS = ("admin", "gangline")
"""The first may do everything; the second what Gangline's own role says."""


def access(layout: Layout, user: str) -> ClusterCredentials:
    """How this user talks to the bed's API server."""
    return ClusterCredentials(
        server=layout.server,
        certificate_authority=layout.pki.text("ca.crt"),
        token=layout.pki.token(user),
    )


def kubeconfig(access: ClusterCredentials, user: str) -> str:
    """The text of a kubeconfig for one user; it refers to no file.

    https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
    """
    authority = base64.b64encode(access.certificate_authority.encode()).decode()
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "bed",
                "cluster": {
                    "server": access.server,
                    "certificate-authority-data": authority,
                },
            }
        ],
        "users": [{"name": user, "user": {"token": access.token}}],
        "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": user}}],
        "current-context": "bed",
    }
    # JSON is YAML too.
    return json.dumps(config, indent=2) + "\n"


def write_kubeconfigs(layout: Layout) -> None:
    """Write ``<user>.kubeconfig`` for each user into the bed's folder."""
    for user in USERS:
        path = layout.folder / f"{user}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(kubeconfig(access(layout, user), user))
