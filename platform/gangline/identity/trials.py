"""Testing an identity provider: whether it describes itself, and has keys that sign."""

from typing import Any

from django.core.exceptions import ValidationError

from gangline.clusters import trial_views
from gangline.clusters.trials import Subject, tested
from gangline.drivers.trials.places import Failed, Issuer, Outcome
from gangline.scopes.selectors import tenant_scope

from .models import issuer_address


def place_of(issuer: str) -> Issuer:
    """Where a provider is tried. Raises drivers' Failed for what is no address."""
    try:
        issuer_address(issuer)
    except ValidationError as error:
        raise Failed("values", said=error.messages[0].rstrip(".")) from None
    return Issuer(issuer)


class TestView(trial_views.TestView):
    def outcome(self, obj: Any) -> Outcome | None:
        subject = Subject(self.resource, tenant_scope(), obj.name, self.resource.id_of(obj))
        return tested(self.actor, subject, lambda: place_of(obj.issuer))
