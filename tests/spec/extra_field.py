"""A spec with one more field than the product has, to see that everything follows from the spec."""

from typing import Annotated, Any

from pydantic import Field, create_model

from gangline.spec.base import Default, SpecModel, Ui
from gangline.spec.workload import ReplicaSpec, SpecModels, WorkerSpec

EXTRA = "throwAway"
LABEL = "Throw-away"
_EXTRA: Any = (
    Annotated[
        int | None,
        Field(ge=1, le=9),
        Ui(LABEL, help="Only a test has it.", section="general"),
        Default(3),
    ],
    None,
)


def with_extra_field() -> SpecModels:
    """The product's two models, each with ``throwAway``: a whole number from 1 to 9, default 3."""
    return SpecModels(worker=_extended(WorkerSpec), master=_extended(ReplicaSpec))


def _extended(model: type[SpecModel]) -> type[SpecModel]:
    extended: type[SpecModel] = create_model(
        f"{model.__name__}WithOneMore", __base__=model, throw_away=_EXTRA
    )
    return extended
