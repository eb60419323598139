"""The lines that Review shows create the very workload that the form creates, run as printed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.forms import Filler
from tests.support.installation import BIN
from tests.support.world import World, make_world
from workloads.models import Workload

ODD = "say 'it''s  $HOME, é' \"and\" more"
LINES = "$HOME `id` \\ 'one'\n\n  \"two\" !x %s\tGANGLINE\nGANGLINE\n"


@pytest.fixture
def world(transactional_db: None) -> World:
    return make_world()


def frozen(name: str) -> dict[str, Any]:
    workload = Workload.objects.get(name=name)
    attempt = workload.attempts.get()
    Workload.objects.filter(pk=workload.pk).update(name=f"{name}-{workload.channel}")
    told = (attempt.rendered or {}) | {"identifiers": {}}
    return {"values": attempt.values, "rendered": told, "configuration": workload.configuration}


def run(command: list[str], text: str, world: World, url: str, folder: Path) -> None:
    done = subprocess.run(
        command,
        input=text,
        env={
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "GANGLINE_CONFIG_DIR": str(folder),
            "GANGLINE_URL": url,
            "GANGLINE_TOKEN": world.token("researcher-vision"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done


@pytest.mark.parametrize(
    "master",
    [
        pytest.param({}, id="same", marks=pytest.mark.thorough),
        pytest.param({"master.different": "on", "master.command": ODD}, id="different"),
    ],
)
def test_acf18_the_printed_lines_create_what_the_form_creates(
    world: World, live_server: Any, tmp_path: Path, master: dict[str, str]
) -> None:
    """AC-F18."""
    filler = Filler(world, tab="tab-1")
    filler.fill()
    if master:
        filler.post("master", master)
        filler.post(
            "workers",
            {
                "worker.environmentVariables~rows": ["a", "b"],
                "worker.environmentVariables~a.name": "LINES",
                "worker.environmentVariables~a.value": LINES,
                "worker.environmentVariables~b.name": "DASH",
                "worker.environmentVariables~b.value": "--workers=7",
                "worker.args": ODD,
            },
        )
    lines = {key: as_text(filler, key, live_server.url) for key in ("cli", "python")}
    assert ("--master-command" in lines["cli"]) is bool(master)
    run(["/bin/sh", "-eu"], lines["cli"], world, live_server.url, tmp_path)
    by_line = frozen("digits")
    run([sys.executable, "-"], lines["python"], world, live_server.url, tmp_path)
    by_program = frozen("digits")
    filler.post("review", go="create")
    by_form = frozen("digits")
    if master:
        kept = by_form["values"]["worker.environmentVariables"]
        assert [one["value"] for one in kept] == [LINES, "--workers=7"]
    assert by_line == by_form
    assert by_program == by_form
    assert sorted(Workload.objects.values_list("channel", flat=True)) == ["api", "cli", "form"]


def as_text(filler: Filler, key: str, url: str) -> str:
    host = {"Host": url.partition("//")[2]}
    answer = filler.client.get(f"/workloads/new/{filler.draft}/as/{key}", headers=host)
    assert answer.status_code == 200
    # The page was asked for under the host of Django's own test client.
    return str(answer.content.decode())
