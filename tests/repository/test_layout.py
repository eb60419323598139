"""What the layout of the repository promises, and what must never be left in it."""

import ast
import platform
import re
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES_AT_MOST = 550
SOURCE = ("platform", "workloads", "assets", "cli", "scripts", "tests", "bench", "examples")
VENDORED = ("static/vendor/", "tests/support/vendor/")
BUILT = (
    "static/css/app.css",
    "static/js/shell.js",
    "static/js/live-home.js",
    "static/js/live-table.js",
    "static/js/live-page.js",
    "cli/gangline_sdk/models.py",
)
# Written so that this file does not find itself.
LEFTOVERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|breakpoint\(\)|console\.log\(")
VAGUE = {"utils", "util", "helpers", "common", "misc"}


def files(*suffixes: str) -> Iterator[Path]:
    """Every file of ours with one of these endings, without what was built or vendored."""
    for folder in (*SOURCE, "templates", "static", "docs"):
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            ours = "__pycache__" not in name and not name.startswith((*VENDORED, *BUILT))
            if ours and path.suffix in suffixes:
                yield path


def named(paths: list[Path]) -> list[str]:
    """The paths as they are written in a message."""
    return [path.relative_to(ROOT).as_posix() for path in paths]


def test_the_standard_library_platform_module_is_not_hidden() -> None:
    assert Path(platform.__file__).parent == Path(sysconfig.get_paths()["stdlib"])


def test_platform_folders_are_no_packages() -> None:
    # `tests/platform` would be registered under that name by pytest, with or without __init__.py.
    assert not (ROOT / "platform" / "__init__.py").exists()
    assert not [path for path in ROOT.glob("tests/**/platform") if path.is_dir()]


def test_no_test_folder_is_a_package() -> None:
    app = ROOT / "tests" / "resources" / "shelf"
    found = [one for one in (ROOT / "tests").rglob("__init__.py") if app not in one.parents]
    assert named(found) == []


def test_every_package_init_holds_a_sentence_and_no_code() -> None:
    inits = [
        path
        for folder in ("platform/gangline", "workloads", "assets")
        for path in (ROOT / folder).rglob("__init__.py")
        if not {"migrations", "settings"} & {path.parent.name}
    ]
    assert len(inits) > 20
    assert named([path for path in inits if not _only_names(path.read_text())]) == []


def _only_names(source: str) -> bool:
    """Tell whether a module is a docstring of one sentence and, at most, its public names."""
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree) or ""
    allowed = (ast.Import, ast.ImportFrom, ast.Assign)
    names = all(isinstance(node, allowed) for node in tree.body[1:])
    return names and docstring.endswith(".") and "\n\n" not in docstring


def test_no_module_is_longer_than_agreed() -> None:
    modules = [path for path in files(".py", ".js") if "migrations" not in path.parts]
    assert len(modules) > 50
    long = [path for path in modules if len(path.read_text().splitlines()) > LINES_AT_MOST]
    assert named(long) == []


def test_every_module_is_named_after_what_it_is_about() -> None:
    assert named([path for path in files(".py") if path.stem in VAGUE]) == []


def test_nothing_is_left_for_later_in_the_code() -> None:
    left = [
        path for path in files(".py", ".html", ".js", ".css") if LEFTOVERS.search(path.read_text())
    ]
    assert named(left) == []


@pytest.mark.parametrize("name", ["build", "cli", "dev", "examples", "server", "tensorflow"])
def test_lock_files_pin_with_hashes_and_name_no_index(name: str) -> None:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    assert not [line for line in lines if "://" in line or line.startswith("-")]
    starts = [index for index, line in enumerate(lines) if re.match(r"[a-z0-9]", line)]
    assert starts
    for index in starts:
        assert re.match(r"[a-z0-9][\w.-]*==[\w.!+]+( ;.*)? \\$", lines[index]), lines[index]
        assert lines[index + 1].startswith("    --hash=sha256:")


def test_lock_files_hold_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = {
        "server": project["project"]["dependencies"]
        + project["project"]["optional-dependencies"]["server"],
        "cli": tomllib.loads((ROOT / "cli/pyproject.toml").read_text())["project"]["dependencies"],
        **project["dependency-groups"],
    }
    for name, requirements in declared.items():
        locked = set(
            re.findall(r"^([\w.-]+)==", (ROOT / f"requirements/{name}.txt").read_text(), re.M)
        )
        wanted = {re.split(r"[\[<>=!~ ]", one)[0].lower() for one in requirements}
        assert wanted - locked == set(), f"requirements/{name}.txt: run `make lock`"


def test_every_command_that_is_installed_can_be_loaded() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    for name, target in scripts.items():
        assert callable(EntryPoint(name, target, "console_scripts").load())


def test_no_lines_name_the_machine_they_were_written_on() -> None:
    found = [
        path
        for path in [
            *files(".py", ".html", ".js", ".css", ".md", ".yaml", ".sh"),
            ROOT / "README.md",
        ]
        if re.search(r"/(work|root|home/\w+)/(main|shared|gangline)\b", path.read_text())
    ]
    assert named(found) == []
