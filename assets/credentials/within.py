"""A credential that is made within another form, and comes back chosen in it.

Its page stands in for that of the form, whose texts go along unseen: nothing of it is stored yet.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import Http404, QueryDict

from assets.credentials.choices import Offered
from assets.credentials.forms import CredentialForm
from assets.credentials.references import PULL, VARIABLES, naming
from assets.credentials.types import EXISTING, TYPES
from gangline.access.actor import Actor
from gangline.access.grants import visible_scopes
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.drivers.facts import FieldNote
from gangline.lib.problems import Refused
from gangline.resources import services
from gangline.resources.forms import Redrawn, ResourceForm
from gangline.resources.registry import get
from gangline.scopes.models import Scope
from gangline.scopes.selectors import scopes_to
from gangline.spec.problems import Role
from gangline.spec_forms.form_actions import FormAction
from gangline.spec_forms.raw import CHOICE, RoleInputs, Row, new_row_id

CREDENTIAL = "credential"
NEW, LEAVE = "new", "leave"
"""Verbs of the buttons that open the page and go back from it."""
OUTER, FOR = "_outer", "_for"
"""Names that go along: what the other form holds, and the list that the credential is for."""
TEMPLATE = "assets/new_credential.html"
_METHOD, _SSH = "secretRef.authenticationMethod", "ssh-key"


def maker(role: Role, path: str) -> tuple[str, str]:
    """The button beside a list, or a control, that makes what it names: its value and words."""
    return f"{NEW}:{role}.{CREDENTIAL}.{path}", get(CREDENTIAL).create_label


def types_for(path: str) -> list[str]:
    """The types of which a credential beside the list can be."""
    _, (attribute, *_) = naming()[path]
    kinds = attribute.credential.kinds if attribute.credential else ()
    pulls = path == PULL
    return [t.key for t in TYPES.values() if (t.key in kinds if kinds else t.pulls == pulls)]


def form_for(
    path: str, place: Scope, actor: Actor, data: QueryDict | None = None
) -> CredentialForm:
    """The form of a credential for rows of ``path``, that can be used at ``place``."""
    resource = get(CREDENTIAL)
    form: CredentialForm = resource.form_class(
        data, resource=resource, actor=actor, initial={"scope": place.pk}
    )
    form.offer(types_for(path))
    narrow(form, place)
    return form


def narrow(form: ResourceForm, place: Scope) -> None:
    """Only what is needed, and only scopes in which ``place`` lies."""
    for name in ("description", "framework", EXISTING):
        form.fields.pop(name, None)
    scopes = form.fields["scope"]
    line = [scope.pk for scope in scopes_to(place)]
    scopes.queryset = scopes.queryset.filter(pk__in=line)  # type: ignore[attr-defined]
    if scopes.queryset.count() < 2:  # type: ignore[attr-defined]
        del form.fields["scope"]


def texts_of(path: str, made: Any) -> dict[str, str]:
    """What a row of ``path`` says to name the credential."""
    _, (attribute, *_) = naming()[path]
    texts = {attribute.path: made.object_name}
    if path == VARIABLES:
        texts |= {CHOICE: "secret", "secret.key": next(iter(made.keys), "")}
    if attribute.path.startswith("secretRef.") and "ssh" in made.keys:
        texts[_METHOD] = _SSH
    return texts


def chosen(inputs: RoleInputs, path: str, made: Any) -> RoleInputs:
    """``inputs`` with a row that names the new credential: the last one that names none, if what
    it says is more than the name, or one of its own."""
    _, (attribute, *_) = naming()[path]
    texts = texts_of(path, made)
    rows = list(inputs.lists.get(path, ()))
    open_ = [
        n for n, row in enumerate(rows) if not row.removed and not row.texts.get(attribute.path)
    ]
    if open_ and path not in (VARIABLES, PULL):
        rows[open_[-1]] = replace(rows[open_[-1]], texts={**rows[open_[-1]].texts, **texts})
    else:
        rows.append(Row(new_row_id(), texts))
    return inputs.with_rows(path, rows)


class MakesCredentials(ResourceForm):
    """A form that names credentials, with a button that makes one where the person may."""

    inner: CredentialForm
    """The form of the credential, while its page stands in."""

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        is_inside = isinstance(data, QueryDict) and OUTER in data
        self._inside: QueryDict | None = data if is_inside else None
        super().__init__(QueryDict(data[OUTER]) if is_inside else data, *args, **kwargs)

    @property
    def where(self) -> Scope | None:
        """Where what the form makes will hold: a credential must be known there."""
        raise NotImplementedError

    def take(self, role: Role, path: str, made: Any) -> str:
        """Name the credential in the list; the id of the control that now has it."""
        raise NotImplementedError

    def nothing_is_wrong(self) -> None:
        """Forget what was judged: nothing was sent yet."""
        raise NotImplementedError

    def with_choices(self, notes: Mapping[str, FieldNote] | None = None) -> dict[str, FieldNote]:
        """``notes`` with the credentials that can be named there."""
        return Offered(None, self.where).choices(notes or {})

    def makers(self, role: Role) -> dict[str, tuple[str, str]]:
        return {path: maker(role, path) for path in naming()} if self._may_make() else {}

    def pressed(self, button: str) -> bool:
        if self._inside is not None:
            self._within(self._inside, button)
            return True
        form_action = FormAction.of(button)
        if form_action.verb != NEW:
            return super().pressed(button)
        self._open(form_action.what, None)
        return True

    @property
    def carried(self) -> str:
        """Everything that the form holds, as it was sent."""
        if not isinstance(self.data, QueryDict):
            raise TypeError("a form that makes credentials is posted by a browser")
        data = self.data.copy()
        for name in ("csrfmiddlewaretoken", "_go"):
            data.pop(name, None)
        return data.urlencode()

    @property
    def carried_for(self) -> str:
        return f"{self._role}.{CREDENTIAL}.{self._path}"

    def _may_make(self) -> bool:
        """Whether the person may make a credential that is known where this form's object holds."""
        if self.where is None:
            return False
        line = [scope.pk for scope in scopes_to(self.where)]
        held = visible_scopes(self.actor.user, Permission.CREDENTIAL_CREATE)
        return bool(held.filter(pk__in=line).exists())

    def _open(self, what: str, data: QueryDict | None) -> None:
        role, _, path = what.partition(f".{CREDENTIAL}.")
        place = self.where
        if path not in naming() or role not in (Role.WORKER, Role.MASTER) or place is None:
            raise Http404
        self._role, self._path = Role(role), path
        self.inner = form_for(path, place, self.actor, data)
        self.redrawn = Redrawn(template=TEMPLATE)

    def _within(self, data: QueryDict, button: str) -> None:
        """What was pressed on the page of the credential."""
        self.nothing_is_wrong()
        self._open(data.get(FOR, ""), data)
        if FormAction.of(button).verb == LEAVE:
            self.redrawn = Redrawn()
            return
        if self.inner.pressed(button):
            return
        made = self._made() if self.inner.is_valid() else None
        if made is None:
            self.redrawn = Redrawn(template=TEMPLATE, status=422)
            return
        self.focus = self.take(self._role, self._path, made)
        self.redrawn = Redrawn(told=f"{made} was created.")

    def _made(self) -> Any:
        """What was stored; None where the form of the credential now says why nothing was."""
        values = {"scope": self.where, **self.inner.values()}
        try:
            return services.create(get(CREDENTIAL), actor=self.actor, values=values).obj
        except Refused as refused:
            self.inner.refuse(refused.problems)
        except NotAllowed as refusal:
            self.inner.add_error(None, refusal.sentence)
        return None
