"""Commands in a folder without Gangline say so in a sentence, end with 1 and make nothing."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MANAGE = Path(__file__).parents[2] / "manage.py"
COMMANDS = [
    ("sign-in-link", "ada"),
    ("token", "ada"),
    ("create-user", "ada", "--no-password"),
    ("doctor",),
    ("watch",),
    ("demo", "load"),
    ("demo", "remove"),
]


def _run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GANGLINE_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, str(MANAGE), *arguments],
        env={**clean, "GANGLINE_DATA_DIR": str(folder), **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _is_one_sentence_about(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"There is no Gangline in {folder}. ")
    assert line.endswith("gangline-manage run")


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_folder_that_is_not_there_is_told_and_not_made(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    folder = tmp_path / "wrong"
    _is_one_sentence_about(folder, _run(folder, *arguments))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    _is_one_sentence_about(tmp_path, _run(tmp_path, "sign-in-link", "ada"))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_damaged_database_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "gangline.db").write_text("no database " * 1000)
    done = _run(tmp_path, "token", "ada")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"The database {tmp_path / 'gangline.db'} cannot be used: ")
    assert line.endswith("gangline-manage doctor")


@pytest.mark.parametrize("kind", ["empty file", "database without tables"])
def test_a_stray_database_is_no_gangline(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "gangline.db"
    if kind == "empty file":
        file.touch()
    else:
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE other (id)")
        database.close()
    before = file.read_bytes()
    _is_one_sentence_about(tmp_path, _run(tmp_path, "token", "ada"))
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["gangline.db"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "abc", "PORT cannot be 'abc': input should be a valid integer"),
        ("PORT", "70000", "PORT cannot be '70000': input should be less than or equal to 65535"),
        ("GANGLINE_MODE", "x", "GANGLINE_MODE cannot be 'x': input should be 'embedded' or"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    done = _run(tmp_path / "wrong", "run", **{name: value})
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["", "folder"])
def test_a_data_folder_that_cannot_be_is_named(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    done = _run(file / below, "run")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"The data folder {file / below} cannot be used:")
    assert file.read_text() == "mine"


def test_help_is_given_anywhere(tmp_path: Path) -> None:
    done = _run(tmp_path / "wrong", "sign-in-link", "--help")
    assert done.returncode == 0
    assert "signs a user in" in done.stdout


def test_an_installation_is_found(tmp_path: Path) -> None:
    assert _run(tmp_path, "migrate", "--verbosity=0").returncode == 0
    done = _run(tmp_path, "sign-in-link", "ada")
    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: There is no user ada.")


def test_a_server_without_our_tables_is_told(tmp_path: Path, postgres_server: Any) -> None:
    url = postgres_server.create_database()
    settings = {"GANGLINE_DATABASE_URL": url, "GANGLINE_MODE": "production"}
    settings |= {"GANGLINE_REDIS_URL": "redis://127.0.0.1:1/0", "GANGLINE_ALLOWED_HOSTS": "x.org"}
    done = _run(tmp_path, "token", "ada", **settings)
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []
    done = _run(tmp_path, "token", "ada", GANGLINE_SECRET_KEY="k" * 50, **settings)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("There is no Gangline in the database ")
    assert line.endswith("gangline-manage bootstrap --admin USER")
