"""Credentials that can be named at a place, as the choices of the controls that name one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assets.credentials import store
from assets.credentials.references import naming, references
from assets.credentials.types import PREFIXES
from assets.models import Credential
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.drivers.facts import Choice, FieldNote
from gangline.scopes.models import Scope, ScopeKind
from gangline.scopes.selectors import scopes_to
from gangline.spec.base import NamesCredential
from gangline.spec.problems import Problem, Role

SECRETS = "storage.secretVolume"


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


def unknown(values: Mapping[str, Any], scope: Scope) -> Iterator[Problem]:
    """References of what is made in ``scope`` to credentials that are not known there.

    Where clusters take Secrets of others, any name may be one that does not begin as ours do. A
    data source that is a Secret is looked for, and says itself where it is missing.
    """
    given = {f"{Role.WORKER}.{path}": value for path, value in values.items()}
    named = [one for one in references(given) if not one.is_personal]
    if not named:
        return
    known = set(store.usable(scope, None).values_list("object_name", flat=True))
    line = [one.pk for one in scopes_to(scope)]
    clusters = Cluster.objects.filter(scope__in=line)
    clusters = clusters if scope.kind != ScopeKind.TENANT else Cluster.objects.all()
    takes_others = any(one.engine.keeps_secrets for one in clusters)
    for one in named:
        may_be_others = takes_others or one.field.path == SECRETS
        if one.name in known or (may_be_others and not one.name.startswith(PREFIXES)):
            continue
        yield Problem.of(
            one.role, one.path, "options:credential_here", value=one.name,
            accepted="the name of such a credential", label=one.attribute.label,
        )  # fmt: skip
