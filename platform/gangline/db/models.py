"""Leases of the processes, and the troubles that they report."""

from django.db import models


class Lease(models.Model):
    """The right of one process to play a role such as ``ticker`` or ``watcher:<cluster>``."""

    name = models.CharField(max_length=80, primary_key=True)
    owner = models.CharField(max_length=120)
    until = models.DateTimeField()
    fence = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class SystemNotice(models.Model):
    """A trouble of Gangline's own machinery; the row goes when it is over."""

    name = models.CharField(max_length=40, primary_key=True)
    """``message-service`` or ``workers``."""
    message = models.CharField(max_length=400)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return self.message
