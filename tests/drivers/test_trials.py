"""Tests of connections, against the servers that they are about."""

import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import asyncssh
import psutil
import pytest

from gangline.drivers import addresses
from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.checks import State
from gangline.drivers.trials import program, runner
from gangline.drivers.trials.places import Bucket, Outcome, Place, Registry, Repository
from tests.support import registries, repositories
from tests.support import s3 as buckets
from tests.support.certificates import pair
from tests.support.s3 import S3Server
from tests.support.ssh_server import SshServer
from tests.support.waiting import wait_for

HERE = AllowedAddresses(addresses.networks("127.0.0.1/32"))
NAME, ELSEWHERE = "data.lab.example.org", "127.0.0.2"
SECRET = registries.PASSWORD


def tried(place: Place, reach: AllowedAddresses = HERE) -> Outcome:
    """In this process: what it dials can be seen."""
    outcome = program.tried(place, reach)
    assert SECRET not in json.dumps(outcome.as_json())
    assert outcome.problem.told != f"{outcome.problem.code}."
    return outcome


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[repositories.Repository]:
    with repositories.serving(tmp_path / "served") as found:
        yield found


@contextmanager
def answering(
    answer: Callable[[BaseHTTPRequestHandler], None], host: str = "127.0.0.1", port: int = 0
) -> Iterator[ThreadingHTTPServer]:
    """A server that does this with every GET."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer((host, port), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def test_a_repository_over_http(repository: repositories.Repository) -> None:
    url = repository.url
    assert tried(Repository(url)).code == "empty"
    commit = repository.commit("one")
    repository.branch("fix/dev", "two")
    repository.git("tag", "v1")
    for branch, revision, code in (
        ("", "", "repository"),
        ("fix/dev", "", "branch"),
        ("v1", "", "branch"),
        ("dev", "", "no_branch"),
        ("", "v1", "revision"),
        ("", "fix/dev", "revision"),
        ("", commit, "revision"),
        ("", "abcdef12", "commit"),
        ("", "v2", "no_revision"),
    ):
        assert tried(Repository(url, branch, revision)).code == code, (branch, revision)
    assert tried(Repository(f"{url}-other")).code == "no_repository"


def test_a_login_goes_only_to_a_server_that_asks_for_it(
    repository: repositories.Repository,
) -> None:
    repository.commit("one")
    place = Repository(repository.url, user="ada", password=SECRET)
    assert tried(place).code == "repository"
    assert repository.logins == {None}
    repository.login = ("ada", SECRET)
    assert tried(place).code == "repository"
    assert tried(Repository(repository.url)).code == "login"
    assert tried(Repository(repository.url, user="ada", password="other")).code == "refused"
    repository.login = ("ädä", f"{SECRET}é")
    assert tried(Repository(repository.url, user="ädä", password=f"{SECRET}é")).state is State.OK


@pytest.mark.needs_sshd
def test_a_repository_over_ssh(ssh_server: SshServer, tmp_path: Path) -> None:
    repository = repositories.Repository(tmp_path / "code")
    repository.commit("one")
    key, access = ssh_server.access.key, ssh_server.access

    def url(path: Path) -> str:
        return f"ssh://{access.user}@127.0.0.1:{access.port}{path}"

    here = url(repository.folder)
    assert tried(Repository(here, key=key)).code == "repository"
    assert tried(Repository(here, "other", key=key)).code == "no_branch"
    assert tried(Repository(url(tmp_path / "none"), key=key)).code == "no_repository"
    assert tried(Repository(here)).code == "key_needed"
    assert tried(Repository(here, key=SECRET)).code == "key_unread"
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    assert tried(Repository(here, key=stranger.export_private_key().decode())).code == "refused"
    locked = stranger.export_private_key("pkcs8-pem", passphrase=SECRET).decode()
    assert tried(Repository(here, key=locked)).code == "key_unread"
    assert tried(Repository(here, key=key), AllowedAddresses()).code == "address"


@pytest.mark.needs_s3
def test_a_bucket(tmp_path: Path) -> None:
    with buckets.serving(tmp_path / "s3") as server:
        _bucket_of(server)


def _bucket_of(server: S3Server) -> None:
    server.bucket("sets", one="1")
    server.bucket("empty")

    def code(name: str, key_id: str = buckets.KEY_ID, key: str = buckets.KEY) -> str:
        return tried(Bucket(server.url, name, key_id, key)).code

    assert code("sets") == "bucket"
    assert code("empty") == "bucket_empty"
    assert code("other") == "no_bucket"
    assert code("sets", key=SECRET) == "refused"
    assert code("sets", key_id="nobody") == "refused"
    assert code("sets", "", "") == "login"
    assert tried(Bucket(server.url, "sets"), AllowedAddresses()).code == "address"


def test_what_is_no_service_of_the_kind(repository: repositories.Repository) -> None:
    root = repository.url.rpartition("/")[0]
    assert tried(Bucket(root, "sets", "id", SECRET)).code == "no_s3"
    assert tried(Registry(root, "ada", SECRET)).code == "no_registry"
    with answering(lambda one: send(one, 200, b"<html>", Content_Type="text/html")) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        assert tried(Repository(f"{url}/code")).code == "no_git"
        assert tried(Registry(url, "ada", SECRET)).code == "no_login"


@pytest.mark.needs_registry
@pytest.mark.parametrize("way", ["basic", "token"])
def test_a_login_at_a_registry(tmp_path: Path, way: str) -> None:
    with registries.serving(tmp_path, way) as server:
        assert tried(Registry(server, "ada", SECRET)).code == "registry"
        assert tried(Registry(server, "ada", "other")).code == "refused"
        assert tried(Registry(server, "eve", SECRET)).code == "refused"
        assert tried(Registry(f"{server}/team/images", "ada", SECRET)).code == "registry"
        assert tried(Registry(server, "ada", SECRET), AllowedAddresses()).code == "address"
        assert tried(Registry(server, "ada", SECRET, "")).code == "registry"
        assert tried(Registry(server, "ada", "other", "")).code == "refused"
        assert tried(Registry(server, "ada", SECRET, "team/none")).code == "no_repository"


def test_what_a_registry_lists_is_read_page_by_page_and_only_names_of_it() -> None:
    pages = {
        "/v2/_catalog?n=1000": (b'{"repositories": ["a/b", "<b>", 7]}', "</v2/_catalog?last=b>"),
        "/v2/_catalog?last=b": (b'{"repositories": ["c"]}', ""),
        "/v2/a/tags/list?n=1000": (b'{"tags": null}', ""),
        "/v2/b/tags/list?n=1000": (b'{"tags": ["1"]}', "<http://127.0.0.2/v2/x>"),
        "/v2/c/tags/list?n=1000": (b"[]", ""),
    }

    def told(one: Any) -> None:
        body, after = pages[one.path]
        send(one, 200, body, **({"Link": f'{after}; rel="next"'} if after else {}))

    with answering(told) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        assert tried(Registry(url, "ada", SECRET, "")).names == ("a/b", "c")
        assert tried(Registry(url, "ada", SECRET, "a")).names == ()
        assert tried(Registry(url, "ada", SECRET, "b")).code == "moved"
        assert tried(Registry(url, "ada", SECRET, "c")).code == "no_registry"


def test_a_registry_cannot_have_the_login_sent_just_anywhere() -> None:
    """The place where tokens are given out is judged as the registry is."""
    realms = {
        f"http://{ELSEWHERE}:1/token": "address",
        "file:///etc/passwd": "no_registry",
        "http://ada:x@127.0.0.1/token": "no_registry",
        "": "no_registry",
    }
    for realm, code in realms.items():
        header = f'Bearer realm="{realm}",service="tests"'
        ask = partial(send, status=401, WWW_Authenticate=header)
        with answering(ask) as server:
            place = Registry(f"http://127.0.0.1:{server.server_port}", "ada", SECRET)
            assert tried(place).code == code, realm


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    made = pair("lab", server=True)
    (tmp_path / "both.pem").write_text(made.certificate + made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    with answering(lambda one: send(one, 200)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        at = f"127.0.0.1:{server.server_port}"
        for place in (
            Repository(f"https://{at}/code", user="ada", password=SECRET),
            Bucket(f"https://{at}", "sets", "id", SECRET),
            Registry(at, "ada", SECRET),
        ):
            assert tried(place).code == "certificate", place


def test_a_server_that_sends_on_elsewhere_is_not_followed() -> None:
    """Within the same server it is: some have repositories under another path than is typed."""
    heard: list[str] = []

    def hear(one: BaseHTTPRequestHandler) -> None:
        heard.append(one.path)
        send(one, 200)

    with answering(hear) as other:
        there = f"http://127.0.0.1:{other.server_port}"

        def lead(one: BaseHTTPRequestHandler) -> None:
            if one.path.startswith("/near"):
                send(one, 301, Location="/far")
            elif one.path.startswith("/round"):
                send(one, 301, Location="/round")
            else:
                send(one, 307, Location=f"{there}{one.path}")

        with answering(lead) as server:
            url = f"http://127.0.0.1:{server.server_port}"
            for place in (
                Repository(f"{url}/code", user="ada", password=SECRET),
                Repository(f"{url}/near", user="ada", password=SECRET),
                Repository(f"{url}/round"),
                Registry(url, "ada", SECRET),
            ):
                assert tried(place).code == "moved", place
            assert tried(Bucket(url, "sets", "id", SECRET)).state is State.FAILED
    assert heard == []


def test_a_name_that_changes_its_mind_is_dialled_where_it_was_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every further answer of the resolver is an address that is not allowed."""
    real, asked = socket.getaddrinfo, 0

    def resolve(host: str, *rest: Any, **more: Any) -> Any:
        nonlocal asked
        if host != NAME:
            return real(host, *rest, **more)
        asked += 1
        return real("127.0.0.1" if asked == 1 else ELSEWHERE, *rest, **more)

    heard: list[str] = []

    def hear(which: str) -> Callable[[BaseHTTPRequestHandler], None]:
        def answer(one: BaseHTTPRequestHandler) -> None:
            heard.append(which)
            send(one, 404, Connection="close")

        return answer

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with (
        answering(hear("judged")) as server,
        answering(hear("other"), ELSEWHERE, server.server_port),
    ):
        at = f"{NAME}:{server.server_port}"
        for place in (
            Repository(f"http://{at}/code"),
            Bucket(f"http://{at}", "sets"),
            Registry(f"http://{at}", "ada", SECRET),
        ):
            asked = 0
            tried(place)
            assert asked == 1, place
            assert tried(place).code == "address", "asked again, it is elsewhere"
    assert heard == ["judged"] * 3


