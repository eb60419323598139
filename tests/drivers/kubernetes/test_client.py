"""The raw client against a real API server, and against what is none."""

import dataclasses
import http.server
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gangline.drivers.kubernetes import resources
from gangline.drivers.kubernetes.access import ClusterCredentials, trusting
from gangline.drivers.kubernetes.client import Client, Unreachable
from gangline.drivers.kubernetes.kinds import KINDS
from gangline.drivers.kubernetes.log_collector import FOLLOWERS
from tests.beds.kubernetes.bed import Bed
from tests.beds.kubernetes.jobs import job
from tests.beds.kubernetes.objects import CONFIG_MAPS, SECRETS
from tests.support.waiting import wait_for

MAPS = CONFIG_MAPS
PYTORCH = KINDS["PyTorch"].resource


@pytest.fixture
def client(bed: Bed) -> Iterator[Client]:
    """A client of its own: no other test has used its connections."""
    with closing(Client(bed.admin)) as made:
        yield made


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_a_wrong_token_is_an_answer(bed: Bed) -> None:
    with closing(Client(dataclasses.replace(bed.admin, token="wrong"))) as stranger:
        answer = stranger.list(resources.NODES)
    assert (answer.status, answer.reason, answer.ok) == (401, "Unauthorized", False)


def test_without_rights_the_answer_names_the_right(bed: Bed, namespace: str) -> None:
    with closing(Client(bed.restricted)) as restricted:
        answer = restricted.list(SECRETS, "kube-system")
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert 'cannot list resource "secrets"' in answer.message


def test_what_is_absent_taken_or_wrong_is_told_apart(client: Client, namespace: str) -> None:
    absent = client.get(MAPS, namespace, "none")
    assert (absent.status, absent.reason) == (404, "NotFound")
    assert client.create(MAPS, namespace, config_map("one")).status == 201
    taken = client.create(MAPS, namespace, config_map("one"))
    assert (taken.status, taken.reason) == (409, "AlreadyExists")
    wrong = client.create(MAPS, namespace, config_map("No_Name"))
    assert (wrong.status, wrong.reason) == (422, "Invalid")
    assert "No_Name" in wrong.message


@pytest.mark.thorough
def test_an_unknown_field_is_refused_and_not_dropped(client: Client, namespace: str) -> None:
    body = job("PyTorch", "digits", {"Master": 1})
    body["spec"]["retries"] = 3
    answer = client.create(PYTORCH, namespace, body)
    assert answer.status == 400
    assert 'unknown field "spec.retries"' in answer.message


@pytest.mark.thorough
def test_a_dry_run_says_what_would_be_and_makes_nothing(client: Client, namespace: str) -> None:
    body = job("PyTorch", "digits", {"Master": 1})
    assert client.create(PYTORCH, namespace, body, dry_run=True).status == 201
    assert client.get(PYTORCH, namespace, "digits").status == 404


def test_an_old_resource_version_makes_a_patch_a_conflict(client: Client, namespace: str) -> None:
    made = client.create(MAPS, namespace, config_map("one", a="1")).body
    version = made["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}
    assert client.patch(MAPS, namespace, "one", change).status == 200
    stale = client.patch(MAPS, namespace, "one", change)
    assert (stale.status, stale.reason) == (409, "Conflict")


@pytest.mark.thorough
def test_apply_makes_and_changes_only_what_is_ours(client: Client, namespace: str) -> None:
    assert client.apply(MAPS, namespace, "one", config_map("one", ours="1")).status == 201
    client.patch(MAPS, namespace, "one", {"metadata": {"labels": {"theirs": "1"}}})
    again = client.apply(MAPS, namespace, "one", config_map("one", ours="2"))
    assert again.status == 200
    assert again.body["data"] == {"ours": "2"}


def test_a_deletion_names_the_object_and_spares_its_successor(
    client: Client, namespace: str
) -> None:
    uid = client.create(MAPS, namespace, config_map("one")).body["metadata"]["uid"]
    spared = client.delete(MAPS, namespace, "one", uid="11111111-2222-3333-4444-555555555555")
    assert (spared.status, spared.reason) == (409, "Conflict")
    assert client.get(MAPS, namespace, "one").ok
    assert client.delete(MAPS, namespace, "one", uid=uid).ok
    wait_for(lambda: client.get(MAPS, namespace, "one").status == 404)


@pytest.mark.thorough
def test_one_connection_serves_many_requests(
    bed: Bed, client: Client, namespace: str, dialled: list[Any]
) -> None:
    for number in range(20):
        client.create(MAPS, namespace, config_map(f"map-{number}"))
        client.get(MAPS, namespace, "none")
        client.list(MAPS, namespace)
    assert len(dialled) == 1
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: client.get(MAPS, namespace, f"map-{n}"), range(20)))
    assert [answer.status for answer in answers] == [200] * 20
    assert len(dialled) <= 8


