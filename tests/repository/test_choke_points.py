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


CREATED_ELSEWHERE = {
    ("platform/gangline/accounts/services.py", "User"): "create_user lies below the resources",
    ("platform/gangline/programs/models.py", "User"): "the account of a program, saved with it",
    ("platform/gangline/audit/services.py", "AuditEntry"): "written along with every change",
    ("platform/gangline/clusters/credentials.py", "Credential"): "another one: a cluster's login",
    ("platform/gangline/clusters/nodes.py", "Node"): "what a look at the cluster finds",
    ("platform/gangline/clusters/storage.py", "StorageClass"): "what a look at the cluster finds",
    ("platform/gangline/organization/forms.py", "NodePool"): "never saved: a form's empty row",
    ("platform/gangline/organization/forms.py", "Project"): "never saved: a form's empty row",
    ("workloads/api/workload_list.py", "Cluster"): "never saved: what a link is made of",
}
"""File and model of a resource that is made beside `resources.services`, and why."""


def resource_models() -> set[str]:
    """``X`` of every ``model = X`` in a module that declares resources."""
    return {
        line.value.id
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.py")
        if "(Resource[" in path.read_text()
        for line in ast.walk(ast.parse(path.read_text()))
        if isinstance(line, ast.Assign)
        and isinstance(line.value, ast.Name)
        and any(isinstance(to, ast.Name) and to.id == "model" for to in line.targets)
    }


def created(source: str, models: set[str]) -> set[str]:
    """Which of ``models`` that are imported or defined here are called or created by a manager."""
    tree = ast.parse(source)
    here: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("models"):
            here |= {one.name for one in node.names}
        elif isinstance(node, ast.ClassDef) and any(
            isinstance(line, ast.ClassDef) and line.name == "Meta" for line in node.body
        ):
            here.add(node.name)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                found.add(called.id)
            elif isinstance(called, ast.Attribute) and called.attr in CREATING:
                found |= {n.id for n in ast.walk(called.value) if isinstance(n, ast.Name)}
    return found & here & models


def test_only_the_resources_create_what_is_registered() -> None:
    models = resource_models()
    assert {"Cluster", "Project", "AccessRule", "Group"} <= models
    found = {
        (path.relative_to(ROOT).as_posix(), model)
        for folder in PRODUCT
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in path.parts
        for model in created(path.read_text(), models)
    }
    assert found == set(CREATED_ELSEWHERE), "create it by gangline.resources.services"


@pytest.mark.parametrize("line", ["Group(name='x').save()", "Group.objects.acreate(name='x')"])
def test_a_creation_beside_the_resources_is_found(line: str) -> None:
    assert created(f"from .models import Group\n{line}", {"Group"}) == {"Group"}


def test_rows_are_locked_in_one_way() -> None:
    """A lock taken otherwise, or in another order, makes a deadlock sooner or later."""
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in PRODUCT
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "select_for_update" in path.read_text()
    ]
    assert found == ["platform/gangline/db/locks.py"]
