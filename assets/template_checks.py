"""What is wrong with a template by itself, wherever it is used."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from assets.kinds import KINDS
from assets.layers import Mode, field_at
from assets.models import Asset, Template
from gangline.scopes.selectors import scopes_to
from gangline.spec.catalogue import Kind
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_ONLY, configuration_problem
from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.words import one_of
from gangline.spec.workload import SPEC

FRAMEWORK = "distributedFramework"
LINKABLE = tuple(kind for kind in KINDS if kind.key in ("environment", "compute"))
"""Data sources are values of the template itself."""


def template_problems(template: Template) -> list[Problem]:
    """Everything, in the order of the form; policies judge it where it is used."""
    return [
        *_setup(template),
        *_values(template, Role.WORKER),
        *_values(template, Role.MASTER),
        *_modes(template),
        *_links(template),
    ]


def _setup(template: Template) -> Iterator[Problem]:
    if template.framework not in FRAMEWORKS:
        names = one_of(list(FRAMEWORKS))
        yield Problem.of(
            Role.WORKLOAD, "framework", "options", value=template.framework,
            accepted=f"one of {names}", label="Framework",
        )  # fmt: skip
    elif problem := configuration_problem(template.framework, template.configuration):
        yield problem


def _values(template: Template, role: Role) -> Iterator[Problem]:
    start = f"{role}."
    values = {p.removeprefix(start): v for p, v in template.values.items() if p.startswith(start)}
    model = SPEC.worker if role is Role.WORKER else SPEC.master
    yield from validate(model, role, values, is_whole=False)
    has_master = template.configuration != WORKERS_ONLY and template.master == "differences"
    for path, value in values.items():
        spec = field_at(f"{role}.{path}")
        if path == FRAMEWORK:
            yield Problem.of(role, path, "unknown:once", value=value)
        elif spec and spec.only and template.framework not in spec.only:
            yield Problem.of(
                role, path, "framework", frameworks=one_of(spec.only), value=value,
                accepted="no value", label=spec.label,
            )  # fmt: skip
        elif role is Role.MASTER and not has_master:
            yield Problem.of(
                role, path, "master:same", value=value, accepted="no value",
                label=spec.label if spec else path,
            )  # fmt: skip
    for qualified, value in template.values.items() if role is Role.WORKER else ():
        if qualified.partition(".")[0] not in (Role.WORKER, Role.MASTER):
            yield Problem.of(Role.WORKLOAD, qualified, "unknown", value=value)


def _modes(template: Template) -> Iterator[Problem]:
    for qualified, mode in template.modes.items():
        role, _, path = qualified.partition(".")
        spec = field_at(qualified)
        if spec is None or path == FRAMEWORK:
            yield Problem.of(Role.WORKLOAD, f"modes.{qualified}", "unknown", value=mode)
        elif mode not in Mode.values:
            accepted = one_of(Mode.values)
            yield Problem.of(
                Role(role), path, "mode", value=mode, accepted=accepted, label=spec.label
            )
        elif mode == Mode.ASK and template.values.get(qualified) not in (None, "", []):
            value = template.values[qualified]
            shown = value if spec.kind is not Kind.ITEMIZED else None
            yield Problem.of(
                Role(role), path, "ask", value=shown, accepted="no value", label=spec.label
            )


def _links(template: Template) -> Iterator[Problem]:
    known = {f"{role}.{kind.key}": kind for role in ("worker", "master") for kind in LINKABLE}
    line = {s.pk for s in scopes_to(template.scope)} if vars(template)["scope_id"] else ()
    for key, pk in template.links.items():
        kind = known.get(key)
        if kind is None:
            yield Problem.of(Role.WORKLOAD, f"links.{key}", "unknown:link", value=pk)
            continue
        role = Role(key.partition(".")[0])
        asset = _asset(str(pk), kind.key)
        if asset is None or asset.scope_id not in line:
            yield Problem.of(
                role, kind.key, "options:nowhere", value=str(pk),
                accepted=f"the id of {kind.word} of its scope or of one above", label=kind.label,
            )  # fmt: skip
            continue
        yield from _doubled(template, role, asset)


def _asset(pk: str, kind: str) -> Asset | None:
    try:
        return Asset.objects.filter(pk=UUID(pk), kind=kind).first()
    except ValueError:
        return None


def _doubled(template: Template, role: Role, asset: Asset) -> Iterator[Problem]:
    """Values that the linked asset has as well: they would not follow it."""
    values: Mapping[str, object] = template.values
    for path in asset.values:
        spec, value = field_at(f"{role}.{path}"), values.get(f"{role}.{path}")
        if spec is not None and not spec.is_by_item and value not in (None, ""):
            yield Problem.of(
                role, path, "linked", asset=asset.name, value=value, accepted="no value",
                label=spec.label,
            )  # fmt: skip
