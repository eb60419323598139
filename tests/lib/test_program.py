"""How a person calls `gangline-manage` on the machine of the installation."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangline.lib.program import program


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    program.cache_clear()
    yield
    program.cache_clear()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a virtual environment that is not on the PATH."""
    made = tmp_path / "checkout" / ".venv" / "bin" / "gangline-manage"
    made.parent.mkdir(parents=True)
    made.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(made), "run"])
    monkeypatch.setenv("PATH", "/usr/bin")
    return made


def test_below_the_folder_it_is_a_path(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "checkout")
    assert program() == ".venv/bin/gangline-manage"


def test_on_the_path_it_is_a_name(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parents[2])
    monkeypatch.setenv("PATH", str(own.parent))
    assert program() == "gangline-manage"


def test_elsewhere_no_path_of_the_machine_is_told(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert program() == "gangline-manage"


def test_another_process_of_the_installation_knows_it_too(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/uvicorn"])
    monkeypatch.setattr(sys, "executable", str(own.with_name("python")))
    monkeypatch.chdir(own.parents[2])
    assert program() == ".venv/bin/gangline-manage"
