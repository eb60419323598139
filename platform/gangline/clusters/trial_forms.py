"""The button of a form that tests what is typed, and stores nothing."""

from collections.abc import Sequence

from django.forms.utils import ErrorDict

from gangline.drivers.trials.places import Failed, Outcome, Place
from gangline.lib.problems import Problem
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope
from gangline.scopes.selectors import tenant_scope

from . import trials


class Tested(ResourceForm):
    """``outcome``: how the test went, once there was one."""

    outcome: Outcome | None = None
    found: Sequence[Problem] = ()

    @property
    def can_test(self) -> bool:
        """Whether the button is there."""
        return not self.is_edit

    def to_try(self, scope: Scope) -> Place:
        """What to try. Raises Failed where what is typed cannot be."""
        raise NotImplementedError

    def pressed(self, button: str) -> bool:
        if button != trials.TEST or not self.can_test:
            return super().pressed(button)
        self.is_valid()
        scope = self._scope()
        if scope is None:
            self.outcome = Failed("scope").outcome
        else:
            subject = trials.Subject(self.resource, scope, self.data.get("name", ""))
            self.outcome = trials.tested(self.actor, subject, lambda: self.to_try(scope))
        # Nobody asked yet whether it could be stored.
        self.found, self._errors = (), ErrorDict()
        return True

    def _scope(self) -> Scope | None:
        """Where it would hold: one of those that may be chosen, or the only one."""
        if "scope" in self.fields and not self.is_edit:
            chosen: Scope | None = self.cleaned_data.get("scope")
            return chosen
        pk = self.instance.scope_id or self.initial.get("scope")
        return Scope.objects.get(pk=pk) if pk else tenant_scope()
