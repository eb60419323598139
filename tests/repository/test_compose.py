"""`compose.yaml` describes what the code knows: its variables, its programs, its processes."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from gangline.config.env import Env
from scripts import stack

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = {name: one for name, one in COMPOSE["services"].items() if one["image"] == "gangline"}


def words(service: dict[str, Any]) -> list[str]:
    """The command of a service as one list of words."""
    return " ".join(service["command"]).split()


def test_two_web_processes_a_worker_and_a_watcher_are_described() -> None:
    assert set(OURS) == {"prepare", *stack.PROCESSES}


@pytest.mark.parametrize("name", stack.PROCESSES)
def test_each_process_runs_the_program_that_the_stack_of_one_machine_runs(name: str) -> None:
    assert words(OURS[name])[:2] == [*stack.PROCESSES[name][:2]]


def test_every_variable_is_a_setting() -> None:
    known = {f"GANGLINE_{name.upper()}" for name in Env.model_fields}
    for service in OURS.values():
        assert set(service["environment"]) - known == set()


def test_the_machine_in_a_container_is_not_offered_as_a_cluster() -> None:
    for service in OURS.values():
        assert service["environment"]["GANGLINE_LOCAL_CLUSTER"] == "0"


def test_every_management_command_and_application_exists() -> None:
    for service in OURS.values():
        line = words(service)
        for at, word in enumerate(line):
            if word == "gangline-manage":
                assert line[at + 1] in get_commands()
            if word in {"uvicorn", "-A"}:
                importlib.import_module(line[at + 1].partition(":")[0])


def test_pages_are_served_on_the_loopback_address_only() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert len(ports) == 2
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("name", stack.PROCESSES)
def test_the_documented_command_is_the_one_that_the_stack_runs(name: str) -> None:
    text = (ROOT / "docs" / "how-to" / "go-to-production.md").read_text()
    assert f"    {' '.join(stack.PROCESSES[name])}" in text


def test_every_documented_variable_is_a_setting() -> None:
    text = (ROOT / "docs" / "how-to" / "go-to-production.md").read_text()
    documented = set(re.findall(r"GANGLINE_\w+", text))
    assert documented
    assert documented <= {f"GANGLINE_{name.upper()}" for name in Env.model_fields}
