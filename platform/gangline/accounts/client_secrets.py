"""Client ids and secrets: made, rotated and revoked here, and a way to authenticate."""

import hmac
import re
import secrets
from uuid import UUID

from django.contrib.auth.backends import BaseBackend
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from gangline.db.clock import db_now

from .models import ClientSecret, TokenSession, User
from .services import CannotMake, hash_of

ACCESS_KEYS_MAX = 20
"""Of one person."""
NAME = re.compile(r"[a-z][-_a-z0-9]{0,61}[a-z0-9]")


class ClientSecretBackend(BaseBackend):
    """Authenticates a client id, given as ``username``, by its secret.

    The lock after wrong passwords counts wrong secrets by the same name and address.
    """

    def authenticate(  # type: ignore[override]  # Django skips backends that lack an argument
        self, request: HttpRequest | None, username: str, client_secret: str
    ) -> User | None:
        try:
            client_id = UUID(username)
        except ValueError:
            return None
        found = (
            ClientSecret.objects.select_related("user")
            .filter(pk=client_id, revoked_at=None, user__is_active=True)
            .first()
        )
        if found is None or not hmac.compare_digest(found.secret_hash, hash_of(client_secret)):
            return None
        return found.user


def make_client_secret(*, user: User, name: str) -> tuple[ClientSecret, str]:
    """A new client id and its secret, which exists here and nowhere else."""
    if not NAME.fullmatch(name):
        raise CannotMake(
            "A name is 2 to 63 lower-case letters, digits, - and _; it begins with a letter and"
            " ends with a letter or a digit."
        )
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        # Held until the end, so that two at once do not both find room for the last one.
        User.objects.select_for_update().get(pk=user.pk)
        if ClientSecret.objects.filter(user=user, revoked_at=None).count() >= ACCESS_KEYS_MAX:
            raise CannotMake(f"There are {ACCESS_KEYS_MAX} access keys, and no more are possible.")
        try:
            with transaction.atomic():
                made = ClientSecret.objects.create(
                    user=user, name=name, secret_hash=hash_of(secret), created_at=db_now()
                )
        except IntegrityError as error:
            raise CannotMake(f"There is already an access key {name}.") from error
    return made, secret


def rotate_client_secret(client: ClientSecret) -> str:
    """A new secret; the old one and every token made with it are void."""
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        client.rotated_at = db_now()
        client.secret_hash = hash_of(secret)
        client.save(update_fields=["rotated_at", "secret_hash"])
        TokenSession.objects.filter(client=client).delete()
    return secret


def revoke_client_secret(client: ClientSecret) -> None:
    """End the secret and every token made with it. Repeating changes nothing."""
    with transaction.atomic():
        ClientSecret.objects.filter(pk=client.pk, revoked_at=None).update(revoked_at=db_now())
        TokenSession.objects.filter(client=client).delete()
