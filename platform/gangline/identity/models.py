"""Identity providers, and whom and which groups they have brought."""

import re
import uuid
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models

from gangline.access.models import Group
from gangline.clusters.connections import LOOPBACK
from gangline.db import sealed
from gangline.db.clock import db_now
from gangline.db.versioned import Versioned
from gangline.drivers.addresses import AddressRefused, parse

_CLAIM = r"\A[!-~]{1,120}\Z"
_SCOPE = re.compile(r"[!#-\[\]-~]{1,100}")
DISCOVERY = "/.well-known/openid-configuration"


def issuer_address(text: str) -> None:
    """Raises ValidationError for what no provider can be reached at.

    Plain http only on this machine: what a provider says about people must not be changed on the
    way.
    """
    plain = text.removeprefix("http://")
    if plain != text and (urlsplit(text).hostname or "") in LOOPBACK:
        text = f"https://{plain}"
    try:
        parse(text)
    except AddressRefused as why:
        said = str(why).replace("https://10.0.0.1:6443", "https://login.example.com")
        raise ValidationError(f"The issuer {said.partition(' or https://')[0]}.", "url") from None
    if text.endswith(DISCOVERY):
        raise ValidationError(
            f"Enter only the issuer, without {DISCOVERY}.", "url", {"value": text}
        )


def scope_names(text: str) -> None:
    """Raises ValidationError for what is no list of scopes with openid among them."""
    names = text.split()
    if wrong := [one for one in names if not _SCOPE.fullmatch(one)]:
        raise ValidationError("%(value)s is not a scope.", "scope", {"value": wrong[0][:60]})
    if "openid" not in names:
        raise ValidationError("The scopes must include openid.", "openid", {"value": text})


def _claim(default: str, *, blank: bool = False, **more: Any) -> Any:
    judge = RegexValidator(_CLAIM, "A claim has visible characters and no spaces.", "claim")
    return models.CharField(
        max_length=120, default=default, blank=blank, validators=[judge], **more
    )


class IdentityProvider(Versioned):
    """A server that says who somebody is. Its issuer never changes: it is half of an identity."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    alias = models.CharField(
        max_length=40,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z",
                "Use lowercase letters, digits and -, beginning and ending with a letter or digit.",
                "format",
            )
        ],
        error_messages={"unique": "Another identity provider has this alias."},
        help_text="Part of the redirect address, which is registered with the provider.",
    )
    name = models.CharField(
        max_length=40, help_text="On the button of the sign-in page: Sign in with …"
    )
    issuer = models.CharField(
        max_length=2048,
        validators=[issuer_address],
        help_text="Address of the provider, such as https://login.example.com/realms/main.",
    )
    client_id = models.CharField(
        "client ID", max_length=255, help_text="Identifies Gangline to the provider."
    )
    sealed = models.TextField(editable=False)
    """The client secret; of a public client, the empty text."""
    secret_at = models.DateTimeField(null=True, editable=False)
    """Since when it is this one; None: a public client, which has none."""
    scopes = models.CharField(
        max_length=400,
        default="openid profile email",
        validators=[scope_names],
        help_text="Requested scopes. Some providers send groups only with the scope groups.",
    )
    username_claim = _claim("preferred_username", verbose_name="claim of the user name")
    email_claim = _claim("email", verbose_name="claim of the email")
    name_claim = _claim("name", verbose_name="claim of the full name")
    groups_claim = _claim(
        "groups",
        blank=True,
        verbose_name="claim of the groups",
        help_text="Memberships are updated at every sign-in. Empty: groups are not changed.",
    )
    makes_users = models.BooleanField(
        "allow everyone with an account at the provider",
        default=True,
        help_text="Off: only people who were invited by email address.",
    )
    is_enabled = models.BooleanField("enabled", default=True)

    class Meta:
        verbose_name = "identity provider"

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if not self.name.isprintable():
            raise ValidationError({"name": ValidationError("Use visible characters.", "name")})

    @property
    def context(self) -> str:
        """What its secret is sealed for."""
        return f"identity-provider/{self.pk}"

    @property
    def discovery_url(self) -> str:
        return self.issuer.rstrip("/") + DISCOVERY

    @property
    def state(self) -> str:
        return "Enabled" if self.is_enabled else "Disabled"


sealed.register(
    sealed.SealedColumn(
        IdentityProvider,
        context=lambda row: row.context,
        name=lambda row: f"The client secret of {row.name}",
    )
)


class ExternalIdentity(models.Model):
    """A person as a provider knows them: by ``sub``, which is never given to another."""

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="identities")
    subject = models.CharField(max_length=255)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="external_identities"
    )
    created_at = models.DateTimeField(default=db_now)
    seen_at = models.DateTimeField(default=db_now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "subject"], name="one_user_of_a_subject"),
            models.UniqueConstraint(fields=["provider", "user"], name="one_subject_of_a_user"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.provider}"


class ProviderGroup(models.Model):
    """Which provider a group is of: no other one puts anybody into it."""

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="groups")
    group = models.OneToOneField(Group, models.CASCADE, related_name="provided")

    def __str__(self) -> str:
        return f"{self.group} of {self.provider}"
