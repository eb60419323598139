"""Organisation, assets and policies by command; a program of the SDK; what the files promise."""

import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from gangline_cli import flags, items
from gangline_cli.main import gangline
from gangline_sdk import Client, calls
from tests.cli import sdk_program
from tests.cli.conftest import PROJECT, SMALL, Line
from tests.support.installation import Embedded


@pytest.fixture(scope="module")
def admin(site: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Line:
    token = site.manage("token", "administrator", "--days", "1").strip()
    line = Line(tmp_path_factory.mktemp("admin"), site.url, {"GANGLINE_TOKEN": token})
    line.more |= {"GANGLINE_URL": site.url, "GANGLINE_PROJECT": PROJECT}
    return line


def test_every_resource_is_listed(admin: Line) -> None:
    for key in calls.resources():
        admin.ok("list", key, "-o", "wide")


def test_an_asset_from_creation_to_deletion(admin: Line) -> None:
    admin.ok(
        "environment", "create", "ddp", "--set", "meta.scope=tenant", "--set", "spec.image=a:1"
    )
    assert "ddp" in admin.ok("environment", "list")
    again = admin("environment", "create", "ddp", "--set", "meta.scope=tenant")
    assert again.code in (3, 6)
    admin.ok("environment", "update", "ddp", "--set", "spec.image=a:2")
    shown = json.loads(admin.ok("environment", "describe", "ddp", "-o", "json"))
    assert shown["spec"]["image"] == "a:2"
    admin.ok("environment", "delete", "ddp")
    assert admin("environment", "describe", "ddp").code == 5
    assert admin("environment", "create", "x", "--set", "spec").code == 2
    odd = admin("environment", "create", "x", "--set", "meta.scope=tenant", "--set", "spec.imag=a")
    assert (odd.code, "imag" in odd.err) == (3, True)


def test_a_policy_is_explained_and_names_the_flag(site: Embedded, admin: Line) -> None:
    project = json.loads(admin.ok("project", "describe", PROJECT, "-o", "json"))["id"]
    where = {"scope": "project", "projectId": project}
    rules = {"worker": {"numWorkers": {"max": 3}}}
    body = {"meta": {"scope": "project", "projectId": int(project)}, "policy": {"rules": rules}}
    with Client(site.url, token=admin.more["GANGLINE_TOKEN"]) as client:
        client.send(calls.Call("PUT", "v2/policy/distributed", body=body))
        try:
            assert "max 3" in admin.ok("policy", "explain", "numWorkers")
            default, rule = admin.ok("policy", "explain", "--", "--workers").splitlines()[1:]
            assert default.split() == [
                "worker",
                "numWorkers",
                "--workers",
                "default",
                "1",
                "system",
            ]
            assert rule.split()[-2:] == ["project", str(project)]
            refused = admin("submit-dist", "pytorch", "many", "--workers=4", *SMALL)
            assert (refused.code, "--workers" in refused.err) == (3, True)
            assert "project vision" in refused.err
        finally:
            client.send(calls.Call("DELETE", "v2/policy/distributed", query=where))


def test_a_program_of_the_sdk(site: Embedded) -> None:
    """Without a stored login, as its user runs it."""
    done = subprocess.run(
        [sys.executable, sdk_program.__file__, site.url, site.token],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "Completed, True: by a program\n" * 2, done


def test_every_command_and_every_flag_says_what_it_is_for() -> None:
    silent = []
    for name, command in _commands(gangline, "gangline"):
        flags_of = [one for one in command.params if isinstance(one, click.Option)]
        mute = [one.opts[0] for one in flags_of if not one.hidden and not one.help]
        silent += [name] if not command.help else [f"{name} {flag}" for flag in mute]
    assert silent == []


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        ctx = click.Context(command, info_name=name)
        for word in command.list_commands(ctx):
            inner = command.get_command(ctx, word)
            assert inner is not None, (name, word)
            yield from _commands(inner, f"{name} {word}")


def test_no_two_fields_have_the_same_flag() -> None:
    names = [name for option in flags.options() for name in (*option.opts, *option.secondary_opts)]
    assert sorted(set(names)) == sorted(names)


def test_other_names_and_shaped_flags_are_of_fields_that_there_are() -> None:
    paths = {*flags.MORE, *(one.path for one in flags.SHAPED.values())}
    assert paths <= set(flags.fields())


@pytest.mark.parametrize(
    ("words", "path", "expected"),
    [
        (("-e", "A=b=c,d"), "environmentVariables", [{"name": "A", "value": "b=c,d"}]),
        (("--capability", "SYS_PTRACE,IPC_LOCK"), "security.capabilities", None),
        (
            ("--existing-pvc", "claimname=data,path=/data"),
            "storage.pvc",
            [{"claimName": "data", "path": "/data", "existingPvc": True}],
        ),
        (
            ("--new-pvc", "storageclass=fast,size=1G,path=/x,accessmode-rwo,ephemeral"),
            "storage.pvc",
            [
                {
                    "claimInfo": {
                        "storageClass": "fast",
                        "size": "1G",
                        "accessModes": {"readWriteOnce": True},
                    },
                    "path": "/x",
                    "ephemeral": True,
                }
            ],
        ),
        (
            ("--toleration", "operator=Equal,key=a,value=b,effect=NoSchedule"),
            "tolerations",
            [{"operator": "Equal", "key": "a", "value": "b", "effect": "NoSchedule"}],
        ),
        (("--ttl-after-finish", "1h30m"), "autoDeletionTimeAfterCompletionSeconds", 5400),
        (("--host-ipc=false",), "security.hostIpc", False),
        (("--label", "[]"), "labels", []),
        (
            ("--git-sync", "source=https://git.example/a.git,branch=main,rev=v1,target=/code"),
            "storage.git",
            [
                {
                    "repository": "https://git.example/a.git",
                    "branch": "main",
                    "revision": "v1",
                    "path": "/code",
                }
            ],
        ),
    ],
)
def test_the_older_and_newer_words_of_lists(
    words: tuple[str, ...], path: str, expected: object
) -> None:
    command = flags.SubmitCommand("x", params=list(flags.options()))
    given = command.make_context("x", list(words)).params
    found = items.at(flags.halves(given).worker, path.split("."))
    assert found == (["SYS_PTRACE", "IPC_LOCK"] if expected is None else expected)
