"""Changing settings: permission, version, environment, audit, in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from gangline.access.actor import Actor
from gangline.access.grants import can, who_can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.db.once import forget
from gangline.lib.problems import Problem, Refused
from gangline.scopes.selectors import tenant_scope
from gangline.settings.catalogue import Declared
from gangline.settings.models import Setting
from gangline.settings.values import origin_of, value_of

TYPES: Mapping[type, str] = {bool: "true or false", int: "a whole number", str: "text"}


class Changed(Exception):
    """Somebody else saved some of the settings meanwhile; ``keys`` names them."""

    def __init__(self, keys: list[str]) -> None:
        super().__init__(", ".join(keys))
        self.keys = keys


@dataclass(frozen=True, slots=True)
class Wanted:
    """A new value. ``version``: of the value that the person saw; None: the last writer wins."""

    setting: Declared[Any]
    value: Any
    version: int | None = None


def need(actor: Actor, permission: Permission) -> None:
    """Raise NotAllowed for who does not hold ``permission`` for the whole installation."""
    tenant = tenant_scope()
    if not can(actor.user, permission, tenant):
        who = [user.username for user in who_can(permission, tenant)]
        raise NotAllowed(permission, tenant, who)


def change(actor: Actor, wanted: list[Wanted]) -> list[Declared[Any]]:
    """Save what differs, all or nothing. Raises NotAllowed, Refused or Changed."""
    need(actor, Permission.SETTING_EDIT)
    with transaction.atomic():
        keys = [one.setting.key for one in wanted]
        rows = {row.key: row for row in locked(Setting.objects.filter(key__in=keys))}
        forget()
        differing = [one for one in wanted if _differs(one)]
        stale = [one.setting.key for one in differing if _is_stale(one, rows)]
        if stale:
            raise Changed(stale)
        problems = [found for one in differing if (found := _problem(one))]
        if problems:
            raise Refused(problems)
        for one in differing:
            _save(actor, one, rows.get(one.setting.key))
    forget()
    return [one.setting for one in differing]


def _differs(one: Wanted) -> bool:
    # 1 is not true: types are compared too.
    current = value_of(one.setting)
    return type(one.value) is not type(current) or one.value != current


def _is_stale(one: Wanted, rows: Mapping[str, Setting]) -> bool:
    row = rows.get(one.setting.key)
    return one.version is not None and one.version != (row.version if row else 0)


def _problem(one: Wanted) -> Problem | None:
    setting = one.setting
    if origin_of(setting).source == "environment":
        return Problem("locked", setting.key, {"variable": setting.variable})
    if type(one.value) is not setting.kind:
        accepted = TYPES[setting.kind]
        return Problem("type", setting.key, {"accepted": accepted})
    try:
        setting.clean(one.value)
    except ValidationError as error:
        code = error.error_list[0].code or "invalid"
        return Problem(code, setting.key, {"raw": error.messages[0], "value": str(one.value)})
    return None


def _save(actor: Actor, one: Wanted, row: Setting | None) -> None:
    setting = one.setting
    before = value_of(setting)
    Setting.objects.update_or_create(
        key=setting.key,
        defaults={
            "value": None if one.value == setting.default else one.value,
            "version": row.version + 1 if row else 1,
            "updated_at": db_now(),
            "updated_by": actor.user,
        },
    )
    record(
        actor=actor,
        action=actions.SETTING_EDIT,
        object_type="setting",
        object_id=setting.key,
        object_name=setting.label,
        scope=tenant_scope(),
        detail={"value": {"from": before, "to": one.value}},
    )
