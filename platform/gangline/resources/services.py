"""The one writer: permission, rules, version, parts and audit, in one transaction.

Form, API, commands and the demo call this; nothing else writes what people change (S2).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from unicodedata import normalize

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import CharField, Model

from gangline.access.actor import Actor
from gangline.access.grants import who_can
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.db.versioned import Versioned
from gangline.lib.problems import Problem, Refused
from gangline.lib.texts import code_point, hidden
from gangline.scopes.models import Scope
from gangline.scopes.selectors import tenant_scope

from .models import TreeNode
from .registry import get, usages
from .resource import Resource, Usage

M = TypeVar("M", bound=Model)


class Conflict(Exception):
    """The object was changed since it was read; ``current`` is how it is now."""

    def __init__(self, current: Model) -> None:
        super().__init__(str(current))
        self.current = current


class InUse(Exception):
    """The object is not deleted: ``usages`` names what uses it."""

    def __init__(self, obj: Model, found: list[Usage]) -> None:
        super().__init__(str(obj))
        self.obj, self.usages = obj, found


@dataclass(frozen=True, slots=True)
class Saved(Generic[M]):
    """What was stored. ``changes``: field → (before, after); ``notice``: what it brings with it."""

    obj: M
    changes: Mapping[str, tuple[Any, Any]]
    notice: str = ""


def create(
    resource: Resource[M],
    *,
    actor: Actor | None,
    values: Mapping[str, Any],
    parts: Mapping[str, Any] | None = None,
) -> Saved[M]:
    """Store a new object. ``actor`` None: the system itself.

    Raises Refused with every problem, or NotAllowed; nothing is stored then.
    """
    obj = resource.model(**values)
    if resource.own_path and actor is not None:
        setattr(obj, resource.own_path, actor.user)
    with transaction.atomic():
        above = _above(resource, obj)
        if above is not None:
            _need(resource, actor, "create", obj, above)
        _judge(resource, obj, actor=actor, before=None)
        if above is None:
            above = _above(resource, obj) or tenant_scope()
            _need(resource, actor, "create", obj, above)
        now = db_now()
        if isinstance(obj, Versioned):
            obj.created_at = obj.updated_at = now
            obj.created_by = obj.updated_by = actor.user if actor else None
        with _unique(resource, obj):
            if isinstance(obj, TreeNode):
                obj.scope = Scope.objects.create(kind=obj.scope_kind, parent=above, name=obj.name)
            obj.save(force_insert=True)
        resource.save_parts(obj, parts or {}, actor=actor)
        after = resource.snapshot(obj)
        shown = {k: v for k, v in after.items() if v not in (None, "", [], {})}
        _record(resource, obj, "create", actor, _covered(resource, shown))
        resource.saved(obj, actor=actor, changes={})
        return Saved(obj, {}, resource.notice(obj, actor=actor))


def make(
    key: str, *, actor: Actor | None = None, parts: Mapping[str, Any] | None = None, **values: Any
) -> Any:
    """A new object of the resource ``key``: for commands, the first start and the demo."""
    return create(get(key), actor=actor, values=values, parts=parts).obj


def update(
    resource: Resource[M],
    *,
    actor: Actor | None,
    obj: M,
    values: Mapping[str, Any],
    parts: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> Saved[M]:
    """Store changed values; ``version`` None: the last writer wins.

    Raises Conflict, Refused or NotAllowed; nothing is stored then.
    """
    with transaction.atomic():
        row = locked(resource.model._default_manager.filter(pk=obj.pk)).get()
        _need(resource, actor, "edit", row, resource.place(row, "edit"))
        if version is not None and isinstance(row, Versioned) and row.version != version:
            raise Conflict(row)
        original = resource.model._default_manager.get(pk=obj.pk)
        before = resource.snapshot(original)
        for name, value in values.items():
            setattr(row, name, value)
        _judge(resource, row, actor=actor, before=original)
        # A new place must be one in which the person may do the same.
        _need(resource, actor, "edit", row, resource.place(row, "edit"))
        with _unique(resource, row):
            resource.save_parts(row, parts or {}, actor=actor)
            after = resource.snapshot(row)
            changes = {
                name: (before.get(name), value)
                for name, value in after.items()
                if before.get(name) != value
            }
            if not changes:
                return Saved(row, {})
            if isinstance(row, Versioned):
                row.version += 1
                row.updated_at, row.updated_by = db_now(), actor.user if actor else None
            row.save()
            if isinstance(row, TreeNode):
                Scope.objects.filter(pk=row.scope_id).update(name=row.name)
        detail = {name: {"from": was, "to": now} for name, (was, now) in changes.items()}
        _record(resource, row, "edit", actor, _covered(resource, detail))
        resource.saved(row, actor=actor, changes=changes)
        return Saved(row, changes, resource.notice(row, actor=actor))


def delete(
    resource: Resource[M], *, actor: Actor | None, obj: M, version: int | None = None
) -> None:
    """Remove an object that nothing uses. Raises InUse, Conflict or NotAllowed."""
    with transaction.atomic():
        row = locked(resource.model._default_manager.filter(pk=obj.pk)).first()
        if row is None:
            return
        place = resource.place(row, "delete")
        _need(resource, actor, "delete", row, place)
        if version is not None and isinstance(row, Versioned) and row.version != version:
            raise Conflict(row)
        if found := usages(row, actor.user if actor else None, blocking=True):
            raise InUse(row, found)
        if why := resource.kept_because(row):
            raise Refused([why])
        record(
            actor=actor,
            action=f"{resource.key}.delete",
            object_type=resource.key,
            object_id=resource.id_of(row),
            object_name=resource.name_of(row),
            scope=place,
            detail=_covered(resource, resource.snapshot(row)),
        )
        resource.delete(row, actor=actor)


def problems_of(error: ValidationError) -> list[Problem]:
    """Django's errors as problems: code and field, its sentence as it is."""
    if not hasattr(error, "error_dict"):
        return [_problem("", one) for one in error.error_list]
    return [
        _problem("" if name == "__all__" else name, one)
        for name, errors in error.error_dict.items()
        for one in errors
    ]


