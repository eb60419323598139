"""Who was let in to a tool of a workload, and from which session of theirs."""

from django.conf import settings
from django.db import models


class ToolPass(models.Model):
    """One ticket, or what it was changed for at the tool's own address.

    The secret itself is kept by the browser alone.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    is_ticket = models.BooleanField()
    """Good once, to get what is good for longer."""
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    workload = models.ForeignKey("workloads.Workload", models.CASCADE, related_name="+")
    tool = models.CharField(max_length=24)
    session_key = models.CharField(max_length=40)
    """Of Gangline: whoever signs out there is out here."""
    password_mark = models.CharField(max_length=64)
    """Changes with the person's password."""
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{'ticket' if self.is_ticket else 'pass'} to {self.tool} of {self.workload_id}"
