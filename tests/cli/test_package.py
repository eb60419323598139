"""The package of the command line, installed where nothing of the server is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CLI = Path(__file__).resolve().parents[2] / "cli"


@pytest.mark.thorough  # its libraries come from a package index
def test_it_installs_without_the_server(tmp_path: Path) -> None:
    def run(*command: str | Path) -> str:
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", "own")
    run("own/bin/pip", "install", "--quiet", CLI)
    assert "distributed" in run("own/bin/gangline", "--help")
    listed = json.loads(run("own/bin/pip", "list", "--format=json"))
    assert not {"django", "gangline", "kubernetes"} & {one["name"].lower() for one in listed}
