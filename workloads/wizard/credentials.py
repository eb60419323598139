"""Credentials in the form: which can be chosen where, and a new one that comes back chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assets.credentials.choosing import Offered
from assets.credentials.references import naming
from assets.credentials.types import TYPES, serves
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.drivers.facts import FieldNote
from gangline.resources.registry import get
from gangline.spec.problems import Role
from gangline.spec_forms.raw import CHOICE, RoleInputs, Row, new_row_id
from workloads.services.credentials import PULL, VARIABLES

CREDENTIAL = "credential"
MADE_FOR = tuple(naming())
"""Lists beside which a credential can be made."""
_METHOD, _SSH = "secretRef.authenticationMethod", "ssh-key"


@dataclass(frozen=True)
class Choosable(Offered):
    """What ``user`` may name in a project, whose cluster may take Secrets of others too."""

    user: User
    takes_others: bool = False

    @property
    def unsupported(self) -> Mapping[str, str]:
        """Sources that a row need not offer: there is nothing to choose."""
        found = {}
        if not any(one.owner_id for one in self.known):
            found[f"{VARIABLES}.userCredential"] = "You have no credentials of your own."
        if not self.takes_others and all(one.owner_id for one in self.known):
            found[f"{VARIABLES}.secret"] = "This project has no credentials."
        return found

    def notes(self, notes: Mapping[str, FieldNote], image: str) -> dict[str, FieldNote]:
        """``notes`` of the cluster with what can be named, and what pods get by themselves."""
        found = self.choices(notes)
        if self.takes_others and (told := self._attached(image)):
            found[PULL] = replace(found.get(PULL, FieldNote()), help=told)
        return found

    def makers(self, role: Role, verb: str) -> dict[str, tuple[str, str]]:
        """Buttons that make a credential, where the person may."""
        if self.scope is None or not can(self.user, Permission.CREDENTIAL_CREATE, self.scope):
            return {}
        label = get(CREDENTIAL).create_label
        return {path: (f"{verb}:{role}.{CREDENTIAL}.{path}", label) for path in MADE_FOR}

    def _attached(self, image: str) -> str:
        """Which logins pods get without being asked for."""
        shared = [one for one in self.known if one.type.pulls and one.owner_id is None]
        if image:
            shared = [one for one in shared if serves(one.shown["url"], image)]
        if not shared:
            return ""
        named = ", ".join(
            f"{one.name} for {one.shown['url']} ({one.scope.title})" for one in shared
        )
        return f"Attached by themselves to images of their registry: {named}."


def types_for(path: str) -> list[str]:
    """The types of which a credential beside the list can be."""
    _, (attribute, *_) = naming()[path]
    kinds = attribute.credential.kinds if attribute.credential else ()
    pulls = path == PULL
    return [t.key for t in TYPES.values() if (t.key in kinds if kinds else t.pulls == pulls)]


def chosen(inputs: RoleInputs, path: str, made: Any) -> RoleInputs:
    """``inputs`` with a row that names the new credential: the last one that names none, if what
    it says is more than the name, or one of its own."""
    _, (attribute, *_) = naming()[path]
    texts = {attribute.path: made.object_name}
    if path == VARIABLES:
        texts |= {"name": "", CHOICE: "secret", "secret.key": next(iter(made.keys), "")}
    if attribute.path.startswith("secretRef.") and "ssh" in made.keys:
        texts[_METHOD] = _SSH
    rows = list(inputs.lists.get(path, ()))
    open_ = [
        n for n, row in enumerate(rows) if not row.removed and not row.texts.get(attribute.path)
    ]
    if open_ and path not in (VARIABLES, PULL):
        rows[open_[-1]] = replace(rows[open_[-1]], texts={**rows[open_[-1]].texts, **texts})
    else:
        rows.append(Row(new_row_id(), texts))
    return inputs.with_rows(path, rows)
