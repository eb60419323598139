"""What the code may do in one place only, read from the code itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("platform/gangline", "workloads", "assets")
CREATING = {
    name
    for stem in ("create", "bulk_create", "get_or_create", "update_or_create")
    for name in (stem, f"a{stem}")
}
ONLY_CREATOR = "workloads/services/submission.py"


def creations(source: str) -> Iterator[int]:
    """Lines that make a workload: the class called, or a creating method of one of its managers."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if _is_workload(called):
            yield node.lineno
        elif isinstance(called, ast.Attribute) and called.attr in CREATING:
            words = {n.id for n in ast.walk(called.value) if isinstance(n, ast.Name)}
            words |= {n.attr for n in ast.walk(called.value) if isinstance(n, ast.Attribute)}
            # `project.workloads.create()` makes one as well.
            if words & {"Workload", "workloads"}:
                yield node.lineno


def _is_workload(called: ast.expr) -> bool:
    if isinstance(called, ast.Attribute):
        return called.attr == "Workload"
    return isinstance(called, ast.Name) and called.id == "Workload"


def test_only_a_submission_creates_workloads() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for folder in PRODUCT
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in path.parts and (lines := list(creations(path.read_text())))
    }
    assert found.pop(ONLY_CREATOR), "the search finds nothing any more"
    assert not found, f"only {ONLY_CREATOR} may create workloads"


@pytest.mark.parametrize(
    "line",
    [
        "Workload(name='x').save()",
        "models.Workload(name='x')",
        "Workload.objects.create(name='x')",
        "Workload.objects.filter(name='x').get_or_create()",
        "Workload.objects.bulk_create(rows)",
        "project.workloads.create(name='x')",
        "await Workload.objects.acreate(name='x')",
    ],
)
def test_every_way_to_create_one_is_found(line: str) -> None:
    assert list(creations(line)) == [1]


@pytest.mark.parametrize(
    "line", ["Workload.objects.get(pk=1)", "Attempt.objects.create(workload=workload)"]
)
def test_reading_is_no_creation(line: str) -> None:
    assert not list(creations(line))


def test_rows_are_locked_in_one_way() -> None:
    """A lock taken otherwise, or in another order, makes a deadlock sooner or later."""
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in PRODUCT
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "select_for_update" in path.read_text()
    ]
    assert found == ["platform/gangline/db/locks.py"]
