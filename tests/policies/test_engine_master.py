"""The master: as the workers, different in some fields, or all its own (R24)."""

import pytest

from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.sources import DEFAULT, WORKERS, YOU, Source, SourceKind, policy_source
from tests.policies.sample_models import document, messages, policy, say

TENANT = policy_source("the whole installation")

GPUS = "compute.gpuDevicesRequest"
DEFAULTS = policy(
    document(
        defaults={
            "worker": {"compute": {"gpuDevicesRequest": 2, "cpuCoreRequest": 4}, "image": "w"},
            "master": {"compute": {"gpuDevicesRequest": 0}},
        }
    )
)


def test_without_a_master_nothing_is_said_of_one() -> None:
    given = {"master.image": "a b", "master.nothing": 1}
    resolution = say(None, sent={"configuration": WORKERS_ONLY}, **given)
    assert resolution.problems == []
    assert resolution.values("master") == {}


def test_the_same_master_is_as_the_workers_are() -> None:
    resolution = say(DEFAULTS, **{f"worker.{GPUS}": 4, f"master.{GPUS}": 1})
    master = resolution.values("master")
    worker = resolution.values("worker")
    assert master == {path: worker[path] for path in master}
    assert (master[GPUS], master["image"]) == (4, "w")
    assert "numWorkers" not in master
    assert {resolution.effective[f"master.{path}"].source for path in master} == {WORKERS}
    assert resolution.problems == resolution.master_forced == []


def test_a_differing_master_follows_what_the_workers_say() -> None:
    resolution = say(
        DEFAULTS,
        sent={"master": "differences"},
        **{"worker.args": "--x", "worker.command": "run", "master.command": "launch"},
    )
    origins = {path: (e.value, e.source) for path, e in resolution.effective.items()}
    assert origins["master.command"] == ("launch", YOU)
    assert origins["master.args"] == ("--x", WORKERS)
    assert origins[f"master.{GPUS}"] == (0, TENANT)
    assert origins["master.image"] == ("w", WORKERS)
    assert origins["master.compute.cpuCoreRequest"] == (4, WORKERS)
    assert origins["master.compute.cpuMemoryRequest"] == ("100M", DEFAULT)


def test_a_master_of_its_own_takes_its_own_defaults_only() -> None:
    resolution = say(
        DEFAULTS, sent={"master": "own"}, **{"worker.args": "--x", "master.command": "launch"}
    )
    master = resolution.values("master")
    assert master["command"] == "launch"
    assert master[GPUS] == 0
    assert master["compute.cpuCoreRequest"] == 0.1
    assert "args" not in master


FIXED = policy(
    document(
        defaults={"master": {"compute": {"gpuDevicesRequest": 0}}},
        rules={"master": {"compute": {"gpuDevicesRequest": {"canEdit": False}}}},
    )
)


def test_a_fixed_master_field_forces_a_difference() -> None:
    resolution = say(FIXED, **{f"worker.{GPUS}": 2})
    assert messages(resolution) == [
        (f"master.{GPUS}", "cannot be changed; it is fixed to 0", "the whole installation")
    ]
    assert resolution.master_forced == resolution.problems
    assert say(FIXED).problems == []


def test_a_fixed_master_field_does_not_follow_the_workers() -> None:
    resolution = say(FIXED, sent={"master": "differences"}, **{f"worker.{GPUS}": 2})
    assert (resolution.problems, resolution.notices) == ([], [])
    assert resolution.effective[f"master.{GPUS}"].source == Source(
        SourceKind.FIXED, name="the whole installation"
    )


def test_a_differing_master_is_judged_by_its_own_rules() -> None:
    rules = policy(document(rules={"master": {"compute": {"gpuDevicesRequest": {"max": 1}}}}))
    resolution = say(rules, sent={"master": "differences"}, **{f"worker.{GPUS}": 2})
    assert messages(resolution) == [
        (f"master.{GPUS}", "must be at most 1", "the whole installation")
    ]
    assert resolution.master_forced == []


def test_what_the_workers_may_not_either_is_said_once() -> None:
    rules = policy(
        document(rules={"image": {"required": True}, "compute": {"gpuDevicesRequest": {"max": 1}}})
    )
    resolution = say(rules, **{f"worker.{GPUS}": 2})
    assert messages(resolution) == [
        ("worker.image", "is required", "the whole installation"),
        (f"worker.{GPUS}", "must be at most 1", "the whole installation"),
    ]
    assert resolution.master_forced == []


