"""What a kind of cluster cannot do, and that is asked of it all the same."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gangline.drivers.base import Driver
from gangline.policies.engine import Resolution
from gangline.settings.label_domains import refused_domain
from gangline.spec.catalogue import SpecField, catalogue
from gangline.spec.problems import Problem, Role, shown
from gangline.spec.sources import WORKERS, ItemSource, Source, SourceKind, Value
from gangline.spec.values import item_label
from gangline.spec.words import lowered, one_of
from gangline.spec.workload import SPEC


def unsupported(driver: Driver, resolution: Resolution) -> Iterator[Problem]:
    """Fields with a given value that this kind of cluster does not have."""
    for qualified, effective in resolution.effective.items():
        role, _, path = qualified.partition(".")
        field = catalogue(SPEC.worker).get(path)
        if field is not None and field.alternatives and effective.items:
            yield from _items(driver.unsupported, Role(role), field, effective)
        reason = driver.unsupported.get(path)
        # A policy may hold for clusters of several kinds. Who says no to it asks for nothing.
        if reason and effective.source.is_given and effective.value not in (None, False, [], {}):
            yield Problem.of(
                Role(role), path, "unsupported", why=reason, value=effective.value,
                accepted="no value",
            )  # fmt: skip


def reserved_keys(resolution: Resolution) -> Iterator[Problem]:
    """Labels and annotations with a domain that people may not use."""
    for qualified, effective in resolution.effective.items():
        role, _, path = qualified.partition(".")
        if path not in ("labels", "annotations") or not isinstance(effective.value, list):
            continue  # what is no list is refused by the spec
        origins = list(effective.items)
        if len(origins) != len(effective.value):
            origins = [ItemSource("", effective.source)] * len(effective.value)
        for item, origin in zip(effective.value, origins, strict=True):
            key = item.get("name") if _is_told(item, origin.source) else None
            domain = refused_domain(key) if isinstance(key, str) else ""
            if not domain:
                continue
            yield Problem.of(
                Role(role), path if origin.sent is None else f"{path}.{origin.sent}.name",
                "reserved:domain", domain=domain, value=key,
                accepted="another domain, or none", key=str(key),
                source=origin.source.name if origin.sent is None else "",
            )  # fmt: skip


def by_policy(
    driver: Driver, resolution: Resolution, known: Iterable[Problem], cluster: str
) -> Iterator[Problem]:
    """What a policy insists on and the cluster cannot give: nothing passes for want of a field.

    A policy's default for such a field is simply not used.
    """
    missing = {(p.role, p.path): p for p in known if p.rule == "required" and p.source}
    for qualified, effective in resolution.effective.items():
        role, _, path = qualified.partition(".")
        is_fixed = effective.source.kind is SourceKind.FIXED
        if (
            is_fixed
            and effective.value not in (None, False, [], {})
            and (reason := driver.unsupported.get(path))
        ):
            label = catalogue(SPEC.worker)[path].label
            yield Problem.of(
                Role(role), path, "cluster:fixed", cluster=cluster, why=reason,
                value=effective.value,
                accepted="another cluster, or a policy that leaves it open",
                source=effective.source.name, label=label,
            )  # fmt: skip
    for (role_, path), problem in missing.items():
        if reason := driver.unsupported.get(path):
            yield problem.at(
                role=role_, code="cluster:required", cluster=cluster, why=reason,
                accepted="another cluster, or a policy that does not require it",
            )  # fmt: skip


def _items(
    unsupported: Mapping[str, str], role: Role, field: SpecField, effective: Value
) -> Iterator[Problem]:
    """Entries that cannot be as they are. A policy's count too: left out, they would be missed."""
    able = [name for name in field.alternatives if f"{field.path}.{name}" not in unsupported]
    for index, (item, origin) in enumerate(zip(effective.value, effective.items, strict=True)):
        for name in field.alternatives if _is_told(item, origin.source) else ():
            reason = unsupported.get(f"{field.path}.{name}")
            if reason is None or item.get(name) is None:
                continue
            place = "" if origin.sent is None else f".{origin.sent}.{name}"
            label = lowered(item_label(field, index, shown(origin.key)))
            yield Problem.of(
                role, f"{field.path}{place}", "unsupported", why=reason,
                accepted=one_of(able),
                source=origin.source.name if origin.sent is None else "",
                key=origin.key, label=f"{field.alternatives[name]} of {label}",
            )  # fmt: skip


def _is_told(item: Any, source: Source) -> bool:
    """What a master has from the workers is told at theirs."""
    return isinstance(item, dict) and source != WORKERS
