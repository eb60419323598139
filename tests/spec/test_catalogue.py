"""The catalogue follows from the declared models, and says so when a declaration is incomplete."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from gangline.spec.base import SECTIONS, AtLeast, Default, ItemKey, Only, SpecModel, Ui
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.problems import Role
from gangline.spec.types import Quantity, Text
from gangline.spec.values import validate
from gangline.spec.workload import SPEC, ReplicaSpec, WorkerSpec
from tests.spec.extra_field import EXTRA, LABEL, with_extra_field

GENERAL = Ui("Sample", section="general")


def test_the_kind_of_a_field_follows_from_its_type() -> None:
    kinds = {path: field.kind for path, field in catalogue(WorkerSpec).items()}
    assert (
        kinds.items()
        >= {
            "distributedFramework": Kind.CHOICE,
            "image": Kind.STRING,
            "command": Kind.COMMAND,
            "args": Kind.COMMAND,
            "workingDir": Kind.STRING,
            "environmentVariables": Kind.ITEMIZED,
            "numWorkers": Kind.INTEGER,
            "compute.gpuDevicesRequest": Kind.INTEGER,
            "compute.cpuCoreRequest": Kind.NUMBER,
            "compute.cpuCoreLimit": Kind.NUMBER,
            "compute.cpuMemoryRequest": Kind.QUANTITY,
            "compute.cpuMemoryLimit": Kind.QUANTITY,
            "terminationGracePeriodSeconds": Kind.DURATION,
            "backoffLimit": Kind.INTEGER,
            "autoDeletionTimeAfterCompletionSeconds": Kind.DURATION,
            "labels": Kind.ITEMIZED,
            "annotations": Kind.ITEMIZED,
        }.items()
    )


def test_fields_stand_in_the_order_of_the_form() -> None:
    sections = [field.ui.section for field in catalogue(WorkerSpec).values()]
    assert sections == sorted(sections, key=list(SECTIONS).index)


def test_only_the_worker_has_what_exists_once_per_workload() -> None:
    worker, master = catalogue(WorkerSpec), catalogue(ReplicaSpec)
    once = {path for path, field in worker.items() if field.workload_level}
    assert once == worker.keys() - master.keys(), (
        "What stands in WorkerSpec alone carries WorkloadLevel(); the rest stands in ReplicaSpec."
    )
    assert master.keys() < worker.keys()


def test_a_field_carries_its_notes() -> None:
    field = catalogue(WorkerSpec)["compute.gpuDevicesRequest"]
    assert (field.minimum, field.maximum, field.default) == (0, 64, 0)
    assert (field.label, field.ui.unit, field.flag) == (
        "GPU devices per pod",
        "GPUs",
        "gpu-devices-request",
    )
    variables = catalogue(WorkerSpec)["environmentVariables"]
    assert (variables.item_key, variables.max_items, variables.flag) == ("name", 200, "env")
    assert [item.path for item in variables.items[:3]] == ["name", "value", "secret.name"]
    sources = ["value", "secret", "configMap", "podFieldRef", "userCredential"]
    assert list(variables.alternatives) == sources
    assert variables.attribute("value") is variables.items[1]
    assert variables.attribute("colour") is None
    assert catalogue(WorkerSpec)["compute.cpuCoreLimit"].at_least == "compute.cpuCoreRequest"
    assert catalogue(WorkerSpec)["image"].guarded


def test_every_default_is_valid() -> None:
    defaults = {p: f.default for p, f in catalogue(WorkerSpec).items() if f.default is not None}
    assert defaults
    assert validate(WorkerSpec, Role.WORKER, defaults) == []


def test_the_choices_of_the_framework_are_the_known_frameworks() -> None:
    assert catalogue(WorkerSpec)["distributedFramework"].choices == tuple(FRAMEWORKS)


def test_a_declared_field_is_in_the_catalogue_and_the_schema_at_once() -> None:
    models = with_extra_field()
    for model in (models.worker, models.master):
        field = catalogue(model)[EXTRA]
        assert (field.kind, field.label, field.default) == (Kind.INTEGER, LABEL, 3)
        assert model.model_json_schema()["properties"][EXTRA]["title"] == LABEL
        assert EXTRA in {p.path for p in validate(model, Role.WORKER, {EXTRA: 10})}
    assert EXTRA not in catalogue(SPEC.worker)


class Item(SpecModel):
    name: Annotated[Text, Ui("Name")]


def declared(annotation: Any, default: Any = None) -> type[SpecModel]:
    namespace = {"__annotations__": {"sample": annotation}, "__module__": __name__}
    if default is not ...:
        namespace["sample"] = default
    return type("Declared", (SpecModel,), namespace)


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        (Annotated[int | None, Field(ge=0, le=1)], "a spec field needs a Ui note"),
        (Annotated[bool | None, Ui("Sample")], "the section of its Ui note must be one of setup"),
        (Annotated[bool | None, Ui("Sample", section="x")], "the section of its Ui note"),
        (Annotated[int | None, Field(ge=0), GENERAL], "a number needs a Le note"),
        (Annotated[float | None, Field(le=0), GENERAL], "a number needs a Ge note"),
        (Annotated[str | None, GENERAL], "text needs a MaxLen note"),
        (Annotated[Quantity | None, GENERAL], "a quantity needs a SizeRange note"),
        (Annotated[list[Item] | None, Field(max_length=3), GENERAL], "a list needs a ItemKey note"),
        (Annotated[list[Item] | None, ItemKey("name"), GENERAL], "a list needs a MaxLen note"),
        (
            Annotated[list[str] | None, ItemKey("name"), GENERAL],
            "the items of a list must be objects",
        ),
        (
            Annotated[list[Item] | None, Field(max_length=3), ItemKey("key"), GENERAL],
            "ItemKey names key, which its items do not have",
        ),
        (Annotated[bytes | None, GENERAL], "a spec field cannot be of type"),
        (Annotated[int | str, GENERAL], "a spec field cannot be of type"),
        (
            Annotated[int | None, Field(ge=0, le=1), AtLeast("other"), GENERAL],
            "a note names other, which does not exist",
        ),
    ],
)
def test_an_incomplete_declaration_names_the_field(annotation: Any, complaint: str) -> None:
    with pytest.raises(TypeError, match=f"^sample: {complaint}"):
        catalogue(declared(annotation))


def test_a_field_must_be_optional() -> None:
    with pytest.raises(TypeError, match=r"^sample: it must be optional"):
        catalogue(declared(Annotated[bool, GENERAL], ...))


def test_other_notes_are_read() -> None:
    model = declared(
        Annotated[float | None, Field(gt=0, le=1), GENERAL, Only(("MPI",)), Default(0.5)]
    )
    field: SpecField = catalogue(model)["sample"]
    assert (field.exclusive_minimum, field.minimum, field.maximum) == (0, None, 1)
    assert field.only == ("MPI",)
    assert not Kind.BOOLEAN.is_numeric
    assert field.kind.is_numeric


def test_another_spelling_of_a_choice_is_understood() -> None:
    field = catalogue(WorkerSpec)["distributedFramework"]
    assert field.canonical("TensorFlow") == "TF"
    assert field.canonical("MPI") == "MPI"
    assert field.canonical(["TensorFlow"]) == ["TensorFlow"]


def test_how_to_sign_in_is_told_where_a_credential_is_named() -> None:
    git = catalogue(WorkerSpec)["storage.git"]
    method = {"authenticationMethod": "password"}
    for named in ({}, {"name": "deploy"}):
        item = {"repository": "https://git.example/code", "secretRef": method | named}
        told = git.telling(git.complete(item))
        assert told["repository"] == "https://git.example/code"
        assert told["secretRef.authenticationMethod"] == ("password" if named else None)
