"""Filling a draft from a template or an earlier workload: copied in once, then the person's."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from assets.models import Template
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.problems import Role
from gangline.spec.sources import Source, copy_source, template_source
from gangline.spec.workload import SPEC, SpecModels
from gangline.spec_forms.item_texts import item_texts
from gangline.spec_forms.raw import RoleInputs, Row, new_row_id
from gangline.spec_forms.said import typed_of
from workloads.models import Workload
from workloads.wizard.state import (
    CLUSTER,
    CONFIGURATION,
    FRAMEWORK,
    NAME,
    PROJECT,
    SCRATCH,
    TEMPLATE,
    DraftState,
)

DIFFERENCES = "differences"


def with_template(
    state: DraftState, template: Template | None, models: SpecModels = SPEC
) -> DraftState:
    """``state`` started from ``template`` (None: from scratch).

    Only what came from the template chosen before is replaced; what the person said stays (R21).
    """
    before = state.text(TEMPLATE)
    if before:
        state = state.without_source(template_source(before))
    if template is None:
        return state.with_setup(TEMPLATE, SCRATCH)
    source = template_source(template.pk)
    worker, master = inputs_of(template.values, source, models)
    state = replace(
        state,
        worker=worker.under(state.worker),
        master=master.under(state.master),
        different=template.master == DIFFERENCES or state.different,
    )
    state = state.with_setup(TEMPLATE, str(template.pk), source)
    state = state.with_setup(FRAMEWORK, template.framework, source)
    return state.with_setup(CONFIGURATION, template.configuration, source)


def copy_of(workload: Workload, *, name: str, models: SpecModels = SPEC) -> DraftState:
    """A draft that asks for what ``workload`` asked for, under another name."""
    source = copy_source(workload.pk)
    values = {path: given["value"] for path, given in workload.given.items()}
    worker, master = inputs_of(values, source, models)
    state = DraftState(
        worker=worker,
        master=master,
        different=workload.master in (DIFFERENCES, "own"),
        copied_from=str(workload.pk),
    )
    for field, text in {
        CLUSTER: str(workload.cluster_id),
        PROJECT: str(workload.project_id),
        FRAMEWORK: workload.framework,
        CONFIGURATION: workload.configuration,
    }.items():
        state = state.with_setup(field, text, source)
    return state.with_setup(NAME, name)


def inputs_of(
    values: Mapping[str, Any], source: Source, models: SpecModels = SPEC
) -> tuple[RoleInputs, RoleInputs]:
    """Values by qualified path as what a person would have typed. Unknown paths are left out."""
    halves = {Role.WORKER: RoleInputs(), Role.MASTER: RoleInputs()}
    known = {Role.WORKER: catalogue(models.worker), Role.MASTER: catalogue(models.master)}
    for qualified, value in values.items():
        role_name, _, path = qualified.partition(".")
        role = Role.MASTER if role_name == Role.MASTER else Role.WORKER
        spec = known[role].get(path)
        if spec is None or value is None or path == FRAMEWORK:
            continue
        if spec.kind is Kind.ITEMIZED:
            halves[role] = halves[role].with_rows(path, _rows(spec, value, source))
        else:
            halves[role] = halves[role].with_scalar(path, typed_of(spec, value, source))
    return halves[Role.WORKER], halves[Role.MASTER]


def _rows(spec: SpecField, items: Iterable[Mapping[str, Any]], source: Source) -> Iterable[Row]:
    for item in items:
        key = str(item.get(spec.item_key, ""))
        if item.get("exclude"):
            yield Row(new_row_id(), {}, source, of=key, removed=True)
        else:
            yield Row(new_row_id(), item_texts(spec, item), source)
