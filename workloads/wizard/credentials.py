"""Credentials in the form: which can be chosen where, and who may make one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from assets.credentials.choices import Offered
from assets.credentials.references import PULL, VARIABLES, naming
from assets.credentials.types import serves
from assets.credentials.within import maker
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.drivers.facts import FieldNote
from gangline.spec.problems import Role

NONE_FITS = (
    "This project has no suitable credential, and you may not create one. The Credentials page "
    "lists whom to ask. Your own credentials work for variables and images only."
)


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
        if self.scope is not None and not self._may_create:
            for path, (_, attributes) in naming().items():
                if path in (PULL, VARIABLES) or any(
                    found[path].choices.get(one.path) for one in attributes
                ):
                    continue
                if any(one.required for one in attributes):
                    found[path] = replace(found[path], help=NONE_FITS)
                else:
                    hints = dict.fromkeys((one.path for one in attributes), NONE_FITS)
                    found[path] = replace(found[path], hints=hints)
        if self.takes_others and (told := self._attached(image)):
            found[PULL] = replace(found.get(PULL, FieldNote()), help=told)
        return found

    def makers(self, role: Role) -> dict[str, tuple[str, str]]:
        """Buttons that make a credential, where the person may."""
        if not self._may_create:
            return {}
        return {path: maker(role, path) for path in naming()}

    @cached_property
    def _may_create(self) -> bool:
        scope = self.scope
        return scope is not None and can(self.user, Permission.CREDENTIAL_CREATE, scope)

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
        return f"Used automatically for images of their registry: {named}."
