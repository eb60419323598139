"""A server that is not there, is another or answers oddly; and a terminal that goes away."""

import json
import signal
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gangline_sdk import Client, ServerFailed, Unreachable
from scripts.services import free_port
from tests.cli.conftest import SMALL, Line
from tests.support.certificates import pair
from tests.support.installation import BIN

Answer = tuple[int, str]


@contextmanager
def server(
    answer: Callable[[str], Answer], *, certificate: tuple[Path, Path] | None = None
) -> Iterator[str]:
    """Answers each GET as ``answer`` says of its path; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = answer(self.path)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", text)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            return

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        made.socket = context.wrap_socket(made.socket, server_side=True)
    thread = threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{made.server_address[1]}"
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def line_to(url: str, folder: Path) -> Line:
    return Line(folder, url, {"GANGLINE_URL": url, "GANGLINE_TOKEN": "gangline_x"})


def test_no_server(tmp_path: Path) -> None:
    done = line_to(f"http://127.0.0.1:{free_port()}", tmp_path)("list")
    assert (done.code, done.out) == (7, "")
    assert "cannot be reached" in done.err


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    files = (tmp_path / "server.pem", tmp_path / "server.key")
    made = pair(server=True)
    files[0].write_text(made.certificate)
    files[1].write_text(made.key)
    page = json.dumps({"workloads": []})
    with server(lambda path: (200, page), certificate=files) as url:
        done = line_to(url, tmp_path)("list")
        assert done.code == 7
        assert "GANGLINE_CA_FILE" in done.err
        trusting = line_to(url, tmp_path)
        assert trusting("list", "--ca-file", str(files[0]), "--json").out == "[]\n"
        assert trusting("list", "--ca-file", str(tmp_path / "none")).code == 7


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((500, '{"code": 500, "message": "Something went wrong on our side."}'), 1),
        ((500, "<h1>Oops</h1>"), 1),
        ((200, "<h1>Some other site</h1>"), 1),
        ((302, "https://other.example/"), 7),
        ((401, '{"code": 401, "message": "The token has expired."}'), 4),
        ((403, '{"code": 403, "message": "You do not have permission to do this."}'), 4),
        ((429, '{"code": 429, "message": "Too many."}'), 1),
        ((503, '{"code": 503, "message": "The database is busy."}'), 7),
    ],
)
def test_an_odd_answer(tmp_path: Path, answer: Answer, code: int) -> None:
    with server(lambda path: answer) as url:
        done = line_to(url, tmp_path)("list")
    assert (done.code, done.out, "Traceback" in done.err) == (code, "", False), done
    assert done.err.startswith("gangline: ")


def test_a_long_list_comes_in_pages_and_no_more_of_them_than_are_read(tmp_path: Path) -> None:
    asked: list[str] = []

    def page(path: str) -> Answer:
        asked.append(path)
        number = len(asked)
        rows = [{"name": f"w-{number}-{i}"} for i in range(200)]
        return 200, json.dumps({"workloads": rows, "cursor": f"c{number}"} if number < 9 else {})

    with server(page) as url, Client(url, token="x") as client:
        assert [one["name"] for one in client.workloads(limit=201)][-1] == "w-2-0"
        assert len(asked) == 2
        assert "cursor=c1" in asked[1]
        names = client.workloads()
        assert next(names)["name"] == "w-3-0"
        assert len(asked) == 3


def test_a_token_goes_to_the_server_alone(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(path: str) -> Answer:
        seen.append(path)
        return 200, "{}"

    with (
        server(look) as other,
        server(lambda path: (302, other)) as url,
        Client(url, token="x") as client,
        pytest.raises(Unreachable),
    ):
        client.me()
    assert seen == []


def test_an_answer_without_json_is_no_empty_list(tmp_path: Path) -> None:
    with (
        server(lambda path: (200, "hello")) as url,
        Client(url, token="x") as client,
        pytest.raises(ServerFailed),
    ):
        list(client.workloads())


def test_a_stored_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    done = Line(tmp_path, "")("list")
    assert done.code == 1
    assert "config.json" in done.err


def test_ctrl_c_and_a_reader_that_has_enough(gangline: Line) -> None:
    words = ("--command", "--", "sh", "-c", "echo ready; sleep 600")
    gangline.ok("submit-dist", "pytorch", "endless", "--workers=1", *SMALL, "--wait", *words)
    following = subprocess.Popen(
        # What starts the tests may have it ignored, as shells do for what runs in the background.
        ["env", "--default-signal=INT", str(BIN / "gangline"), "logs", "endless", "--follow"],
        env=gangline.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    assert "ready" in following.stdout.readline()
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=20)
    assert (following.returncode, "Traceback" in err) == (130, False)
    piped = gangline.shell("gangline submit-dist pytorch --help | head -1; gangline list | true")
    assert "Traceback" not in piped.err
    assert "BrokenPipe" not in piped.err


def test_nobody_can_be_asked_without_a_terminal(gangline: Line, tmp_path: Path) -> None:
    assert gangline.program("delete", "--all").code in (0, 2)
    done = Line(tmp_path, "").program("login", gangline.url)
    assert (done.code, "--user" in done.err) == (2, True)
