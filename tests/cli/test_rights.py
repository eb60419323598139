"""Exit codes by who runs a command: 0 done, 4 not allowed, 5 not to be seen, 6 not now."""

from pathlib import Path

import pytest
from django.db import transaction

from tests.support.inside import command
from tests.support.world import IMAGE, World, make_world
from workloads.models import Workload
from workloads.services import submission
from workloads.services.bodies import read

PEOPLE = ("administrator", "researcher-vision", "viewer-vision", "researcher-nlp", "nobody")
MINE = "researcher-vision"
NEW = ("-i", IMAGE, "-p", "vision", "--command", "--", "true")
TABLE: dict[str, tuple[tuple[str, ...], tuple[int, int, int, int, int]]] = {
    "whoami": (("whoami",), (0, 0, 0, 0, 4)),
    "list": (("list",), (0, 0, 0, 0, 4)),
    "list projects": (("list", "projects"), (0, 0, 0, 0, 4)),
    "describe": (("describe", "walk"), (0, 0, 0, 5, 4)),
    "logs": (("logs", "walk"), (0, 0, 4, 5, 4)),
    "exec": (("exec", "walk", "--pod", "worker-0", "--", "true"), (6, 6, 4, 5, 4)),
    "port-forward": (("port-forward", "walk", "--pod", "worker-0", "--port", "0:80"),
                     (6, 6, 4, 5, 4)),
    "suspend": (("suspend", "walk"), (0, 0, 4, 5, 4)),
    "resume": (("resume", "walk"), (0, 0, 4, 5, 4)),
    "delete": (("delete", "walk", "--yes"), (0, 0, 4, 5, 4)),
    "submit-dist": (("submit-dist", "pytorch", "new", *NEW), (0, 0, 4, 5, 4)),
    "submit": (("distributed", "submit", "new", "--dry-run", *NEW), (0, 0, 4, 5, 4)),
    "policy explain": (("policy", "explain", "-p", "vision"), (0, 0, 0, 5, 4)),
    "environment create": (("environment", "create", "x", "--set", "meta.scope=project",
                            "--set", "meta.projectId={vision}", "--set", "spec.image=a:1"),
                           (0, 0, 4, 3, 4)),
    "project create": (("project", "create", "x", "--set", "parentId={department}"),
                       (0, 4, 4, 4, 4)),
    "user list": (("user", "list"), (0, 0, 0, 0, 4)),
}  # fmt: skip


@pytest.fixture
def world(db: None) -> World:
    made = make_world()
    actor = made.actor(MINE)
    asked = read(actor.user, made.body("walk"))
    submission.submit(actor=actor, request=asked, key="walk", request_hash="walk")
    for person in PEOPLE:
        if person in made.people:
            made.token(person)
    return made


def test_who_may_do_what(world: World, tmp_path: Path) -> None:
    found = {}
    for name, (line, _) in TABLE.items():
        ids = {"vision": world.vision.pk, "department": world.department.pk}
        words = [word.format(**ids) if "=" in word else word for word in line]
        codes = []
        for person in PEOPLE:
            with transaction.atomic():
                codes.append(command(world, person, tmp_path, *words).code)
                transaction.set_rollback(True)
        found[name] = tuple(codes)
    assert found == {name: codes for name, (_, codes) in TABLE.items()}
    assert Workload.objects.get().name == "walk"


def test_every_command_stands_in_the_table_or_asks_nothing_of_the_server() -> None:
    from gangline_cli.main import COMMANDS

    alone = {"login", "logout", "config", "completion"}
    same = {
        "attach": "logs",
        "bash": "exec",
        "distributed": "submit",
        "training": "submit",
        "workload": "list",
        "rerun": "resume",
        "policy": "policy explain",
    }
    missing = set(COMMANDS) - alone - set(same) - {name.partition(" ")[0] for name in TABLE}
    assert missing == set()
