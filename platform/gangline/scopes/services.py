"""Making the root of the scope tree."""

from django.db import transaction

from gangline.db.clock import db_now

from .models import Installation, Scope, ScopeKind


def found(*, name: str) -> Installation:
    """The installation and its tenant scope; the existing one when there is one already."""
    with transaction.atomic():
        existing = Installation.objects.select_related("scope").first()
        if existing is not None:
            return existing
        scope = Scope.objects.create(kind=ScopeKind.TENANT, parent=None, name=name[:63])
        return Installation.objects.create(name=name[:63], scope=scope, created_at=db_now())