def test_what_is_none_of_the_protocols_is_not_spoken() -> None:
    marker = Path("/tmp") / f"gangline-trial-{os.getpid()}"
    for url in (
        f"ext::sh -c touch% {marker}",
        "file:///etc",
        "/etc",
        "git://127.0.0.1/x",
        "-u@x:y",
    ):
        assert tried(Repository(url, key=SECRET)).state is State.FAILED, url
    assert not marker.exists()


def test_the_program_ends_in_time_and_shows_no_login(
    repository: repositories.Repository,
) -> None:
    repository.login = ("ada", SECRET)
    repository.hold()
    ended: list[Outcome] = []
    place = Repository(repository.url, user="ada", password=SECRET)
    thread = threading.Thread(
        target=lambda: ended.append(runner.outcome_of(place, HERE, seconds=3))
    )
    started = time.monotonic()
    thread.start()
    repository.wait_for_a_call()
    wait_for(lambda: _programs(), what="the program")
    (one,) = _programs()
    assert SECRET not in " ".join(one.cmdline())
    assert set(one.environ()) <= {"LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "LC_CTYPE"}
    thread.join()
    assert ended[0].code == "late_all"
    assert time.monotonic() - started < 8
    assert not one.is_running()
    repository.gate.set()


def test_the_program_answers_as_the_trial_does(
    repository: repositories.Repository, caplog: pytest.LogCaptureFixture
) -> None:
    repository.login = ("ada", SECRET)
    repository.commit("one")
    place = Repository(repository.url, user="ada", password=SECRET)
    assert runner.outcome_of(place, HERE).code == "repository"
    assert runner.outcome_of(place, AllowedAddresses()).code == "address"
    own = AllowedAddresses(
        HERE.admitted, (("127.0.0.1", int(repository.url.split(":")[2].split("/")[0])),)
    )
    assert runner.outcome_of(place, own).code == "address"
    assert SECRET not in caplog.text
    assert SECRET not in repr(place)


def test_an_answer_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def pour(one: BaseHTTPRequestHandler) -> None:
        one.send_response(200)
        one.end_headers()
        try:
            for _ in range(64):
                one.wfile.write(b"0" * (1 << 20))
        except OSError:
            return

    with answering(pour) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        assert tried(Repository(f"{url}/code")).code == "large"
        assert tried(Registry(url, "ada", SECRET)).code == "large"


def _programs() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [one for one in children if runner.PROGRAM in one.cmdline()]
