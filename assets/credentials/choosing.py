"""Credentials that can be named at a place, as the choices of the controls that name one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assets.credentials import store
from assets.credentials.references import naming
from assets.models import Credential
from gangline.accounts.models import User
from gangline.drivers.facts import Choice, FieldNote
from gangline.scopes.models import Scope
from gangline.spec.base import NamesCredential


@dataclass(frozen=True)
class Offered:
    """What can be named in ``scope``: its credentials, those above it, and the user's own."""

    user: User | None
    scope: Scope | None

    @cached_property
    def known(self) -> Sequence[Credential]:
        if self.scope is None:
            return ()
        rows = store.usable(self.scope, self.user).select_related("scope")
        return list(rows.order_by("name"))

    def choices(self, notes: Mapping[str, FieldNote]) -> dict[str, FieldNote]:
        """``notes`` with what can be chosen, by path of the list that names a credential."""
        found = dict(notes)
        for path, (field, attributes) in naming().items():
            note = found.get(path, FieldNote())
            choices = dict(note.choices)
            for attribute in attributes:
                fit = list(self._fit(attribute.credential or NamesCredential()))
                if not fit:
                    continue
                choices[attribute.path] = [Choice(name, word) for name, word, _ in fit]
                key = f"{attribute.path.rpartition('.')[0]}.key"
                if field.attribute(key) is not None:
                    choices[key] = [
                        Choice(one, of=name) for name, _, named in fit for one in named.keys
                    ]
            found[path] = replace(note, choices=choices)
        return found

    def _fit(self, of: NamesCredential) -> Iterator[tuple[str, str, Credential]]:
        """Name, words and credential of each that may stand there."""
        for one in self.known:
            is_personal = one.owner_id is not None
            is_either = isinstance(of.is_personal, str)
            if not is_either and is_personal != bool(of.is_personal):
                continue
            if (of.kinds and one.kind not in of.kinds) or not (of.kinds or one.keys):
                continue
            whose = "yours" if is_personal and is_either else one.type.label
            yield (one.name if is_personal else one.object_name), f"{one.name} ({whose})", one
