"""What the commands about people share."""

from django.core.management.base import CommandError

from gangline.accounts.models import User


def person(username: str) -> User:
    """The user of that name, or an error that lists who there is."""
    try:
        return User.objects.get(username=username)
    except User.DoesNotExist as error:
        names = ", ".join(User.objects.order_by("username").values_list("username", flat=True)[:20])
        known = f"Users: {names}." if names else "Create one with: gangline-manage create-user"
        raise CommandError(f"There is no user {username}. {known}") from error
