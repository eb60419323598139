"""Users, API tokens, what programs sign in with, and sign-in links."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person or service that signs in. Rights come from grants, never from ``is_staff``."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    auth_version = models.PositiveIntegerField(default=1)
    """Raised when rights or the password change: open sockets look again."""
    preferences = models.JSONField(default=dict, blank=True)


class ApiToken(models.Model):
    """A bearer token: ``gangline_<kid>_<secret>``. Only the SHA-256 of the secret is stored."""

    kid = models.CharField(max_length=16, primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=63)
    secret_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class ClientSecret(models.Model):
    """A client id and a secret, exchanged for short-lived tokens. Only the SHA-256 is stored.

    Of a service account it is the way to sign in; of a person, an access key.
    """

    client_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="client_secrets")
    name = models.CharField(max_length=63)
    secret_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    rotated_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"],
                condition=models.Q(revoked_at=None),
                name="client_secret_name",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class TokenSession(models.Model):
    """One sign-in by ``POST /api/v1/token``: its tokens name it and are void once it is gone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="token_sessions")
    client = models.ForeignKey(ClientSecret, models.CASCADE, null=True, related_name="sessions")
    """None: signed in by password."""
    password_mark = models.CharField(max_length=128, blank=True)
    """Changes with the password; empty for a client secret."""
    refreshed = models.PositiveIntegerField(default=0)
    """How often. A refresh token holds this number and is good for one use."""
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"tokens of {self.user}"

    @property
    def kid(self) -> str:
        """What the audit log names it by, as it does an API token."""
        return (self.client_id or self.pk).hex[:16]


class SignInLink(models.Model):
    """A link that signs one person in, once, within minutes. Only its SHA-256 is stored."""

    secret_hash = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="sign_in_links")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}"
