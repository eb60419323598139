"""Users, API tokens, what programs sign in with, and sign-in links."""

import hashlib
import re
import secrets
import uuid
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from gangline.db.clock import db_now
from gangline.db.fields import FoldedField, Folding
from gangline.db.versioned import Versioned
from gangline.drivers.addresses import networks

from .areas import AREAS, SEPARATOR, area_of, labels

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._@%+-]{0,148}[A-Za-z0-9])?\Z")


def hash_of(secret: str) -> str:
    """What is stored of a secret that has 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def user_name(name: str) -> None:
    """Raise ValidationError for what nobody can be called."""
    if not _NAME.match(name):
        raise ValidationError(
            "1 to 150 letters, digits, dots, dashes, underscores, @, %%, + or spaces.",
            "name",
            {"value": name},
        )


def address_ranges(text: str) -> None:
    """Raise ValidationError for what is no list of networks."""
    try:
        networks(text)
    except ValueError as error:
        raise ValidationError(f"{error}.", "network", {"value": text[:60]}) from None


def known_areas(text: str) -> None:
    """Raise ValidationError for what is no list of areas."""
    for one in filter(None, text.split(SEPARATOR)):
        if one not in AREAS:
            raise ValidationError(
                f"“%(value)s” is not an area. Accepted: {', '.join(AREAS)}.",
                "options",
                {"value": one[:60]},
            )


class User(Folding, AbstractUser, Versioned):
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
        error_messages={"unique": "A user with this name already exists."},
    )
    full_name = models.CharField(max_length=100, blank=True)
    folded_email = FoldedField("email")
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
                violation_error_message="A user with this name already exists.",
            ),
            models.UniqueConstraint(
                fields=["folded_email"],
                condition=~models.Q(folded_email=""),
                name="one_user_of_an_email",
                violation_error_code="unique",
                violation_error_message="Another user has this email.",
            ),
        ]

    def get_full_name(self) -> str:
        return self.full_name

    def get_short_name(self) -> str:
        return self.full_name or self.username

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        hashed: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]
        return f"{hashed}.{self.signed_out_at.timestamp()}" if self.signed_out_at else hashed


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """From where a request came, an IPv4 address also where it was told as one of IPv6; None: it
    is no address."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


class Limited(models.Model):
    """What a key or token is good for, within what its owner may do."""

    addresses = models.CharField(
        "allowed addresses",
        max_length=500,
        blank=True,
        validators=[address_ranges],
        help_text="Networks separated by commas, such as 10.0.0.0/8, 192.0.2.7. Empty: any.",
    )
    is_read_only = models.BooleanField(
        "read only", default=False, help_text="Can only read, whatever its roles allow."
    )
    areas = models.CharField(
        "limited to",
        max_length=120,
        blank=True,
        validators=[known_areas],
        help_text="Parts of the API. None: all of them, and it can create more keys.",
    )

    class Meta:
        abstract = True

    def admits(self, address: str) -> bool:
        """Whether requests may come from ``address``."""
        if not self.addresses:
            return True
        caller = address_of(address)
        return caller is not None and any(caller in one for one in networks(self.addresses))

    def opens(self, path: str) -> bool:
        """Whether ``path`` lies in what it is limited to."""
        if not self.areas:
            return True
        area = area_of(path)
        return area == "" or area in self.areas.split(SEPARATOR)

    @property
    def limits(self) -> str:
        """In words; empty: it has none."""
        said = (
            "read only" if self.is_read_only else "",
            f"from {self.addresses}" if self.addresses else "",
            f"for {labels(self.areas)}" if self.areas else "",
        )
        return "; ".join(filter(None, said))


class ApiToken(Limited):
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


class ClientSecret(Limited):
    """A client id and a secret, exchanged for short-lived tokens. Only the SHA-256 is stored.

    Of a service account it is the way to sign in; of a person, an access key.
    """

    client_id = models.UUIDField("client id", primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        User, models.CASCADE, related_name="client_secrets", blank=True, editable=False
    )
    name = models.CharField(
        max_length=63,
        validators=[
            RegexValidator(
                r"\A[a-z][-_a-z0-9]*[a-z0-9]\Z",
                "Use at least two lowercase letters, digits, - and _, starting with a letter and"
                " ending with a letter or digit.",
                "format",
            )
        ],
    )
    secret_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=db_now, editable=False)
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", editable=False
    )
    expires_at = models.DateTimeField(
        "ends", null=True, blank=True, help_text="Empty: never expires. In UTC."
    )
    rotated_at = models.DateTimeField(null=True, editable=False)
    last_used_at = models.DateTimeField("last used", null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    secret = ""
    """The secret itself, in the process that has just made it."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"],
                condition=models.Q(revoked_at=None),
                name="client_secret_name",
                violation_error_message="This name is taken.",
                violation_error_code="unique",
            )
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self.secret_hash:
            self.renew()
        super().save(*args, **kwargs)

    def takes(self, address: str) -> bool:
        """Whether it is good now, for who comes from ``address``."""
        if self.expires_at is not None and self.expires_at <= db_now():
            return False
        return self.admits(address)

    def renew(self) -> str:
        """Put a new secret in the place of the old one; to be saved. Returns its hash."""
        self.secret = secrets.token_urlsafe(32)
        self.secret_hash = hash_of(self.secret)
        return self.secret_hash


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
    name = models.CharField(max_length=63, blank=True)
    """Of a program that a person let in by its code: what it calls itself."""
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"tokens of {self.user}"

    @property
    def kid(self) -> str:
        """What the audit log names it by, as it does an API token."""
        return (self.client_id or self.pk).hex[:16]


class DeviceRequest(models.Model):
    """A program asks to be signed in by who types its code into a page (RFC 8628).

    Of both codes only the SHA-256 is stored.
    """

    device_hash = models.CharField(max_length=64, primary_key=True)
    user_hash = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=63)
    """What the program calls itself."""
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    interval = models.PositiveSmallIntegerField()
    """Seconds that have to lie between two questions."""
    asked_at = models.DateTimeField(null=True)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    """Who decided."""
    is_allowed = models.BooleanField(null=True)

    def __str__(self) -> str:
        return f"{self.name} from {self.address}"


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
