"""What people read says one thing by one word: workload, whole installation, discard …"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTEAD = {
    r"\b(a|an|each|every|new|one|the|this|your) training\b(?![ -]operator)": "workload",
    r"\btrainings\b": "workloads",
    r"\b(the|this|your|each|per|one) tenant\b": "the whole installation",
    r"\bthrow(s|n)? away\b|\bthrew away\b": "discard",
    r"\b(everybody|everybody's|whoever)\b": "anyone, everyone",
    r"\bpeople say nothing\b|\bnothing is said\b": "is empty",
    r"\bended lately\b": "recently finished",
    r"\bbackoff limit\b": "retries",
    r"\bby itself\b|\bin force\b": "automatically, active",
    r"\bmust be given\b": "Enter a …",
    r"\bwas not asked\b|\bwere not asked\b": "not tested",
    r"\bwould not accept\b|\bhas not got\b": "rejected, not found",
}
"""Words that were found to confuse, and what stands for them now."""


def test_confusing_words_are_not_used() -> None:
    found = [
        f"{where}: “{match[0]}”, say: {better}"
        for where, text in (*_templates(), *_strings(), *_scripts(), *_documents())
        for pattern, better in INSTEAD.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["Delete this training?", "12 trainings", "Throw away the draft"])
def test_the_search_finds_them(text: str) -> None:
    assert any(re.search(pattern, text, re.IGNORECASE) for pattern in INSTEAD)


def _templates() -> Iterator[tuple[str, str]]:
    for path in sorted(
        p for end in ("html", "jinja") for p in (ROOT / "templates").rglob(f"*.{end}")
    ):
        yield _name(path), re.sub(r"{#.*?#}|{% comment.*?endcomment %}", "", path.read_text())


def _scripts() -> Iterator[tuple[str, str]]:
    """The code of a page without its comments."""
    for path in sorted((ROOT / "static" / "js").rglob("*.js")):
        yield _name(path), re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL)


def _documents() -> Iterator[tuple[str, str]]:
    for folder in ("docs/how-to", "docs/explanation"):
        for path in sorted((ROOT / folder).rglob("*.md")):
            yield _name(path), path.read_text()
    yield "README.md", (ROOT / "README.md").read_text()


def _strings() -> Iterator[tuple[str, str]]:
    """Texts in the code that are no documentation of it."""
    for folder in ("platform/gangline", "workloads", "assets"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            tree = ast.parse(path.read_text())
            documentation = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
                if is_text and node not in documentation:
                    assert isinstance(node, ast.Constant)
                    yield f"{_name(path)}:{node.lineno}", str(node.value)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
