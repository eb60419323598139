"""What a draft begins with: a template below it, or an earlier workload copied in."""

from dataclasses import replace

from assets.models import Template
from gangline.spec.sources import copy_source, template_source
from gangline.spec.workload import SPEC, SpecModels
from gangline.spec_forms.said import typed_values
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


def with_template(state: DraftState, template: Template | None) -> DraftState:
    """``state`` upon ``template`` (None: from scratch), whose values stay its own.

    What the person said stays, also upon another template (R21).
    """
    before = state.text(TEMPLATE)
    if before:
        state = state.without_source(template_source(before))
    if template is None:
        return state.with_setup(TEMPLATE, SCRATCH)
    source = template_source(template.pk)
    state = replace(state, different=template.master == DIFFERENCES or state.different)
    state = state.with_setup(TEMPLATE, str(template.pk), source)
    state = state.with_setup(FRAMEWORK, template.framework, source)
    return state.with_setup(CONFIGURATION, template.configuration, source)


def copy_of(workload: Workload, *, name: str, models: SpecModels = SPEC) -> DraftState:
    """A draft that asks for what ``workload`` asked for, under another name."""
    source = copy_source(workload.pk)
    values = {path: given["value"] for path, given in workload.given.items()}
    worker, master = typed_values(values, source, models)
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