def _at_name(resource: Resource[Any], problem: Problem) -> Problem:
    """A constraint over several fields is about the name, the one that a person chose."""
    is_taken = problem.code == "unique" and not problem.path
    return replace(problem, path=resource.name_field) if is_taken else problem


def _problem(path: str, error: ValidationError) -> Problem:
    params = error.params or {}
    known = {k: params[k] for k in ("value", "limit_value", "accepted", "field") if k in params}
    where = path or str(known.pop("field", ""))
    plain: dict[str, Any] = {
        k: v if isinstance(v, str | float) or (type(v) is int and abs(v) < 1 << 63) else str(v)
        for k, v in known.items()
    }
    return Problem(error.code or "invalid", where, {**plain, "raw": error.messages[0]})


def _above(resource: Resource[Any], obj: Model) -> Scope | None:
    """The scope in which an object is to be made; None where its values do not say it yet."""
    if isinstance(obj, TreeNode):
        if not obj.parent_field:
            return tenant_scope()
        path = obj.parent_field
        try:
            return getattr(obj, path).scope if getattr(obj, f"{path}_id", None) else None
        except ObjectDoesNotExist:
            return None
    try:
        return resource.scope_of(obj)
    except (AttributeError, ObjectDoesNotExist):
        return None


def _need(resource: Resource[M], actor: Actor | None, verb: str, obj: M, scope: Scope) -> None:
    if actor is not None and not resource.permits(actor.user, verb, obj, scope):
        if not resource.is_governed(verb):
            raise NotVisible  # its owner alone may; no permission would let others
        permission = resource.permission(verb)
        who = [user.username for user in who_can(permission, scope)]
        raise NotAllowed(permission, scope, who)


def _judge(resource: Resource[M], obj: M, *, actor: Actor | None, before: M | None) -> None:
    own = [] if before is not None else ["scope"] if isinstance(obj, TreeNode) else []
    # What we fill in ourselves is not there yet.
    filled = ("created_at", "created_by", "updated_at", "updated_by")
    exclude = [*own, *(filled if isinstance(obj, Versioned) else ())]
    if problems := list(_unseen(resource, obj, before)):
        raise Refused(problems)
    _normalize_name(resource, obj)
    try:
        obj.full_clean(exclude=exclude)
        resource.check(obj, actor=actor, before=before)
    except ValidationError as error:
        raise Refused([_at_name(resource, one) for one in problems_of(error)]) from None


def _normalize_name(resource: Resource[M], obj: M) -> None:
    """Two names that look the same are the same."""
    name = vars(obj).get(resource.name_field)
    if isinstance(name, str):
        setattr(obj, resource.name_field, normalize("NFC", name))


def _unseen(resource: Resource[M], obj: M, before: M | None) -> Iterator[Problem]:
    """What people would not see in a text that is new. A name is one line, and stricter.

    What was stored before stays valid while other fields are changed.
    """
    for field in obj._meta.concrete_fields:
        text = vars(obj).get(field.attname)
        if not isinstance(text, str) or not isinstance(field, CharField) or field.choices:
            continue
        if field.name in resource.secret or (before and vars(before).get(field.attname) == text):
            continue
        found = hidden(text)
        if not found and field.name == resource.name_field:
            found = next((code_point(c) for c in text if not c.isprintable()), "")
        if found:
            params = {"value": text, "character": found, "accepted": "visible characters"}
            yield Problem("characters", field.name, params)


@contextmanager
def _unique(resource: Resource[M], obj: M) -> Iterator[None]:
    """Two that store the same name at the same moment: the second is told as any other."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        try:
            obj.validate_constraints()
            obj.validate_unique()
        except ValidationError as error:
            raise Refused([_at_name(resource, one) for one in problems_of(error)]) from None
        raise


def _covered(resource: Resource[Any], detail: dict[str, Any]) -> dict[str, Any]:
    """``detail`` without the values of secret fields."""
    return {k: "changed" if k in resource.secret else v for k, v in detail.items()}


def _record(
    resource: Resource[M], obj: M, verb: str, actor: Actor | None, detail: Mapping[str, Any]
) -> None:
    record(
        actor=actor,
        action=f"{resource.key}.{verb}",
        object_type=resource.key,
        object_id=resource.id_of(obj),
        object_name=resource.name_of(obj),
        scope=resource.place(obj, verb),
        detail=detail,
    )
