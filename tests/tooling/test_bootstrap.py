"""`scripts/bootstrap.py` installs from nothing, and does nothing when nothing is to do."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts import package_index

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.base_prefix) / "bin" / "python3"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh checkout with what the installation reads."""
    folder = tmp_path / "checkout"
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("requirements", "scripts", "platform", "workloads", "assets"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in ("templates", "static", "examples"):
        (folder / name).mkdir()
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


# What `make` does, on a Python without ensurepip: Debian's, unless python3-venv is installed.
MASKED = (
    "import runpy, sys; sys.modules['ensurepip'] = None; sys.argv[:] = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


def bootstrap(checkout: Path, *parts: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script with ensurepip masked."""
    return subprocess.run(
        [str(PYTHON), "-I", "-S", "-c", MASKED, "scripts/bootstrap.py", *parts],
        cwd=checkout,
        env={**os.environ, "PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_fresh_checkout_installs_without_ensurepip(checkout: Path, tmp_path: Path) -> None:
    """Slow, because it installs the server for real."""
    # uv comes from the index, as on a machine that has never seen Gangline.
    done = bootstrap(checkout, "server")
    assert done.returncode == 0, done.stderr
    assert "Fetching uv" in done.stdout
    python = checkout / ".venv" / "bin" / "python"
    code = "import django, gangline, platform; print(gangline.__file__, platform.__file__)"
    shown = subprocess.run(
        [str(python), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    ours, standard = shown.stdout.split()
    assert ours == str(checkout / "platform" / "gangline" / "__init__.py")
    assert not standard.startswith(str(checkout))
    assert (checkout / ".venv" / "bin" / "gangline-manage").exists()

    began = time.monotonic()
    again = bootstrap(checkout, "server")
    assert (again.returncode, again.stdout) == (0, "")
    assert time.monotonic() - began < 1

    # A changed lock file is noticed; an unchanged set of packages is then quickly confirmed.
    with (checkout / "requirements" / "server.txt").open("a") as lock:
        lock.write("# changed\n")
    changed = bootstrap(checkout, "server")
    assert "Installing" in changed.stdout
    assert bootstrap(checkout, "server").stdout == ""


def test_without_an_index_and_without_pip_one_sentence_names_the_package(
    checkout: Path,
) -> None:
    done = bootstrap(checkout, "server", UV_DEFAULT_INDEX="http://127.0.0.1:9/simple")
    assert done.returncode == 1
    assert "python3-venv" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stdout + done.stderr


def test_an_unknown_part_is_refused_in_a_sentence(checkout: Path) -> None:
    done = bootstrap(checkout, "servr")
    assert done.returncode == 1
    assert done.stderr == "There is no part named servr; choose from server, dev, examples.\n"


class _Index(BaseHTTPRequestHandler):
    """A simple index of one project with one file for every kind of machine."""

    content = b"not really a wheel"
    names = (
        "uv-1.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "uv-1.0-py3-none-musllinux_1_1_x86_64.whl",
        "uv-1.0-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
        "uv-1.0-py3-none-macosx_11_0_arm64.whl",
    )

    def do_GET(self) -> None:
        if self.path == "/simple/uv/":
            links = "".join(f'<a href="../../files/{name}#sha256=0">x</a>' for name in self.names)
            self._answer(links.encode(), "text/html")
        else:
            self._answer(self.content, "application/zip")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a package index on this machine, configured as pip's."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}/simple"
    monkeypatch.setenv("PIP_INDEX_URL", address)
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.delenv("UV_INDEX_URL", raising=False)
    yield address
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_wheel_comes_from_the_index_that_pip_is_configured_for(index: str) -> None:
    good = hashlib.sha256(_Index.content).hexdigest()
    assert package_index.fetch_wheel("uv", "1.0", {good}) == _Index.content
    assert package_index.settings_for_uv()["UV_DEFAULT_INDEX"] == index


def test_a_file_with_another_hash_is_not_used(index: str) -> None:
    with pytest.raises(package_index.NotFetched, match="is not the file that the lock file names"):
        package_index.fetch_wheel("uv", "1.0", {"0" * 64})


def test_a_version_that_the_index_lacks_is_said(index: str) -> None:
    with pytest.raises(package_index.NotFetched, match="no build for this machine"):
        package_index.fetch_wheel("uv", "2.0", {"0" * 64})


def test_the_environment_of_another_checkout_is_not_taken_over(
    checkout: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (checkout / ".venv").symlink_to(theirs)
    done = bootstrap(checkout, "server")
    assert done.returncode != 0
    assert f"is a link to {theirs}" in done.stdout + done.stderr
    assert list(theirs.iterdir()) == []


# As if an old Python ran the script.
OLD = (
    "import runpy, sys; sys.version_info = (3, 6, 15); sys.argv[:] = ['scripts/bootstrap.py'];"
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


def test_a_newer_python_that_is_only_named_is_passed_over(tmp_path: Path) -> None:
    """pyenv puts a stand-in into the PATH for each version that it knows."""
    for minor in (13, 12):
        stand_in = tmp_path / f"python3.{minor}"
        stand_in.write_text("#!/bin/sh\necho not installed >&2\nexit 127\n")
        stand_in.chmod(0o755)
    (tmp_path / "python3.12").write_text('#!/bin/sh\n[ "$1" = -c ] || echo "started $*"\n')
    done = subprocess.run(
        [str(PYTHON), "-c", OLD],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "started -I -S scripts/bootstrap.py\n"
