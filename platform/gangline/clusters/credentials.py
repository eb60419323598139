"""How Gangline signs in to clusters: sealed in the database, opened only to connect.

Nothing here returns a secret except `access_of`, which no page calls.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from gangline.accounts.models import User
from gangline.db.clock import db_now
from gangline.lib.sealing import CannotOpen, CannotSeal, KeyFile, Keyring, key_of

from .models import Cluster, Credential

BATCH = 100


class NoCredential(Exception):
    """There is none, or it cannot be opened, in words."""


class StillUsed(Exception):
    """The key seals credentials, so it cannot go; with the number of them."""


def key_file() -> KeyFile:
    """The file of the keys of this installation."""
    known = settings.GANGLINE
    return _key_file(known.sealing_keys, known.keys_file is None)


@cache
def _key_file(path: Path, may_make: bool) -> KeyFile:
    return KeyFile(path, may_make=may_make)


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
                    f"The credential of {cluster.name} cannot be opened. {why} Put the key file"
                    " back, or give the credential again."
                ) from None


def _sealed(cluster: Cluster) -> str:
    sealed = Credential.objects.filter(cluster=cluster).values_list("sealed", flat=True).first()
    if sealed is None:
        raise NoCredential(f"There is no credential for {cluster.name}. Give one on its page.")
    return sealed


def counts() -> dict[str, int]:
    """How many credentials each key seals."""
    found: dict[str, int] = {}
    for sealed in Credential.objects.values_list("sealed", flat=True).iterator():
        found[key_of(sealed)] = found.get(key_of(sealed), 0) + 1
    return found


def reseal() -> Iterator[int]:
    """Bring every credential under the current key; yields how many were done so far.

    May be stopped and begun again anywhere. A credential that is replaced meanwhile stays replaced.
    Raises CannotOpen, naming the cluster, for one that no key opens.
    """
    keyring, done = key_file().keyring(), 0
    for row in _elsewhere(keyring):
        try:
            sealed = keyring.resealed(_context(row.cluster), row.sealed)
        except CannotOpen as why:
            raise CannotOpen(f"The credential of {row.cluster.name}: {why}") from why
        done += Credential.objects.filter(pk=row.pk, sealed=row.sealed).update(sealed=sealed)
        yield done


def retire(kid: str) -> None:
    """Forget a key that seals nothing. Raises StillUsed or CannotSeal."""
    _refuse_used(kid)
    line = key_file().remove(kid)
    try:
        # Who read the old file a moment ago may just have sealed with it.
        _refuse_used(kid)
    except StillUsed:
        key_file().put_back(line)
        raise


def _refuse_used(kid: str) -> None:
    used = counts().get(kid, 0)
    if used:
        some = "1 credential is" if used == 1 else f"{used} credentials are"
        raise StillUsed(f"{some} sealed with {kid}. Run gangline-manage keys rotate first.")


def _elsewhere(keyring: Keyring) -> Iterator[Credential]:
    """Credentials under other keys, in small batches, so that nothing is held for long."""
    last = None
    while True:
        rows = Credential.objects.select_related("cluster").order_by("pk")
        rows = rows.exclude(sealed__startswith=f"v1.{keyring.current}.")
        batch = list((rows.filter(pk__gt=last) if last else rows)[:BATCH])
        yield from batch
        if len(batch) < BATCH:
            return
        last = batch[-1].pk


def _opened(cluster: Cluster, sealed: str) -> str:
    return key_file().keyring().open(_context(cluster), sealed)


def _context(cluster: Cluster) -> str:
    return f"cluster/{cluster.pk}"
