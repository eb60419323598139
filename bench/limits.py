"""What a benchmark must not run into: limits on the requests of one caller."""

from gangline.db.clock import db_now
from gangline.settings.catalogue import PERSON_REQUESTS, SIGN_INS, SUBMISSIONS, TOKEN_REQUESTS
from gangline.settings.models import Setting


def lift() -> None:
    """Set each to the most that can be set."""
    for one in (PERSON_REQUESTS, SIGN_INS, SUBMISSIONS, TOKEN_REQUESTS):
        saved = {"value": one.most, "updated_at": db_now()}
        Setting.objects.update_or_create(key=one.key, defaults=saved)
