"""A login node by SSH: a real sshd, one connection, a pinned host key."""

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from gangline.drivers import addresses
from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.slurm import intake
from gangline.drivers.slurm.access import SSH, ClusterCredentials
from gangline.drivers.slurm.commands import LoginRefused, NoAnswer, Programs, here, whole
from gangline.drivers.slurm.intake import SlurmCredential
from gangline.drivers.slurm.ssh import SshCommands
from tests.support.ssh_server import SshServer
from tests.support.waiting import wait_for

pytestmark = pytest.mark.needs_sshd
REACH = AllowedAddresses(addresses.networks("127.0.0.0/8"))


@pytest.fixture
def commands(ssh_server: SshServer) -> Iterator[SshCommands]:
    made = SshCommands(ssh_server.access, REACH)
    yield made
    made.close()


def changed(access: ClusterCredentials, **changes: object) -> ClusterCredentials:
    return ClusterCredentials.from_json({**access.as_json(), **changes})


def test_programs_run_there_and_tell_how_they_ended(commands: SshCommands) -> None:
    answer = commands.run("cat <<'END'\n$HOME 'as it is'\nEND\necho no >&2; exit 3")
    assert (answer.code, answer.out, answer.err) == (3, "$HOME 'as it is'\n", "no\n")


def test_one_connection_serves_many_threads(commands: SshCommands) -> None:
    found = []
    program = 'set -- $SSH_CONNECTION; echo "$2"; sleep 0.2'
    threads = [
        threading.Thread(target=lambda: found.append(commands.run(program).out)) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert len(set(found)) == 1


def test_a_broken_connection_is_made_anew(commands: SshCommands, ssh_server: SshServer) -> None:
    assert commands.run("echo 1").out == "1\n"
    ssh_server.start_again()
    try:
        commands.run("echo 2")
    except NoAnswer:
        pass  # the old one may have been in use just then
    assert commands.run("echo 3").out == "3\n"


def test_a_node_with_another_host_key_gets_no_key(ssh_server: SshServer) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    commands = SshCommands(changed(ssh_server.access, host_key=other), REACH)
    with pytest.raises(LoginRefused, match="a different host key"):
        commands.run("true")
    assert "Accepted" not in (ssh_server.folder / "sshd.log").read_text()


def test_a_key_that_is_not_let_in_is_refused(ssh_server: SshServer) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    with pytest.raises(LoginRefused, match="rejected the key"):
        SshCommands(changed(ssh_server.access, key=key), REACH).run("true")


def test_a_key_that_is_no_longer_let_in_is_said(
    commands: SshCommands, ssh_server: SshServer
) -> None:
    """It was taken out of authorized_keys, or has expired, while the connection was open."""
    assert commands.run("echo in").out == "in\n"
    lines = (ssh_server.folder / "authorized_keys").read_text()
    expired = f'expiry-time="20200101" {lines}'
    (ssh_server.folder / "authorized_keys").write_text(expired)
    ssh_server.start_again()
    with pytest.raises(LoginRefused, match="rejected the key"):
        wait_for(lambda: _tried(commands), what="the refusal")


def _tried(commands: SshCommands) -> str:
    """Empty while the old connection has not been found broken."""
    try:
        return commands.run("echo in").out
    except LoginRefused:
        raise
    except NoAnswer:
        return ""


def test_a_program_that_takes_too_long_is_no_answer(commands: SshCommands) -> None:
    with pytest.raises(NoAnswer):
        commands.run("sleep 20", seconds=0.5)
    assert commands.run("echo on").out == "on\n"


def test_of_a_program_that_is_lost_on_the_way_nothing_runs(
    ssh_server: SshServer, tmp_path: Path
) -> None:
    """A shell runs what it reads line by line: half of `scancel 1234` would end another's job."""
    done = tmp_path / "done"
    text = here("line\n" * 4, str(tmp_path / "job.sh"))
    program = whole(f"echo 1 >> {done}\n{text}echo 12 >> {done}")
    # Within and after each line, and before the last word is whole.
    cuts = [3, *(n for n in (30, 50, 90, 130)), *range(len(program) - 8, len(program) - 2, 2)]

    async def cut_off() -> None:
        access = ssh_server.access
        host_key = asyncssh.import_public_key(access.host_key)
        async with asyncssh.connect(
            access.host, access.port, username=access.user, config=None,
            client_keys=[asyncssh.import_private_key(access.key)], known_hosts=([host_key], [], []),
        ) as connection:  # fmt: skip
            for cut in cuts:
                process = await connection.create_process("/bin/sh -s", encoding=None)
                process.stdin.write(program[:cut])
                process.stdin.write_eof()
                await process.wait()

    asyncio.run(cut_off())
    assert [path for path in (done, tmp_path / "job.sh") if path.exists()] == []
    subprocess.run(["/bin/sh", "-s"], input=program, check=True)
    assert done.read_text() == "1\n12\n", "the control"


def test_nothing_is_dialled_where_gangline_may_not_go(ssh_server: SshServer) -> None:
    with pytest.raises(NoAnswer, match="loopback"):
        SshCommands(ssh_server.access, AllowedAddresses()).run("true")


def test_settings_of_the_cluster_are_no_part_of_a_program(commands: SshCommands) -> None:
    answer = Programs(commands, config="/it's here").run('printf %s "$SLURM_CONF"')
    assert answer.out == "/it's here"


def test_without_keys_one_is_made_and_the_nodes_own_is_pinned(ssh_server: SshServer) -> None:
    given = SlurmCredential(way=SSH, host="127.0.0.1", port=ssh_server.port, user="root")
    access = intake.admit(given, REACH).access
    assert access.host_key == ssh_server.access.host_key
    assert access.public.startswith("ssh-ed25519 ")
    ssh_server.let_in(access.public)
    user = changed(access, user=ssh_server.access.user)
    assert SshCommands(user, REACH).run("echo in").out == "in\n"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("host", "-oProxyCommand=id"),
        ("host", "a b"),
        ("host", ""),
        ("user", "root; id"),
        ("user", "-l"),
        ("key", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----"),
        ("key", "hello"),
        ("hostKey", "hello"),
        ("hostKey", "ssh-ed25519 AAAA"),
    ],
)
def test_what_is_no_login_is_refused_at_its_field(field: str, value: str) -> None:
    given = {"way": SSH, "host": "login.example", "user": "gangline", "hostKey": HOST_KEY}
    made = intake.admit(SlurmCredential.model_validate({**given, field: value}), REACH)
    assert [problem.path for problem in made.problems] == [field]


def test_a_key_with_a_passphrase_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    line = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "some words", "-f", str(file)]
    subprocess.run(line, check=True, stdin=subprocess.DEVNULL)
    given = SlurmCredential(
        way=SSH, host="login.example", user="gangline", host_key=HOST_KEY, key=file.read_text()
    )
    (problem,) = intake.admit(given, REACH).problems
    assert problem.path == "key"
    assert "passphrase" in problem.message


HOST_KEY = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
