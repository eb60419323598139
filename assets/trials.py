"""What is tried when the connection of a data source or a credential is tested."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from assets.credentials import store
from assets.credentials.types import EXISTING, CredentialType
from assets.kinds import kind_of_asset
from assets.models import Asset, Credential
from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.clusters.trials import Subject, tested
from gangline.drivers import git_fetch
from gangline.drivers.trials.places import Bucket, Failed, Outcome, Place, Registry, Repository
from gangline.resources.resource import Resource
from gangline.scopes.models import Scope
from gangline.spec.data import AWS

SOURCES = frozenset({Asset.Kind.GIT, Asset.Kind.S3})
"""Kinds of data source that can be tested: the others are known to clusters alone."""


def of_source(actor: Actor, kind: str, item: Mapping[str, Any], scope: Scope) -> Place:
    """Where a data source of ``scope`` finds its data. Raises Failed."""
    data = partial(_data, actor, scope)
    if kind == Asset.Kind.GIT:
        login = {
            variable: _value(data(name), name, key)
            for variable, name, key in git_fetch.login_of(item.get("secretRef") or {})
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
        raise Failed("values", said="The content of a Secret of the cluster is not known here.")
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


def listed(
    actor: Actor, resource: Resource[Any], credential: Credential, repository: str
) -> Outcome:
    """What a registry holds: the tags of a repository, or with ``""`` its repositories."""
    subject = Subject(resource, credential.scope, credential.name, resource.id_of(credential))
    return tested(
        actor, subject, lambda: replace(of_registry(_opened(credential)), lists=repository)
    )


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
