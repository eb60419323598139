"""What names an asset or a credential, and so keeps it from being deleted."""

import re
from collections.abc import Callable
from typing import Any

from django.db.models import Model, QuerySet, TextField
from django.db.models.functions import Cast
from django.urls import reverse

from assets.kinds import DATA_KINDS, kind_of_asset
from assets.models import Asset, Credential, DataSource, Environment, Template
from assets.selectors.templates import usable_templates
from gangline.access.grants import visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.policies.models import Policy
from gangline.policies.parser import parse
from gangline.resources.registry import Uses, get, register_usage


def register() -> None:
    """Let the deletion of assets and credentials, and their pages, ask what uses them."""
    for model, noun, resource in (
        (Environment, "environment", "environment"),
        (DataSource, "data source", "data_source"),
    ):
        register_usage(Credential, _named_by(model, noun, get(resource).visible, _url))
    by_template = _named_by(Template, "template", usable_templates, get("template").url)
    register_usage(Credential, by_template)
    register_usage(Credential, _named_in_policies)
    for kind in DATA_KINDS:
        register_usage(kind.model, _imposed_by)


def _url(asset: Asset) -> str:
    return get(kind_of_asset(asset).resource_key).url(asset)


def _named_by(
    model: type[Model],
    noun: str,
    visible: Callable[[User], QuerySet[Any]],
    url: Callable[[Any], str],
) -> Callable[[Any], Uses]:
    """Objects with ``values`` that name the credential."""

    def uses(credential: Any) -> Uses:
        rows = model._default_manager.annotate(text=Cast("values", TextField()))
        return Uses(noun, rows.filter(text__contains=f'"{credential.object_name}"'), visible, url)

    return uses


def _named_in_policies(credential: Any) -> Uses:
    """Policies whose defaults or rules name the credential."""
    name = re.escape(credential.object_name)
    return _policies(Policy.objects.filter(text__regex=f"(^|[^-a-z0-9]){name}($|[^-a-z0-9])"))


def _imposed_by(source: Any) -> Uses:
    """Policies that impose the data source: without it nothing could be started under them."""
    key = str(source.pk)
    stored = Policy.objects.filter(text__contains="imposedAssets")
    found = [one.pk for one in stored if key in _imposed(one)]
    return _policies(Policy.objects.filter(pk__in=found))


def _imposed(policy: Policy) -> set[str]:
    document = parse(policy.text)
    return {*document.worker.imposed, *document.master.imposed}


def _policies(rows: QuerySet[Policy]) -> Uses:
    def visible(user: User) -> QuerySet[Policy]:
        return Policy.objects.filter(scope__in=visible_scopes(user, Permission.POLICY_VIEW))

    def url(policy: Policy) -> str:
        return reverse("policy-edit", args=[policy.scope_id])

    return Uses("policy", rows.select_related("scope"), visible, url)
