"""Every driver maps or refuses every field of the spec; the failure names both."""

import pytest

from gangline.clusters.drivers.local.driver import LocalDriver
from gangline.spec.base import Ui
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.workload import ReplicaSpec, WorkerSpec

DRIVERS = {"local": LocalDriver}
FIELDS = dict(catalogue(WorkerSpec)) | dict(catalogue(ReplicaSpec))


def forgotten(driver: type[LocalDriver], fields: dict[str, SpecField]) -> list[str]:
    return [path for path in fields if path not in driver.mapped | driver.unsupported.keys()]


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("path", FIELDS)
def test_a_field_is_mapped_or_refused(kind: str, path: str) -> None:
    assert not forgotten(DRIVERS[kind], {path: FIELDS[path]}), (
        f"The {kind} driver neither maps nor refuses {path}: add it to a table of its mapping, or "
        "to UNSUPPORTED with the reason."
    )


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_driver_knows_no_field_that_is_gone(kind: str) -> None:
    driver = DRIVERS[kind]
    assert driver.mapped | driver.unsupported.keys() <= FIELDS.keys()
    assert not driver.mapped & driver.unsupported.keys()


def test_a_new_field_is_missed() -> None:
    """The control: the test above can fail."""
    new = SpecField("spotInstances", Kind.BOOLEAN, Ui("Spot", section="general"))
    assert forgotten(LocalDriver, {new.path: new}) == ["spotInstances"]
