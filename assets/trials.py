"""Testing connections: what was typed, or is stored, is reached as it would be when it is used.

Nothing is stored by it but an entry of the audit log.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from assets.credentials import store
from assets.credentials.types import EXISTING, CredentialType
from assets.kinds import kind_of_asset
from assets.models import Asset, Credential
from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.audit import actions
from gangline.audit.services import record
from gangline.clusters.connections import site
from gangline.db.leases import LeaseHolder
from gangline.drivers import fetching
from gangline.drivers.addresses import Reach
from gangline.drivers.checks import State
from gangline.drivers.trials import running
from gangline.drivers.trials.places import Bucket, Failed, Outcome, Place, Registry, Repository
from gangline.resources.resource import Resource
from gangline.scopes.models import Scope
from gangline.spec.data import AWS

TEST = "test"
"""Verb of the button, end of the addresses, and action of the audit log."""
PAUSE = 2.0
"""Seconds between two tests of one person."""
SOURCES = frozenset({Asset.Kind.GIT, Asset.Kind.S3})
"""Kinds of data source that can be tested: the others are known to clusters alone."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the audit log says that was tested."""

    resource: Resource[Any]
    scope: Scope
    name: str
    id: str = ""


def tested(actor: Actor, subject: Subject, place: Callable[[], Place]) -> Outcome:
    """Try the place; ``place`` raises Failed where there is nothing to try.

    One at a time for each person: it is this server that connects.
    """
    turn = LeaseHolder(f"trial:{actor.user.pk}", seconds=running.SECONDS + 5)
    if not turn.acquire():
        return Failed("busy").outcome
    try:
        wanted = place()
        reach = Reach(tuple(site().networks), site().own)
        outcome = running.outcome_of(wanted, reach)
    except Failed as failed:
        outcome = failed.outcome
    finally:
        turn.seconds = PAUSE
        turn.renew()
    _audit(actor, subject, outcome)
    return outcome


def of_source(actor: Actor, kind: str, item: Mapping[str, Any], scope: Scope) -> Place:
    """Where a data source of ``scope`` finds its data. Raises Failed."""
    data = partial(_data, actor, scope)
    if kind == Asset.Kind.GIT:
        login = {
            variable: _value(data(name), name, key)
            for variable, name, key in fetching.login_of(item.get("secretRef") or {})
        }
        return Repository(
            item["repository"],
            item.get("branch") or "",
            item.get("revision") or "",
            login.get("USERNAME", ""),
            login.get("PASSWORD", ""),
            login.get("SSH_KEY", ""),
        )
    service, name = item.get("url") or AWS, item.get("accessKeySecret")
    if not name:
        return Bucket(service, item["bucket"])
    known = data(name)
    return Bucket(
        service,
        item["bucket"],
        _value(known, name, item.get("secretKeyOfAccessKeyId") or "AccessKeyId"),
        _value(known, name, item.get("secretKeyOfSecretKey") or "SecretKey"),
    )


def of_registry(data: Mapping[str, str]) -> Registry:
    """Where a credential that pulls images signs in; ``data``: what its Secret holds."""
    ((at, login),) = json.loads(data[".dockerconfigjson"])["auths"].items()
    return Registry(at, login["username"], login["password"])


def of_values(kind: CredentialType, given: Mapping[str, Any]) -> Registry:
    """The same of values that are not stored yet. Raises Failed."""
    if EXISTING in given:
        raise Failed("values", said="What a Secret of the cluster holds is not known here.")
    return of_registry(kind.data(given))


def can_be_tested(obj: Any) -> bool:
    """Whether there is anything to reach for an asset or a credential."""
    return obj.type.pulls and obj.is_ours if isinstance(obj, Credential) else obj.kind in SOURCES


def stored(actor: Actor, resource: Resource[Any], obj: Any) -> Outcome:
    """Test what is stored, for who may change it."""

    def place() -> Place:
        if isinstance(obj, Credential):
            return of_registry(_opened(obj))
        item = kind_of_asset(obj).item_of(obj.values)
        return of_source(actor, obj.kind, item, obj.scope)

    subject = Subject(resource, obj.scope, resource.name_of(obj), resource.id_of(obj))
    return tested(actor, subject, place)


def _data(actor: Actor, scope: Scope, name: str) -> Mapping[str, str]:
    """What a credential holds, for who could have a workload read it. Raises Failed."""
    if not can(actor.user, Permission.WORKLOAD_CREATE, scope):
        raise Failed("no_right", scope=scope.title)
    credential = store.usable(scope, None).filter(object_name=name).first()
    if credential is None:
        raise Failed("unheld", value=name)
    return _opened(credential)


def _opened(credential: Credential) -> Mapping[str, str]:
    try:
        return store.data_of(credential)
    except store.CannotUse as why:
        raise Failed("sealed", said=str(why)) from None


def _value(data: Mapping[str, str], name: str, key: str) -> str:
    if key not in data:
        raise Failed("no_key", value=name, key=key)
    return data[key]


def _audit(actor: Actor, subject: Subject, outcome: Outcome) -> None:
    record(
        actor=actor,
        action=f"{subject.resource.key}.{TEST}",
        object_type=subject.resource.key,
        object_id=subject.id,
        object_name=subject.name,
        scope=subject.scope,
        result="denied" if outcome.state is State.FAILED else "ok",
        reason=outcome.problem.told,
    )


def register(resource: Resource[Any]) -> None:
    """Let tests of what a resource holds be recorded."""
    actions.register(resource.key, (TEST,), str(resource.model._meta.verbose_name))
