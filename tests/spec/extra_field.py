"""A spec with one more field than the product has, to see that everything follows from the spec."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import Field, create_model

from gangline.policies import selectors
from gangline.spec.base import Default, SpecModel, Ui
from gangline.spec.workload import SPEC, ReplicaSpec, SpecModels, WorkerSpec

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


@contextmanager
def product_with_extra_field() -> Iterator[None]:
    """The whole product with one more field, as if it stood in the spec: `SPEC` is everywhere."""
    mine, before = with_extra_field(), (SPEC.worker, SPEC.master)
    _put(mine.worker, mine.master)
    try:
        yield
    finally:
        _put(*before)


def _put(worker: type[SpecModel], master: type[SpecModel]) -> None:
    object.__setattr__(SPEC, "worker", worker)
    object.__setattr__(SPEC, "master", master)
    # In the product a spec never changes, so what was merged for the one before is kept.
    selectors._parsed.cache_clear()
    selectors._merged.cache_clear()


def _extended(model: type[SpecModel]) -> type[SpecModel]:
    extended: type[SpecModel] = create_model(
        f"{model.__name__}WithOneMore", __base__=model, throw_away=_EXTRA
    )
    return extended
