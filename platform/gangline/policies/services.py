"""Store and remove policies. What cannot hold is refused with every line that is wrong."""

from django.db import transaction

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.audit import actions
from gangline.audit.services import record
from gangline.db.clock import db_now
from gangline.db.locks import locked
from gangline.lib.problems import Problem
from gangline.scopes.models import Scope, ScopeKind
from gangline.settings.label_domains import refused_domain

from .document import InvalidPolicy
from .imposed_assets import imposable
from .models import Policy
from .parser import parse
from .selectors import layers
from .validation import check_document, check_imposed, check_keys

EDITABLE = (ScopeKind.TENANT, ScopeKind.CLUSTER, ScopeKind.DEPARTMENT, ScopeKind.PROJECT)
"""Scopes that may have a policy, from far to near."""


class PolicyChanged(Exception):
    """Somebody saved another version meanwhile."""

    def __init__(self, policy: Policy | None) -> None:
        super().__init__("Someone else changed this policy.")
        self.policy = policy


@transaction.atomic
def save(
    *,
    actor: Actor | None,
    scope: Scope,
    text: str,
    version: int | None = None,
    name: str | None = None,
) -> Policy:
    """Store ``text`` as the policy of ``scope``. ``version`` is the one the person saw (0: none).

    Raises InvalidPolicy with all problems, NotAllowed, and PolicyChanged when ``version`` is no
    longer the newest. ``actor`` None: the installation itself, at its first start.
    """
    policy = locked(Policy.objects.filter(scope=scope)).first()
    authorise(actor, Permission.POLICY_EDIT if policy else Permission.POLICY_CREATE, scope)
    check(scope=scope, text=text, is_to_store=True)
    now, by = db_now(), actor.user if actor else None
    if version is not None and version != (policy.version if policy else 0):
        raise PolicyChanged(policy)
    before = policy.text if policy else ""
    if policy is None:
        policy = Policy(scope=scope, version=0, created_at=now, created_by=by)
    name = policy.name if name is None else name
    if policy.version and (text, name) == (before, policy.name):
        return policy
    policy.text, policy.updated_by, policy.updated_at, policy.name = text, by, now, name
    policy.version += 1
    policy.save()
    _log(actor, scope, actions.POLICY_SAVE, {"before": before, "after": text})
    return policy


def check(*, scope: Scope, text: str, is_to_store: bool = False) -> list[Problem]:
    """Warnings about ``text`` as the policy of ``scope``; changes nothing.

    Raises InvalidPolicy when it cannot be that.
    """
    document = parse(text)
    above = layers(scope.parent) if scope.parent else []
    ids = {key for half in (document.worker, document.master) for key in half.imposed}
    problems = [
        *check_document(document, above, kind=scope.kind),
        *check_imposed(document, imposable(scope, ids, is_to_store=is_to_store)),
        *check_keys(document, refused_domain),
    ]
    if wrong := [one for one in problems if one.severity == "error"]:
        raise InvalidPolicy(wrong)
    return problems


@transaction.atomic
def delete(*, actor: Actor, scope: Scope, version: int) -> None:
    """Remove the policy of ``scope``; raises PolicyChanged when ``version`` is not the newest."""
    authorise(actor, Permission.POLICY_DELETE, scope)
    policy = locked(Policy.objects.filter(scope=scope)).first()
    if policy is None or policy.version != version:
        raise PolicyChanged(policy)
    policy.delete()
    _log(actor, scope, actions.POLICY_DELETE, {"before": policy.text, "after": ""})


def authorise(actor: Actor | None, permission: Permission, scope: Scope) -> None:
    """Raise NotAllowed unless ``actor`` may do this to the policy there."""
    if actor is not None and not can(actor.user, permission, scope):
        raise NotAllowed(permission, scope)


def _log(actor: Actor | None, scope: Scope, action: str, detail: dict[str, str]) -> None:
    record(
        actor=actor,
        action=action,
        object_type="policy",
        object_id=str(scope.pk),
        object_name=scope.label,
        scope=scope,
        detail=detail,
    )
