"""Who may start: the walk over the waiting gangs, and its words."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.services.slots import RESOURCES, Need, RoleNeed, Room, need_from, need_of, room_of
from workloads.services.walk import Gang, Verdict, Walk
from workloads.wording import MANY_AHEAD, SLOTS_BEHIND, SLOTS_NEVER, SLOTS_WAIT

GB = 10**9
CAPACITY = {"cpus": 8, "memory": 16 * GB, "gpus": ["a", "b", "c", "d"], "ports": [16000, 32000]}


def _need(cpus: float = 0, memory: int = 0, gpus: int = 0, count: int = 1) -> Need:
    return Need((RoleNeed("worker", count, cpus, memory, gpus, 0),))


def _room(*taken: Mapping[str, object], **capacity: object) -> Room:
    return room_of(CAPACITY | capacity, taken, lambda port: port != 16001)


def _walk(*needs: Need, room: Room | None = None) -> list[Verdict]:
    gangs = [Gang(need) for need in needs]
    return Walk(gangs, room or _room(), cluster="this machine").verdicts


def _held(cpus: float = 0, memory: int = 0, gpus: tuple[str, ...] = ()) -> dict[str, object]:
    return {"cpus": cpus, "memory": memory, "gpus": list(gpus), "ports": []}


def test_a_gang_gets_all_its_slots_at_once() -> None:
    (verdict,) = _walk(_need(cpus=2, memory=GB, gpus=1, count=3))
    assert verdict.placement is not None
    assert [(p.role, p.index, p.rank, p.gpus) for p in verdict.placement] == [
        ("worker", 0, 0, ("a",)),
        ("worker", 1, 1, ("b",)),
        ("worker", 2, 2, ("c",)),
    ]


def test_every_replica_gets_a_port_of_its_own_that_is_free() -> None:
    (verdict,) = _walk(_need(cpus=1, count=3))
    assert verdict.placement is not None
    assert [p.ports for p in verdict.placement] == [(16000,), (16002,), (16003,)]


def test_ports_are_offered_round_the_range() -> None:
    capacity = CAPACITY | {"ports": [16000, 16003]}
    room = room_of(capacity, [], lambda port: port != 16000, 16002)
    assert list(room.ports) == [16002, 16001]


def test_gangs_start_in_order() -> None:
    first, second = _walk(_need(cpus=6), _need(cpus=6))
    assert first.placement is not None
    assert second.placement is None


def test_waiting_says_what_is_needed_what_is_free_and_who_is_ahead() -> None:
    room = _room(_held(cpus=6))
    first, second = _walk(_need(cpus=7), _need(cpus=6), room=room)
    told = {"lacking": [["cpus", 7.0, 2.0, 8.0]], "ahead": 0}
    assert (first.reason.code, first.reason.params) == (SLOTS_WAIT, told)
    assert (second.reason.code, second.reason.params["ahead"]) == (SLOTS_WAIT, 1)


@pytest.mark.parametrize(
    ("need", "capacity", "lacking"),
    [
        (_need(gpus=3, cpus=64), {"gpus": []}, [["gpus", 3, 0], ["cpus", 64, 8]]),
        (_need(cpus=3, count=3), {}, [["cpus", 9, 8]]),
        (_need(memory=17 * GB), {}, [["memory", 17 * GB, 16 * GB]]),
    ],
)
def test_what_can_never_start_is_said_and_holds_nobody_up(
    need: Need, capacity: Mapping[str, object], lacking: list[list[object]]
) -> None:
    never, behind = _walk(need, _need(cpus=1), room=_room(**capacity))
    assert (never.impossible, never.reason.code) == (True, SLOTS_NEVER)
    assert never.reason.params["lacking"] == lacking
    assert behind.placement is not None


SEED = {"compute.gpuDevicesRequest": 1, "compute.gpuRequestType": "portion"}


def _of_parts(**compute: object) -> Need:
    said = {**SEED, **{f"compute.{name}": value for name, value in compute.items()}}
    return need_of(
        framework="PyTorch", configuration="workersAndMaster", num_workers=2,
        values={f"{role}.{p}": v for role in ("worker", "master") for p, v in said.items()},
        gpu_memory=10 * GB,
    )  # fmt: skip


def test_parts_share_a_device_as_long_as_they_fit() -> None:
    held = _held(gpus=("a",)) | {"gpu_share": 0.75}
    tenths, rest = _of_parts(gpuPortionRequest=0.1), _of_parts(gpuPortionRequest=0.25)
    assert tenths.total("gpus") == pytest.approx(0.3)
    room = _room(held, gpus=["a", "b"])
    parts, more = _walk(tenths, rest, room=room)
    assert parts.placement is not None
    assert more.placement is not None
    # What is left of the first device is used up before the second is begun.
    assert [(p.gpus, p.gpu_share) for p in parts.placement] == [(("a",), 0.1), (("a",), 0.1),
                                                                (("b",), 0.1)]  # fmt: skip
    assert [p.gpus for p in more.placement] == [("b",)] * 3
    by_memory = _of_parts(gpuRequestType="memory", gpuMemoryRequest="4G")
    assert [role.gpu_share for role in by_memory.roles] == [0.4, 0.4]


def test_parts_that_no_device_can_hold_wait_though_their_sum_is_free() -> None:
    large = _of_parts(gpuPortionRequest=0.6)
    waits, never = _room(_held(gpus=("a",)), gpus=["a", "b", "c"]), _room(gpus=["a", "b"])
    assert (waits.lacks(large), waits.never(large)) == (("gpus",), ())
    assert never.never(large) == ("gpus",)


def test_a_later_gang_passes_when_it_asks_nothing_of_what_the_earlier_lacks() -> None:
    room = _room(_held(gpus=("a", "b", "c")))
    waits, passes = _walk(_need(cpus=1, gpus=2), _need(cpus=1), room=room)
    assert waits.placement is None
    assert passes.placement is not None


def test_a_later_gang_that_would_fit_waits_when_it_asks_for_what_the_earlier_lacks() -> None:
    room = _room(_held(cpus=6))
    waits, behind = _walk(_need(cpus=4), _need(cpus=1), room=room)
    assert waits.placement is None
    assert behind.placement is None
    assert (behind.reason.code, behind.behind) == (SLOTS_BEHIND, 0)


def test_far_back_in_the_queue_the_words_do_not_change_with_every_step() -> None:
    room = _room(_held(cpus=8))
    verdicts = _walk(*[_need(cpus=1)] * (MANY_AHEAD + 5), room=room)
    assert verdicts[MANY_AHEAD].reason.params["ahead"] == MANY_AHEAD
    assert len({v.reason.sentence for v in verdicts[MANY_AHEAD + 1 :]}) == 1


def test_the_need_of_a_gang_counts_requests_of_every_role() -> None:
    values = {
        "worker.compute.cpuCoreRequest": 2,
        "worker.compute.cpuCoreLimit": 64,
        "worker.compute.cpuMemoryRequest": "1Gi",
        "worker.compute.gpuDevicesRequest": 1,
        "master.compute.cpuCoreRequest": 0.5,
    }
    need = need_of(
        framework="PyTorch", configuration="workersAndMaster", num_workers=3, values=values
    )
    assert [need.total(r) for r in ("cpus", "memory", "gpus")] == [6.5, 3 * 2**30, 3]
    assert [(r.role, r.first_rank) for r in need.roles] == [("master", 0), ("worker", 1)]
    assert need_from(need.as_json()) == need


@pytest.mark.parametrize(
    ("framework", "configuration", "expected"),
    [
        ("PyTorch", "workersAndMaster", [("master", 0, 0), ("worker", 0, 1), ("worker", 1, 2)]),
        ("PyTorch", "workersOnly", [("worker", 0, 0), ("worker", 1, 1)]),
        ("TF", "workersAndMaster", [("master", 0, 0), ("worker", 0, 1), ("worker", 1, 2)]),
        ("TF", "workersOnly", [("worker", 0, 0), ("worker", 1, 1)]),
        ("XGBoost", "workersAndMaster", [("master", 0, 0), ("worker", 0, 1), ("worker", 1, 2)]),
        ("JAX", "workersOnly", [("worker", 0, 0), ("worker", 1, 1)]),
        ("MPI", "workersAndMaster", [("master", 0, 0), ("worker", 0, 0), ("worker", 1, 1)]),
    ],
)
def test_ranks_follow_the_roles_and_a_master_that_trains_is_rank_0(
    framework: str, configuration: str, expected: list[tuple[str, int, int]]
) -> None:
    need = need_of(framework=framework, configuration=configuration, num_workers=2, values={})
    placed = _room().take(need)
    assert [(slot.role, slot.index, slot.rank) for slot in placed] == expected


def test_the_launcher_of_mpi_is_no_rank() -> None:
    gpus = {f"{role}.compute.gpuDevicesRequest": 1 for role in ("master", "worker")}
    need = need_of(framework="MPI", configuration="workersAndMaster", num_workers=2, values=gpus)
    assert [(r.role, r.first_rank, r.gpus) for r in need.roles] == [
        ("master", 0, 0),
        ("worker", 0, 1),
    ]


amounts = st.builds(
    _need,
    cpus=st.sampled_from([0, 0.5, 1, 3, 9]),
    memory=st.sampled_from([0, GB, 10 * GB]),
    gpus=st.integers(0, 3),
    count=st.integers(1, 3),
)
held = st.builds(
    _held,
    cpus=st.sampled_from([0, 2, 5]),
    memory=st.sampled_from([0, 4 * GB]),
    gpus=st.sampled_from([(), ("a",), ("b", "d")]),
)


@given(st.lists(amounts, max_size=12), held)
def test_any_walk_gives_out_no_more_than_there_is_and_keeps_the_order(
    needs: list[Need], taken: dict[str, object]
) -> None:
    room = _room(taken)
    free = dict(room.free)
    verdicts = _walk(*needs, room=room)
    placed = [p for v in verdicts for p in v.placement or ()]
    for resource in ("cpus", "memory"):
        assert sum(getattr(p, resource) for p in placed) <= free[resource] + 1e-6
    gpus = [gpu for p in placed for gpu in p.gpus]
    assert len(gpus) == len(set(gpus))
    assert not set(gpus) & set(taken["gpus"])  # type: ignore[call-overload]
    ports = [port for p in placed for port in p.ports]
    assert len(ports) == len(set(ports))
    lacked: set[str] = set()
    for need, verdict in zip(needs, verdicts, strict=True):
        assert (verdict.placement is None) == bool(verdict.reason)
        if verdict.impossible:
            assert any(need.total(r) > room.totals[r] for r in RESOURCES)
        elif verdict.placement is not None:
            passed_over = {r for r in lacked if need.total(r) > 0}
            assert not passed_over, "it took what an earlier gang waits for"
            assert len(verdict.placement) == sum(role.count for role in need.roles)
        else:
            lacked |= set(verdict.lacking)


@given(st.lists(amounts, min_size=1, max_size=12), held)
def test_the_first_gang_that_can_ever_start_waits_only_for_what_is_not_free(
    needs: list[Need], taken: dict[str, object]
) -> None:
    room = _room(taken)
    free = dict(room.free)
    verdicts = _walk(*needs, room=room)
    first = next((i for i, v in enumerate(verdicts) if not v.impossible), None)
    if first is not None:
        fits = all(needs[first].total(r) <= free[r] + 1e-6 for r in RESOURCES)
        assert (verdicts[first].placement is not None) == fits
