"""What the documents name is there: files and folders, and the pages they link to."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "examples", "static/vendor")
SEARCHED = (
    "assets", "bench", "cli", "deploy", "docs", "examples", "platform", "requirements", "scripts",
    "static", "templates", "tests", "workloads",
)  # fmt: skip
DATA = ("var/", "ctl/", "bench/results.json")
"""What appears only with use: the data folder, an attempt's control folder, measurements."""
ELSEWHERE = ("dist/", "text/")
"""Inside the package that a vendored file was taken from, and types of content."""


def documents() -> list[Path]:
    found = [*ROOT.glob("*.md")]
    for folder in FOLDERS:
        found += (ROOT / folder).rglob("*.md")
    return sorted(found)


def named(text: str) -> Iterator[str]:
    """Words in code that are paths of this tree: ``a/{b,c}.py`` names two, ``<kind>`` any."""
    for code in re.findall(r"`([^`\n]*/[^`\n]*)`", text):
        for word in code.split():
            if "/" in word and not re.match(r"/|<path>|\$|@|\w+:|\w+=|.*://", word):
                yield from _expanded(word)


def linked(text: str) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target.partition("#")[0] for target in targets if "://" not in target]


def _expanded(word: str) -> Iterator[str]:
    parts = re.split(r"\{([^}]*)\}", re.sub(r"<\w+>", "*", word))
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    yield from ("".join(chosen) for chosen in product(*choices))


def _paths() -> set[str]:
    """Every file and folder of ours, as they are written from the top."""
    found = {path.name for path in ROOT.iterdir()}
    for folder in SEARCHED:
        found |= {folder, *(p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*"))}
    return {f"/{path}" for path in found if "__pycache__" not in path}


def missing(text: str, paths: set[str]) -> list[str]:
    """Paths of ``text`` that are neither in the tree, by their end, nor known to come with use."""
    return [
        word
        for word in named(text)
        if not word.startswith((*DATA, *ELSEWHERE))
        and not any(fnmatch(path, f"*/{word.rstrip('/')}") for path in paths)
    ]


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    assert missing(document.read_text(), _paths()) == []


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    gone = [target for target in linked(document.read_text()) if target]
    gone = [target for target in gone if not (document.parent / target).exists()]
    assert gone == []


def test_a_path_that_is_gone_is_named() -> None:
    text = "See `drivers/base.py`, `drivers/{base,gone}.py`, `a/<kind>/b/` and `/tmp/x y/z.py`."
    paths = {"/platform/gangline/drivers/base.py"}
    assert missing(text, paths) == ["drivers/gone.py", "a/*/b/", "y/z.py"]
    assert linked("[a](../adr/#one) [b](https://x.org/y)") == ["../adr/"]


def test_there_are_documents() -> None:
    assert len(documents()) > 15


def test_every_ruling_that_code_cites_is_written_down() -> None:
    """In ``docs/explanation/rulings.md``; ``R25–R29`` stands for all between."""
    pattern = re.compile(r"(?<![-\w])(?!S3\b)([RS]\d\d?[a-z]?)(?![-\w])")
    written = (ROOT / "docs/explanation/rulings.md").read_text()
    there = set(pattern.findall(written))
    for first, last in re.findall(r"R(\d+)[a-z]?–R(\d+)", written):
        there |= {f"R{number}" for number in range(int(first), int(last) + 1)}
    cited = {
        ruling
        for folder in ("platform", "workloads", "assets", "cli", "scripts")
        for path in (ROOT / folder).rglob("*.py")
        for ruling in pattern.findall(path.read_text())
    }
    assert cited - there == set()
    assert len(cited) > 20
