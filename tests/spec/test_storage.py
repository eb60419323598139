"""Volumes in the spec: each attribute, and what does not go together."""

from typing import Any

import pytest

from gangline.spec.catalogue import Kind, catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.values import validate
from gangline.spec.workload import ReplicaSpec

PATH = "storage.pvc"
DATA: dict[str, Any] = {"name": "data", "path": "/data", "claimInfo": {"size": "500G"}}
THERE: dict[str, Any] = {
    "name": "sets",
    "path": "/sets",
    "existingPvc": True,
    "claimName": "imagenet",
}


def problems(*items: Any) -> list[Problem]:
    return validate(ReplicaSpec, Role.WORKER, {PATH: list(items)})


def claim(**info: Any) -> dict[str, Any]:
    return DATA | {"claimInfo": {"size": "500G"} | info}


@pytest.mark.parametrize(
    "volume",
    [
        DATA,
        THERE,
        THERE | {"readOnly": True, "claimInfo": {"volumeMode": "Filesystem"}},
        DATA | {"ephemeral": True, "claimName": "own-name.1"},
        claim(storageClass="csi.fast-2", volumeMode="Block"),
        claim(accessModes={"readWriteOnce": False, "readOnlyMany": True}),
        claim(accessModes={"readWriteMany": True}),
        *(claim(size=f"9{unit}") for unit in ("M", "G", "T", "Mi", "Gi", "Ti")),
        DATA | {"path": "/mnt/data/"},
    ],
)
def test_a_volume_is_taken(volume: dict[str, Any]) -> None:
    assert problems(volume) == []


@pytest.mark.parametrize(
    ("volume", "attribute", "rule", "message"),
    [
        ({"name": "data", "path": "/data"}, "claimInfo.size", "required", "is required"),
        (DATA | {"claimInfo": None}, "claimInfo.size", "required", "is required"),
        (claim(size="1.5G"), "claimInfo.size", "format", "must be a whole number with a unit"),
        (claim(size="5"), "claimInfo.size", "format", "must be a whole number with a unit"),
        (claim(size="0G"), "claimInfo.size", "min", "must be between 1 MB and 1 PB"),
        (claim(size="2000T"), "claimInfo.size", "max", "must be between 1 MB and 1 PB"),
        (claim(storageClass="Fast"), "claimInfo.storageClass", "format", "must have lowercase"),
        (claim(volumeMode="Disk"), "claimInfo.volumeMode", "options", "must be one of Filesystem"),
        (claim(sise="1G"), "claimInfo.sise", "unknown", "is not a known field; did you mean size?"),
        (DATA | {"claimInfo": "5G"}, "claimInfo", "type", "must be an object with size and"),
        (
            claim(accessModes={"readWriteOnce": False}),
            "claimInfo.accessModes.readWriteOnce",
            "format",
            "must be chosen, or another access mode",
        ),
        (
            claim(accessModes={"readWriteOnce": "yes"}),
            "claimInfo.accessModes.readWriteOnce",
            "type",
            "must be true or false",
        ),
        (
            claim(accessModes={"readWrite": True}),
            "claimInfo.accessModes.readWrite",
            "unknown",
            "is not a known field; did you mean readWriteOnce?",
        ),
        (DATA | {"path": "data"}, "path", "format", "must be an absolute path"),
        (DATA | {"path": "/"}, "path", "format", "must be a folder below “/”"),
        (DATA | {"path": "/a//b"}, "path", "format", "must not contain “//”"),
        (DATA | {"path": "/a:b"}, "path", "format", "must not contain “:”"),
        (DATA | {"path": "/a/../b"}, "path", "format", "must not contain “..”"),
        (DATA | {"name": "My data"}, "name", "format", "must have 1 to 40 lowercase letters"),
        (DATA | {"existingPvc": True}, "claimName", "required", "is required"),
        (THERE | {"claimInfo": {"size": "1G"}}, "claimInfo.size", "format", "must be empty"),
        (THERE | {"ephemeral": True}, "ephemeral", "format", "must be off: Gangline removes no"),
        (
            THERE | {"readOnly": True, "claimInfo": {"volumeMode": "Block"}},
            "readOnly",
            "format",
            "must be off: a block device is not mounted",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_attribute(
    volume: dict[str, Any], attribute: str, rule: str, message: str
) -> None:
    found = problems(THERE | {"name": "first", "path": "/first"}, volume)
    told = next(p for p in found if p.path == f"{PATH}.1.{attribute}")
    assert (told.rule, told.message[: len(message)]) == (rule, message)
    assert told.accepted


def test_everything_that_is_wrong_is_told_at_once() -> None:
    found = problems(claim(size="5", storageClass="Fast") | {"path": "data", "readOnly": "no"})
    assert {p.path.removeprefix(f"{PATH}.0.") for p in found} == {
        "path",
        "claimInfo.size",
        "claimInfo.storageClass",
        "readOnly",
    }


def test_one_name_and_one_place_for_each() -> None:
    found = problems(DATA, DATA | {"name": "more", "path": "/data/"}, DATA | {"path": "/other"})
    assert {(p.path, p.rule) for p in found} == {
        (f"{PATH}.2.name", "unique"),
        (f"{PATH}.1.path", "unique"),
    }
    assert {p.sentence for p in found} == {
        "Volume data is used twice. You entered data.",
        "Container path of volume more is used twice. You entered /data/.",
    }


def test_one_place_for_each_of_all_lists() -> None:
    folder = {"name": "sets", "server": "nas.lab", "path": "/x", "mountPath": "/data/"}
    found = validate(ReplicaSpec, Role.WORKER, {PATH: [DATA], "storage.nfs": [folder]})
    assert [(p.path, p.rule) for p in found] == [("storage.nfs.0.mountPath", "unique")]
    assert "sets" in found[0].sentence
    assert "volume data" in found[0].sentence


def test_attributes_inside_of_others_stand_in_the_catalogue() -> None:
    field = catalogue(ReplicaSpec)[PATH]
    size = field.attribute("claimInfo.size")
    once = field.attribute("claimInfo.accessModes.readWriteOnce")
    assert size is not None
    assert once is not None
    assert (size.kind, size.units[0]) == (Kind.QUANTITY, "G")
    assert (once.group, once.default) == ("Access modes", True)


def test_what_an_item_leaves_out_is_its_default() -> None:
    told = catalogue(ReplicaSpec)[PATH].complete(claim(accessModes={"readWriteOnce": None}))
    assert told["claimInfo.accessModes.readWriteOnce"] is True
    assert told["claimInfo.volumeMode"] == "Filesystem"
    assert (told["ephemeral"], told["claimName"]) == (False, None)


@pytest.mark.parametrize(
    ("folder", "rules"),
    [
        ({}, []),
        ({"sizeLimit": "4Ti"}, []),
        ({"medium": "Memory", "sizeLimit": "1G"}, []),
        ({"medium": "Memory"}, ["required"]),
        ({"sizeLimit": "10Ti"}, ["max"]),
    ],
)
def test_a_temporary_folder_has_an_end(folder: dict[str, str], rules: list[str]) -> None:
    """Security row 61."""
    given = {"storage.emptyDirVolume": [{"name": "a", "path": "/a", **folder}]}
    found = validate(ReplicaSpec, Role.WORKER, given)
    assert [one.rule for one in found] == rules
    assert {one.path for one in found} <= {"storage.emptyDirVolume.0.sizeLimit"}