def test_what_only_the_master_needs_forces_a_difference() -> None:
    rules = policy(document(rules={"master": {"image": {"required": True}}}))
    assert messages(say(rules)) == [("master.image", "is required", "the whole installation")]


def test_a_wrong_value_of_the_workers_is_not_said_twice() -> None:
    rules = policy(document(rules={"master": {"compute": {"gpuDevicesRequest": {"max": 1}}}}))
    resolution = say(rules, **{f"worker.{GPUS}": "many", "worker.image": "a b"})
    assert [p.field_id for p in resolution.problems] == ["worker.image", f"worker.{GPUS}"]


def test_a_wrong_value_of_the_master_is_found() -> None:
    resolution = say(None, sent={"master": "own"}, **{"master.image": "a b"})
    assert [p.field_id for p in resolution.problems] == ["master.image"]


LOCKED = policy(
    document(
        defaults={"master": {"labels": {"instances": [{"name": "role", "value": "head"}]}}},
        rules={"master": {"labels": {"instances": {"locked": ["role"], "canAdd": False}}}},
    )
)


def test_lists_of_the_workers_are_judged_for_the_master_too() -> None:
    resolution = say(LOCKED, worker__labels=[{"name": "team", "value": "x"}])
    assert messages(resolution) == [
        (
            "master.labels",
            "is locked for the master, but not set the same way for the workers",
            "the whole installation",
        ),
        ("master.labels.0", "cannot be added to the master", "the whole installation"),
    ]
    assert [p.key for p in resolution.master_forced] == ["role", "team"]


def test_a_locked_item_that_the_workers_have_alike_is_no_problem() -> None:
    resolution = say(LOCKED, worker__labels=[{"name": "role", "value": "head"}])
    assert resolution.problems == []
    (origin,) = resolution.effective["master.labels"].items
    assert (origin.key, origin.source, origin.locked, origin.sent) == (
        "role",
        WORKERS,
        "the whole installation",
        0,
    )


def test_a_differing_master_takes_what_it_may_from_the_workers_list() -> None:
    resolution = say(
        LOCKED,
        sent={"master": "differences"},
        worker__labels=[{"name": "team", "value": "x"}, {"name": "role", "value": "hand"}],
    )
    assert (resolution.problems, resolution.notices) == ([], [])
    assert resolution.values("master")["labels"] == [{"name": "role", "value": "head"}]


def test_a_differing_master_follows_default_items_of_the_workers() -> None:
    rules = policy(
        document(defaults={"worker": {"labels": {"instances": [{"name": "a", "value": "1"}]}}})
    )
    resolution = say(rules, sent={"master": "differences"})
    entry = resolution.effective["master.labels"]
    assert (entry.value, entry.source) == ([{"name": "a", "value": "1"}], WORKERS)
    assert "labels" not in say(rules, sent={"master": "own"}).values("master")


def test_a_differing_master_keeps_its_own_default_items() -> None:
    resolution = say(LOCKED, sent={"master": "differences"})
    entry = resolution.effective["master.labels"]
    assert (entry.value, entry.source) == (
        [{"name": "role", "value": "head"}],
        TENANT,
    )
    assert entry.items[0].locked == "the whole installation"


@pytest.mark.parametrize("master", ["same", "differences", "own"])
def test_a_launcher_has_no_gpus_whatever_the_workers_have(master: str) -> None:
    rules = policy(document(defaults={"master": {"compute": {"gpuDevicesRequest": 1}}}))
    sent = {"framework": "MPI", "master": master}
    resolution = say(rules, sent=sent, **{f"worker.{GPUS}": 2})
    assert resolution.values("worker")[GPUS] == 2
    assert not [path for path in resolution.values("master") if "gpu" in path]
    assert resolution.problems == resolution.master_forced == []


def test_gpus_asked_for_a_launcher_are_left_out_and_said() -> None:
    resolution = say(None, sent={"framework": "MPI", "master": "own"}, **{f"master.{GPUS}": 1})
    assert GPUS not in resolution.values("master")
    assert [str(notice) for notice in resolution.notices] == [
        f"Left out: {resolution.notices[0].label} 1 of the master,"
        " because the launcher of MPI gets no GPU."
    ]
    quiet = say(None, sent={"framework": "MPI", "master": "own"}, **{f"master.{GPUS}": 0})
    assert not quiet.notices
    assert not quiet.problems
