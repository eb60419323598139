"""Users, API tokens and sign-in links."""

import re
import uuid

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from gangline.db.versioned import Versioned

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._@%+-]{0,148}[A-Za-z0-9])?\Z")


def user_name(name: str) -> None:
    """Raise ValidationError for what nobody can be called."""
    if not _NAME.match(name):
        raise ValidationError(
            "1 to 150 letters, digits, dots, dashes, underscores, @, %%, + or spaces.",
            "name",
            {"value": name},
        )


class User(AbstractUser, Versioned):
    """A person or service that signs in. Rights come from rules, never from ``is_staff``."""

    class Kind(models.TextChoices):
        PERSON = "person", "Person"
        SERVICE = "service", "Service account"

    first_name = last_name = date_joined = description = None  # type: ignore[assignment]
    username = models.CharField(
        "user name",
        max_length=150,
        unique=True,
        validators=[user_name],
        error_messages={"unique": "There is already a user of this name."},
    )
    full_name = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    auth_version = models.PositiveIntegerField(default=1, editable=False)
    """Raised when rights or the password change: open sockets look again."""
    preferences = models.JSONField(default=dict, blank=True, editable=False)
    kind = models.CharField(max_length=7, choices=Kind.choices, default=Kind.PERSON, editable=False)
    deactivated_at = models.DateTimeField(null=True, editable=False)
    """Since when ``is_active`` is false."""
    signed_out_at = models.DateTimeField(null=True, editable=False)
    """Sessions that were opened before are over."""
    password_is_temporary = models.BooleanField(default=False, editable=False)
    """Somebody else knows it: the first page after signing in asks for another one."""

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="one_user_of_a_name",
                violation_error_code="unique",
                violation_error_message="There is already a user of this name.",
            )
        ]

    def get_full_name(self) -> str:
        return self.full_name

    def get_short_name(self) -> str:
        return self.full_name or self.username

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        hashed: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]
        return f"{hashed}.{self.signed_out_at.timestamp()}" if self.signed_out_at else hashed


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
