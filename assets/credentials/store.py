"""Sealing and opening the values of credentials, and which of them hold for whom.

Nothing here returns a value except `data_of`, which is called only to hand it to what runs.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Q, QuerySet
from pydantic import ValidationError

from assets.credentials.types import EXISTING, CredentialType, ExistingSecret, Values
from assets.models import Credential
from gangline.accounts.models import User
from gangline.db.clock import db_now
from gangline.db.sealed import key_file
from gangline.lib.problems import Problem, Refused, of_model
from gangline.lib.sealing import CannotOpen, CannotSeal
from gangline.scopes.models import Scope
from gangline.scopes.selectors import scopes_to


class CannotUse(Exception):
    """The values of a credential cannot be opened, in words why."""


def read(kind: CredentialType, given: Mapping[str, Any]) -> Values:
    """The values as the type declares them, or the Secret of others that is named in their place.

    Raises Refused, without any of them.
    """
    model: type[Values] = kind.model
    if given.get(EXISTING):
        if kind.existing is None:
            raise Refused([Problem("existing:type", EXISTING)])
        model, own = kind.existing, _own_values(kind)
        both = [name for name in own if given.get(name)]
        pairs = given.get("keyValuePairs")
        both += [
            f"keyValuePairs.{number}.value"
            for number, pair in enumerate(pairs if isinstance(pairs, list) else ())
            if isinstance(pair, Mapping) and pair.get("value")
        ]
        if both:
            raise Refused([Problem("existing:values", name) for name in both])
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise Refused([_worded(one) for one in of_model(error)]) from None


def keep(credential: Credential, values: Values) -> None:
    """Seal the values into the row, which is not saved here. Raises CannotSeal."""
    plain = values.model_dump(by_alias=True)
    if isinstance(values, ExistingSecret):
        credential.is_ours, credential.object_name = False, values.existing_secret_name
        credential.shown = credential.type.shown(plain)
        return
    credential.sealed = key_file().keyring().seal(credential.context, json.dumps(plain))
    credential.shown = credential.type.shown(plain)
    credential.rotated_at = db_now()


def data_of(credential: Credential) -> Mapping[str, str]:
    """What the Secret of the credential holds. Raises CannotUse."""
    if not credential.is_ours:
        raise CannotUse(
            f"The values of {credential.name} are in the Secret {credential.object_name}, which"
            " Gangline does not read."
        )
    sealed = credential.sealed
    while True:
        try:
            plain = json.loads(key_file().keyring().open(credential.context, sealed))
        except (CannotOpen, CannotSeal) as why:
            # Between the row and the file its key may have been changed, and the old one removed.
            rows = Credential.objects.filter(pk=credential.pk)
            before, sealed = sealed, rows.values_list("sealed", flat=True).first() or ""
            if sealed == before:
                raise CannotUse(
                    f"The credential {credential.name} cannot be opened. {why} Restore the key "
                    f"file, or enter its values again."
                ) from None
        else:
            return credential.type.data(plain)


def usable(scope: Scope, owner: User | None) -> QuerySet[Credential]:
    """Those that workloads of ``owner`` in a project may use: of its scope and above, and own."""
    line = [one.pk for one in scopes_to(scope)]
    return Credential.objects.filter(Q(scope__in=line, owner=None) | _own(owner))


def by_name(credentials: Iterable[Credential]) -> dict[str, Credential]:
    """Each by the name that workloads use: its Secret's, or its own where it is personal."""
    return {(one.name if one.owner_id else one.object_name): one for one in credentials}


def _own_values(kind: CredentialType) -> Iterable[str]:
    """Names of values that a Secret of others has in itself."""
    return sorted(_names(kind.model) - _names(kind.existing or Values))


def _names(model: type[Values]) -> set[str]:
    return {str(info.alias or name) for name, info in model.model_fields.items()}


def _own(owner: User | None) -> Q:
    return Q(owner=owner) if owner is not None else Q(pk__in=())


def _worded(problem: Problem) -> Problem:
    if problem.code == "missing":
        return Problem("required", problem.path)
    return problem
