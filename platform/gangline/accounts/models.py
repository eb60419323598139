"""Users, API tokens and sign-in links."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person or service that signs in. Rights come from rules, never from ``is_staff``."""

    class Kind(models.TextChoices):
        PERSON = "person", "Person"
        SERVICE = "service", "Service account"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    auth_version = models.PositiveIntegerField(default=1)
    """Raised when rights or the password change: open sockets look again."""
    preferences = models.JSONField(default=dict, blank=True)
    kind = models.CharField(max_length=7, choices=Kind.choices, default=Kind.PERSON)
    deactivated_at = models.DateTimeField(null=True)
    """Since when ``is_active`` is false."""


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


class SignInLink(models.Model):
    """A link that signs one person in, once. Only its SHA-256 is stored."""

    class Purpose(models.TextChoices):
        SIGN_IN = "sign-in", "Sign in"
        INVITE = "invite", "Set a password and sign in"

    secret_hash = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="sign_in_links")
    purpose = models.CharField(max_length=7, choices=Purpose.choices, default=Purpose.SIGN_IN)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}"
