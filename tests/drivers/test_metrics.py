"""Figures of replicas: how they are recorded, that they stay small, and what is read."""

import math
import os
import random
from pathlib import Path

import pytest

from gangline.drivers.metrics.reader import read, together
from gangline.drivers.metrics.recorder import FILE, HEAD, MOST, RECORD, Rates, Recorder

NOON = 1_750_000_000


def test_samples_come_back_as_means_and_peaks_of_their_buckets(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, finest=10)
    for second, cpu in ((0, 1.0), (4, 3.0), (11, 5.0)):
        recorder.add(NOON + second, {"cpu": cpu, "memory": 2e9})
    found = read(tmp_path)
    assert found.points("cpu") == [(NOON, 2.0, 3.0), (NOON + 10, 5.0, 5.0)]
    assert found.names == ("cpu", "memory")
    assert (found.peak("cpu"), found.mean("cpu"), found.last("cpu")) == (5.0, 3.5, 5.0)
    assert found.total("cpu") == 70.0
    assert found.peak("gpu") is None


def test_a_run_of_a_month_stays_small_and_keeps_its_mean_and_peak(tmp_path: Path) -> None:
    chance, recorder = random.Random(7), Recorder(tmp_path)
    given = [chance.random() for _ in range(50_000)]
    given[33_333] = 42.0
    for number, cpu in enumerate(given):
        recorder.add(NOON + number * 52, {"cpu": cpu})  # thirty days
    assert (tmp_path / FILE).stat().st_size <= HEAD.size + MOST * RECORD.size
    found = read(tmp_path)
    assert MOST // 4 <= len(found.rows) <= MOST
    assert found.ends - found.begins >= 49_999 * 52
    assert found.peak("cpu") == 42.0
    assert found.mean("cpu") == pytest.approx(sum(given) / len(given), rel=0.02)


def test_a_writer_that_comes_later_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    for second in range(0, 40, 5):
        recorder = Recorder(tmp_path, finest=20)
        recorder.add(NOON + second, {"cpu": float(second)})
        recorder.close()
    assert [point.mean for point in read(tmp_path).points("cpu")] == [7.5, 27.5]
    assert Recorder(tmp_path, finest=20).newest == NOON + 40


@pytest.mark.parametrize("cut", [3, HEAD.size + 10, HEAD.size + RECORD.size + 5])
def test_half_a_record_is_left_out(tmp_path: Path, cut: int) -> None:
    recorder = Recorder(tmp_path)
    recorder.add(NOON, {"cpu": 1.0})
    recorder.add(NOON + 1, {"cpu": 2.0})
    os.truncate(tmp_path / FILE, cut)
    assert len(read(tmp_path).rows) == max(0, cut - HEAD.size) // RECORD.size


def test_what_is_no_such_file_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\x00" * 500)
    assert not read(tmp_path)
    assert not read(tmp_path / "nowhere")


def test_a_clock_that_is_set_back_adds_to_the_newest_bucket(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.add(NOON, {"cpu": 1.0})
    recorder.add(NOON - 3600, {"cpu": 3.0})
    assert read(tmp_path).points("cpu") == [(NOON, 2.0, 3.0)]


def test_replicas_together_are_summed_and_shares_are_averaged(tmp_path: Path) -> None:
    parts = []
    for number, finest in enumerate((1, 2)):
        recorder = Recorder(tmp_path / str(number), finest=finest)
        for second in range(8):
            recorder.add(NOON + second, {"cpu": 1.0 + number, "gpu": 40.0 + 20.0 * number})
        parts.append(read(tmp_path / str(number)))
    found = together(parts)
    assert found.width == 2
    assert {point.mean for point in found.points("cpu")} == {3.0}
    assert {point.mean for point in found.points("gpu")} == {50.0}


def test_a_replica_that_skips_a_bucket_makes_no_dent_and_one_that_ended_counts_no_more(
    tmp_path: Path,
) -> None:
    for name, seconds in (("a", range(20)), ("b", (0, 1, 3, 4))):
        recorder = Recorder(tmp_path / name)
        for second in seconds:
            recorder.add(NOON + second, {"cpu": 1.0})
    sums = [point.mean for point in together([read(tmp_path / n) for n in "ab"]).points("cpu")]
    assert sums == [2.0] * 5 + [1.0] * 15


def test_a_chart_has_as_many_points_as_it_asks_for(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for second in range(200):
        recorder.add(NOON + second, {"cpu": float(second % 2)})
    few = read(tmp_path).at_most(50)
    assert len(few.rows) <= 50
    assert few.mean("cpu") == pytest.approx(0.5)
    assert read(tmp_path).between(NOON + 50, NOON + 60).begins == NOON + 50


def test_counters_become_rates_and_one_that_is_set_back_tells_nothing() -> None:
    rates = Rates()
    assert rates.of(100.0, {"cpu": 5.0, "read": 10.0}) == {}
    assert rates.of(102.0, {"cpu": 8.0, "read": 4.0}) == {"cpu": 1.5}
    assert rates.of(104.0, {"cpu": 8.0, "read": 8.0}) == {"cpu": 0.0, "read": 2.0}


def test_unknown_figures_stay_unknown_when_buckets_are_joined(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, most=4)
    for second in range(9):
        recorder.add(NOON + second, {"cpu": 1.0} if second % 2 else {"memory": 5.0})
    found = read(tmp_path)
    assert found.mean("cpu") == 1.0
    assert found.mean("memory") == 5.0
    assert all(math.isnan(row[-1]) for row in found.rows)
