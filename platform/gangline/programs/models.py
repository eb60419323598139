"""The two uses of a client secret, told apart by whose it is."""

from datetime import datetime
from typing import Any, ClassVar

from django.db import models

from gangline.accounts.models import ClientSecret, User


class Live(models.Manager[ClientSecret]):
    """Client secrets of one kind of user that were not revoked."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def get_queryset(self) -> models.QuerySet[ClientSecret]:
        return super().get_queryset().filter(user__kind=self.kind, revoked_at=None)


class ServiceAccount(ClientSecret):
    """A user of its own that no person signs in as. It gets roles by access rules, as people do."""

    objects: ClassVar[Any] = Live(User.Kind.SERVICE)

    class Meta:
        proxy = True
        verbose_name = "service account"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.user_id is None:
            self.user = User(username=self.name, kind=User.Kind.SERVICE)
            self.user.set_unusable_password()
            self.user.save()
        super().save(*args, **kwargs)

    @property
    def status(self) -> str:
        return "Enabled" if self.user.is_active else "Disabled"

    @property
    def changed_at(self) -> datetime:
        """When a person last changed it."""
        times = (self.created_at, self.rotated_at, self.user.deactivated_at)
        return max(time for time in times if time is not None)


class AccessKey(ClientSecret):
    """Lets programs of a person sign in with the person's own rights."""

    objects: ClassVar[Any] = Live(User.Kind.PERSON)

    class Meta:
        proxy = True
        verbose_name = "access key"