@pytest.mark.thorough
def test_as_many_connections_are_kept_as_there_are_followers_of_logs(
    client: Client, namespace: str, dialled: list[Any]
) -> None:
    together = threading.Barrier(FOLLOWERS)

    def listed(_: int) -> int:
        together.wait(30)
        with client.stream(MAPS.path(namespace)) as (status, pieces):
            together.wait(30)  # all at a time
            assert b"".join(pieces)
        return status

    with ThreadPoolExecutor(FOLLOWERS) as pool:
        for _ in range(3):
            assert set(pool.map(listed, range(FOLLOWERS))) == {200}
    assert len(dialled) == FOLLOWERS


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every TCP connection that is opened while the test runs."""
    import urllib3

    opened: list[Any] = []
    dial = urllib3.util.connection.create_connection

    def counted(address: Any, *arguments: Any, **named: Any) -> socket.socket:
        opened.append(address)
        return dial(address, *arguments, **named)

    monkeypatch.setattr(urllib3.util.connection, "create_connection", counted)
    return opened


@pytest.mark.thorough
def test_a_stream_that_is_left_early_does_not_return_its_connection(
    client: Client, namespace: str, dialled: list[Any]
) -> None:
    path = MAPS.path(namespace)
    with client.stream(path, query={"watch": True, "timeoutSeconds": 60}) as (status, _):
        assert status == 200
    assert client.list(MAPS, namespace).ok
    assert len(dialled) == 2


def test_a_watch_brings_each_change_at_once(client: Client, namespace: str) -> None:
    version = client.list(MAPS, namespace).body["metadata"]["resourceVersion"]
    query = {"watch": True, "resourceVersion": version, "allowWatchBookmarks": True}
    with client.stream(MAPS.path(namespace), query=query, silence=10) as (status, pieces):
        assert status == 200
        for name in ("one", "two"):
            began = time.monotonic()
            client.create(MAPS, namespace, config_map(name))
            event = json.loads(next(pieces))
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)
            assert time.monotonic() - began < 2


@pytest.mark.thorough
def test_a_frozen_api_server_ends_a_watch_and_a_request_in_time(
    own_processes: Bed, client: Client, namespace: str
) -> None:
    bed = own_processes
    with client.stream(MAPS.path(namespace), query={"watch": True}, silence=2) as (_, pieces):
        for piece in pieces:
            if b"kube-root-ca.crt" in piece:
                break
        bed.freeze("kube-apiserver")
        try:
            began = time.monotonic()
            with pytest.raises(Unreachable, match="did not answer in time"):
                next(pieces)
            assert 1.5 < time.monotonic() - began < 4
            with pytest.raises(Unreachable, match="did not answer"):
                client.request("GET", "/version", read_seconds=1)
            with closing(Client(bed.admin)) as other:
                began = time.monotonic()
                with pytest.raises(Unreachable, match="did not answer in time"):
                    other.request("GET", "/version", read_seconds=1)
                assert time.monotonic() - began < 7
        finally:
            bed.thaw("kube-apiserver")
    assert client.request("GET", "/version").ok


@pytest.mark.thorough
def test_a_client_certificate_signs_in_and_touches_no_disk(
    own_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own_bed.state
    pki = own_bed.state.layout.pki
    chain, key = pki.client_certificate("kim", "system:masters")
    by_certificate = dataclasses.replace(
        own_bed.admin, token="", client_certificate=chain, client_key=key
    )
    for name in ("TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with closing(Client(by_certificate)) as client:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = client.request("POST", path, body=review)
    user = answer.body["status"]["userInfo"]
    assert user["username"] == "kim"
    assert "system:masters" in user["groups"]
    assert list(tmp_path.iterdir()) == []
    left = [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not [name for name in left if "memfd:gangline" in name]


@pytest.mark.thorough
def test_a_sealed_key_is_an_error_and_no_question_at_the_terminal(bed: Bed, tmp_path: Path) -> None:
    names = ("-keyout", "sealed.key", "-out", "sealed.crt", "-subj", "/CN=kim")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:secret", *names]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    sealed = dataclasses.replace(
        bed.admin,
        token="",
        client_certificate=(tmp_path / "sealed.crt").read_text(),
        client_key=(tmp_path / "sealed.key").read_text(),
    )
    with pytest.raises(ssl.SSLError):
        Client(sealed)


@pytest.mark.thorough
def test_certificates_are_checked_but_not_for_more_than_clusters_have(bed: Bed) -> None:
    context = trusting(bed.admin)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT


@pytest.mark.thorough
def test_an_authority_that_is_not_the_clusters_is_not_trusted(bed: Bed, tmp_path: Path) -> None:
    from tests.beds.kubernetes import pki

    other = pki.make(tmp_path / "pki").text("ca.crt")
    stranger = dataclasses.replace(bed.admin, certificate_authority=other)
    with closing(Client(stranger)) as client, pytest.raises(Unreachable, match="cannot be trusted"):
        client.list(resources.NODES)


@pytest.mark.thorough
def test_a_name_that_the_certificate_does_not_have_is_not_trusted(own_bed: Bed) -> None:
    renamed = dataclasses.replace(own_bed.admin, tls_server_name="kubernetes.example")
    with closing(Client(renamed)) as client, pytest.raises(Unreachable, match="cannot be trusted"):
        client.list(resources.NODES)
    named = dataclasses.replace(own_bed.admin, tls_server_name="kubernetes.default.svc")
    with closing(Client(named)) as client:
        assert client.list(resources.NODES).ok


@pytest.mark.thorough
def test_the_proxies_of_the_environment_are_not_asked(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, address)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with closing(Client(bed.admin)) as client:
            assert client.list(resources.NODES).ok
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()


class Redirecting(http.server.BaseHTTPRequestHandler):
    """Sends everybody to the path /elsewhere of itself."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(302)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def tls_server(
    bed: Bed, handler: type[http.server.BaseHTTPRequestHandler]
) -> Iterator[ClusterCredentials]:
    """A server with the bed's certificate."""
    assert bed.state
    pki = bed.state.layout.pki
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.path("apiserver.crt"), pki.path("apiserver.key"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield dataclasses.replace(bed.admin, server=f"https://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.thorough
def test_a_redirect_is_an_answer_and_not_followed(own_bed: Bed) -> None:
    Redirecting.asked = []
    with tls_server(own_bed, Redirecting) as access, closing(Client(access)) as client:
        assert client.list(resources.NODES).status == 302
    assert Redirecting.asked == ["/api/v1/nodes"]


@pytest.mark.thorough
def test_a_token_file_is_read_again_for_each_request(bed: Bed, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{bed.admin.token}\n")
    by_file = dataclasses.replace(bed.admin, token="", token_file=str(path))
    with closing(Client(by_file)) as client:
        assert client.list(resources.NODES).ok
        path.write_text("revoked")
        assert client.list(resources.NODES).status == 401
        path.unlink()
        with pytest.raises(Unreachable, match=r"^The token file"):
            client.list(resources.NODES)


@pytest.mark.thorough
def test_nothing_listens_there(bed: Bed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"https://127.0.0.1:{taken.getsockname()[1]}"
    gone = dataclasses.replace(bed.admin, server=address)
    with closing(Client(gone)) as client, pytest.raises(Unreachable, match="nothing listens there"):
        client.list(resources.NODES)


@pytest.mark.thorough
def test_a_server_without_tls_is_named_as_such(bed: Bed) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Redirecting) as plain:
        thread = threading.Thread(target=plain.serve_forever)
        thread.start()
        access = dataclasses.replace(bed.admin, server=f"https://127.0.0.1:{plain.server_port}")
        try:
            with closing(Client(access)) as client, pytest.raises(Unreachable, match="TLS"):
                client.list(resources.NODES)
        finally:
            plain.shutdown()
            thread.join()


@pytest.mark.parametrize("query", [{"limit": 1}, {"labelSelector": "a in (b, c)"}])
@pytest.mark.thorough
def test_pages_and_selectors_reach_the_server(
    client: Client, namespace: str, query: Mapping[str, str | int]
) -> None:
    for name, label in (("one", "b"), ("two", "d")):
        body = config_map(name)
        body["metadata"]["labels"] = {"a": label}
        client.create(MAPS, namespace, body)
    answer = client.list(MAPS, namespace, **query)
    (item,) = answer.body["items"]
    assert item["metadata"]["name"] in {"one", "kube-root-ca.crt"}
