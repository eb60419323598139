"""What the operator set in the environment, in groups, without secrets."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

SECRETS = frozenset({"secret_key", "database_url", "redis_url", "fail_points"})
GROUPS = {
    "Addresses": (
        "host", "port", "public_url", "allowed_hosts", "behind_proxy", "trusted_proxies",
        "cluster_addresses",
    ),
    "This machine as a cluster": (
        "local_cluster", "local_gpus", "local_roots", "local_hidden", "local_sandbox",
    ),
    "Retention": ("log_cap_bytes", "keep_deleted_days"),
}  # fmt: skip
REST = "Installation"


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    value: str
    is_given: bool
    help: str


def environment(search: str = "") -> dict[str, list[Variable]]:
    """Every variable but secrets whose name or help holds ``search``, by group."""
    found: dict[str, list[Variable]] = {}
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    for field, variable in _variables():
        if search.lower() in f"{variable.name} {variable.help}".lower():
            found.setdefault(group_of.get(field, REST), []).append(variable)
    return {group: found[group] for group in (REST, *GROUPS) if group in found}


def _variables() -> Iterator[tuple[str, Variable]]:
    given = settings.GANGLINE
    for name, field in type(given).model_fields.items():
        if name in SECRETS:
            continue
        variable = str(field.validation_alias or f"GANGLINE_{name.upper()}")
        help_ = (field.description or "").replace("`", "")
        value = _in_words(getattr(given, name))
        yield name, Variable(variable, value, variable in os.environ, help_)


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "–"
    return "–" if value in (None, "") else str(value)
