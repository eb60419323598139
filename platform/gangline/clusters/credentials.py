"""How Gangline signs in to clusters: sealed in the database, opened only to connect.

Nothing here returns a secret except `access_of`, which no page calls.
"""

import json
from typing import Any

from gangline.accounts.models import User
from gangline.db.clock import db_now
from gangline.db.sealed import key_file
from gangline.lib.sealing import CannotOpen, CannotSeal

from .models import Cluster, Credential


class NoCredential(Exception):
    """There is none, or it cannot be opened, in words."""


def store(cluster: Cluster, access: Any, *, by: User | None) -> Credential:
    """Seal and keep an access that was found fit; one that was there is replaced.

    Every process connects anew then. Raises CannotSeal.
    """
    kind, now = cluster.engine, db_now()
    identity = kind.identity(access)
    text = json.dumps(kind.as_json(access))
    sealed = key_file().keyring().seal(_context(cluster), text)
    credential, _ = Credential.objects.update_or_create(
        cluster=cluster,
        defaults={
            "sealed": sealed,
            "identity": identity.kind,
            "identity_name": identity.name[:255],
            "server": identity.server,
            "fingerprint": identity.fingerprint,
            "ends_at": identity.ends_at,
            "added_at": now,
            "added_by": by,
        },
    )
    cluster.credential_at = now
    cluster.save(update_fields=["credential_at"])
    return credential


def access_of(cluster: Cluster) -> Any:
    """What the driver connects with. Raises NoCredential."""
    sealed = _sealed(cluster)
    while True:
        try:
            return cluster.engine.from_json(json.loads(_opened(cluster, sealed)))
        except (CannotOpen, CannotSeal) as why:
            # Between the row and the file its key may have been changed, and the old one removed.
            sealed, before = _sealed(cluster), sealed
            if sealed == before:
                raise NoCredential(
                    f"The credential of {cluster.name} cannot be opened. {why} Restore the key "
                    f"file, or replace the credential."
                ) from None


def _sealed(cluster: Cluster) -> str:
    sealed = Credential.objects.filter(cluster=cluster).values_list("sealed", flat=True).first()
    if sealed is None:
        raise NoCredential(f"Cluster {cluster.name} has no credential. Add one on its page.")
    return sealed


def _opened(cluster: Cluster, sealed: str) -> str:
    return key_file().keyring().open(_context(cluster), sealed)


def _context(cluster: Cluster) -> str:
    return f"cluster/{cluster.pk}"
