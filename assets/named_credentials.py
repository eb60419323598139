"""Credentials of data sources by their ids, as clients of Run:ai give them; names are stored."""

from collections.abc import Mapping
from typing import Any

from assets.credentials import store
from assets.kinds import AssetKind
from assets.models import Asset, Credential
from gangline.lib.problems import Problem, Refused
from gangline.scopes.models import Scope

_IDS: Mapping[str, tuple[str, ...]] = {
    Asset.Kind.S3: ("accessKeyAssetId",),
    Asset.Kind.GIT: ("credentialId", "passwordAssetId"),
    Asset.Kind.SECRET: ("credentialAssetId",),
}
_SSH = "sshKey"


def with_names(kind: AssetKind, given: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """``given`` with the credential named as workloads name it; raises Refused for another."""
    found = dict(given)
    for name in _IDS.get(kind.key, ()):
        wanted = found.pop(name, None)
        if wanted is not None:
            found |= _named(kind, _credential(name, wanted, scope))
    return found


def _credential(name: str, wanted: Any, scope: Scope) -> Credential:
    rows = {str(one.pk): one for one in store.usable(scope, None)}
    credential = rows.get(str(wanted).lower())
    if credential is None:
        params = {"value": str(wanted)[:60]}
        raise Refused([Problem("options:no_credential", f"spec.{name}", params)])
    return credential


def _named(kind: AssetKind, credential: Credential) -> dict[str, Any]:
    secret = credential.object_name
    if kind.key == Asset.Kind.S3:
        return {"accessKeySecret": secret}
    if kind.key == Asset.Kind.SECRET:
        return {"secret": secret}
    method = "ssh-key" if credential.kind == _SSH else "password"
    return {"secretRef": {"name": secret, "authenticationMethod": method}}
