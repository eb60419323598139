"""What is said of both halves in the same words is told by half."""

from collections.abc import Iterator
from typing import Any

import pytest

from gangline.drivers.local.driver import LocalDriver
from gangline.spec.problems import Advice, Role
from tests.support.forms import Filler
from workloads.wizard.steps import by_half

WORKER, MASTER = Role.WORKER, Role.MASTER


def test_only_what_both_halves_are_told_names_them() -> None:
    said = [(WORKER, "Wide."), (WORKER, "Narrow."), (MASTER, "Wide."), (MASTER, "Deep.")]
    assert by_half(said, "PyTorch") == ["Workers: Wide.", "Narrow.", "Master: Wide.", "Deep."]
    assert by_half([(WORKER, "Twice.")] * 2, "PyTorch") == ["Twice.", "Twice."]
    assert by_half([], "PyTorch") == []
    assert by_half(said[::2], "MXNet") == ["Workers: Wide.", "Servers: Wide."]


def test_advice_about_a_volume_of_both_is_told_by_half(
    filler: Filler, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "Volume data: the cluster has no default storage class."

    def advise(_: LocalDriver, submission: Any, facts: object) -> Iterator[Advice]:
        yield Advice(WORKER, "command", sentence)
        if submission.master is not None:
            yield Advice(MASTER, "command", sentence)

    monkeypatch.setattr(LocalDriver, "advise", advise)
    filler.ready()
    assert _told(filler, sentence) == [sentence]
    filler.post("master", {"master.different": "on", "master.command": "python lead.py"})
    assert _told(filler, sentence) == [f"Workers: {sentence}", f"Master: {sentence}"]


def _told(filler: Filler, sentence: str) -> list[str]:
    page = filler.get("review").page
    return [e.text for e in page.elements if e.tag == "a" and sentence in e.text]
