"""Settings as an administrator saved them."""

from typing import Any

from gangline.db.clock import db_now
from gangline.db.once import forget
from gangline.settings.catalogue import Declared
from gangline.settings.models import Setting


def turn(setting: Declared[Any], value: Any) -> None:
    Setting.objects.update_or_create(
        key=setting.key, defaults={"value": value, "updated_at": db_now()}
    )
    forget()
