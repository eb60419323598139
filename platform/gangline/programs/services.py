"""A new secret in the place of an old one."""

from typing import TypeVar

from gangline.access.actor import Actor
from gangline.accounts.models import ClientSecret
from gangline.db.clock import db_now
from gangline.resources import services
from gangline.resources.resource import Resource

S = TypeVar("S", bound=ClientSecret)


def renew_secret(resource: Resource[S], *, actor: Actor | None, obj: S) -> str:
    """The new secret; the old one and every token made with it are void from now on."""
    values = {"secret_hash": obj.renew(), "rotated_at": db_now()}
    services.update(resource, actor=actor, obj=obj, values=values)
    return obj.secret
