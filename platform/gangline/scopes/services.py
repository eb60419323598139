"""Making the scope tree: the installation, and the scope of whatever is made below it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction

from gangline.db.clock import db_now

from .models import Installation, Scope, ScopeKind


class NameRefused(ValueError):
    """The name is malformed, reserved or taken, in a sentence."""


def found(*, name: str) -> Installation:
    """The installation and its tenant scope; the existing one when there is one already."""
    with transaction.atomic():
        existing = Installation.objects.select_related("scope").first()
        if existing is not None:
            return existing
        scope = Scope.objects.create(kind=ScopeKind.TENANT, parent=None, name=name[:63])
        return Installation.objects.create(name=name[:63], scope=scope, created_at=db_now())


@contextmanager
def new_scope(kind: ScopeKind, parent_id: int, name: str, taken: str) -> Iterator[Scope]:
    """The scope of what the block makes, all or nothing; ``taken`` is said of a name in use."""
    try:
        with transaction.atomic():
            yield Scope.objects.create(kind=kind, parent_id=parent_id, name=name)
    except IntegrityError as error:
        raise NameRefused(taken) from error
