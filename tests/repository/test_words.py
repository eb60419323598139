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
    r"\bwould not accept\b|\bhas not got\b|\bhas got\b": "rejected, not found",
    # The words of the review of all screens.
    r"^Every (project|framework)$|>Every (project|framework)<": "All projects, All frameworks",
    r"\bBy name, from\b": "Name (Z–A)",
    r"\bshown of\b": "51–62 of 62",
    r"\bDo not show again\b": "Dismiss",
    r"\bIt is not tried again\b": "No retries left",
    r"\bIt can never run\b": "Not enough … on …",
    r"\bas soon as the slots\b|\bas soon as every problem\b": "Starts when …; Shown once …",
    r"\b(Stop|Run) asked for by\b": "… stopped it, … started it again",
    r"\bup to \d+ retries\b": "Attempt 4 of 4",
    r"\bThe same by the API\b": "Do this with the API",
    r"\b(rules?|polic(y|ies)|defaults?|credential) (that )?hold(s|ing)?\b": "applies, is in effect",
    r"\bwhat holds\b|\bholds? (here|from now)\b|>Holds<|\bstop holding\b": "In effect",
    r"\bmay be edited: no\b": "Locked",
    r"\bFields you may name\b": "Fields",
    r"\bThe text fits\b": "Valid",
    r"\bfrom now on\b|\bis gone then\b|\bgo on with it\b": "now, cannot be undone, continue",
    r"\bIt became\b|\bnot copied whole\b": "Submitted as …, has expired",
    r"\bContract of the API\b|\bAs the system\b": "API reference, System",
    r"\bSplit into words like a shell\b": "Runs directly, without a shell",
    r"\bMost cores a pod\b|\bMost log\b": "Upper limit",
    r"\bNo line has\b": "No matches",
    # Translated-sounding phrases that were mended since.
    r"\b(somebody|anybody)\b": "someone, anyone, or the passive",
    r"\bmeanwhile\b(?!\Z)": "at the same time, or nothing",
    r"\bfor ever\b|\bany more\b": "no longer",
    r"\bof this name\b": "with this name",
    r"\bthere is already (a|an|such)\b": "… already exists",
    r"\bstands? (twice|below|in the list)\b": "appears twice, is below",
    r"\bdoes not tell\b|\bcould not tell\b|\bcannot be told\b|\bWhat \w+ tells\b": "did not answer",
    r"\bgive (it|them) again\b|\bThere are none\b": "enter again, None",
    r"\bthe log says\b|\bit broke\b": "See the server log",
    r"\b(not|is|are) touched\b": "affected",
    r"\blook at (it|this|that)\b": "review",
    r"\bturned away\b|\bTurn away\b|\blet in\b": "denied, authorized",
    r"\b(to|every problem is|Nothing to) mend(ed)?\b": "fix",
    r"\bmakes? room\b|\bthat it may\b|\bwaiting alone\b": "is stopped, of …",
    r"\bthe form has\b(?! to)|\bwhat the form says\b|\bAsks for nothing\b": "in the form",
    r"\bwhat (stays|waits|is stopped|was sent)\b|\bstays empty\b": "empty fields, workloads",
    r"\bwho has (it|no)\b|\bWho says what\b|\bsays whom\b|\bthe secret of now\b": "those who …",
    r"\brules of the web\b|\bas they were last\b|\bUse that one\b": "malformed, last known state",
    r"\b(chosen (is|are) left|is no frame of|deleted is kept)": "skipped, is not valid",
    r"\bunless said\b|\bsmall letters\b|\blower-case\b": "by default, lowercase",
    r"\b(a|one) text\b(?! (file|editor|field))": "text, string",
    r"\bKubernetes knows no\b|\bGangline knows no\b": "does not support",
    r"\bbears? the label\b": "has the label",
}
"""Words that were found to confuse, and what stands for them now."""
LONGEST_LINE = 140


def test_confusing_words_are_not_used() -> None:
    found = [
        f"{where}: “{match[0]}”, say: {better}"
        for where, text in (*_templates(), *_strings(), *_scripts(), *_documents())
        for pattern, better in INSTEAD.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "Delete this training?",
        "12 trainings",
        "Throw away the draft",
        "Somebody else changed this policy meanwhile.",
        "The cluster is gone for ever",
        "Valid, but look at this",
    ],
)
def test_the_search_finds_them(text: str) -> None:
    assert any(re.search(pattern, text, re.IGNORECASE) for pattern in INSTEAD)


def test_templates_are_readable() -> None:
    long = [
        f"{_name(path)}:{number}: {len(line)}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert not long, "\n".join(long)


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
    for folder in ("platform/gangline", "workloads", "assets", "cli"):
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
