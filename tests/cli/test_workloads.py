"""What a person does with workloads at a terminal."""

import json
import re
import stat
import sys
from io import StringIO
from pathlib import Path
from typing import cast

import httpx
import pytest
import yaml

from gangline_cli import devices, progress
from tests.cli.conftest import PROJECT, SMALL, Line
from tests.cli.terminals import Terminal
from tests.support.installation import Embedded
from tests.support.waiting import wait_for


def test_signing_in_is_stored_for_its_owner_alone(site: Embedded, tmp_path: Path) -> None:
    line = Line(tmp_path / "new", site.url)
    assert line("whoami").code == 4
    done = line.program("login", "token", site.url, "--password-stdin", given=site.token)
    assert done.code == 0
    kept = line.folder / "credentials.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert site.token in kept.read_text()
    assert json.loads(line.ok("whoami", "-o", "json"))["username"] == "researcher"
    assert site.token not in line("config", "show").out
    line.ok("logout")
    assert site.token not in kept.read_text()
    assert line("list").code == 4


def test_an_access_key_gets_tokens_by_itself(site: Embedded, tmp_path: Path) -> None:
    made = site.request("POST", "access-keys", {"name": "laptop"}).body
    line = Line(tmp_path, site.url)
    secret = made["clientSecret"]
    done = line.program(
        "login", "application", site.url, "--client-id", made["clientId"], "--password-stdin",
        given=secret,
    )  # fmt: skip
    assert done.code == 0, done
    kept = json.loads((tmp_path / "credentials.json").read_text())
    kept[site.url] |= {"token": "gone", "ends": 1.0}
    (tmp_path / "credentials.json").write_text(json.dumps(kept))
    assert json.loads(line.ok("whoami", "-o", "json"))["username"] == "researcher"
    assert json.loads((tmp_path / "credentials.json").read_text())[site.url]["token"] != "gone"
    wrong = line.program(
        "login", "application", site.url, "--client-id", made["clientId"], "--password-stdin",
        given="no",
    )  # fmt: skip
    assert (wrong.code, "Traceback" in wrong.err) == (4, False)


def test_from_submission_to_deletion(site: Embedded, gangline: Line) -> None:
    out = gangline.ok(
        "submit-dist", "pytorch", "walk", "--workers=1", *SMALL, "-e", "WORD=grüße", "--wait",
        "--command", "--", "sh", "-c", "echo $WORD; sleep 600",
    )  # fmt: skip
    assert "walk" in out
    row = json.loads(gangline.ok("list", "--json"))[0]
    assert (row["name"], row["status"], row["source"]) == ("walk", "Running", "CLI")
    assert "walk" in gangline.ok("list", "jobs")
    assert yaml.safe_load(gangline.ok("describe", "job", "walk", "-o", "yaml"))["pods"][0]["name"]
    assert gangline.ok("logs", "walk", "--pod", "walk-worker-0") == "grüße\n"
    assert "grüße" in gangline.ok("logs", "walk", "--tail", "5", "--timestamps", "--since", "1h")
    assert "running" in gangline.ok("resume", "walk")
    gangline.ok("suspend", "walk")
    site.until(row["id"], "Stopped")
    assert "stopped" in gangline.ok("suspend", "walk")
    assert gangline("logs", "walk", "--follow").code == 0
    gangline.ok("resume", "walk")
    site.until(row["id"], "Running")
    gangline.ok("delete", "job", "walk")
    assert gangline("describe", "walk", "-p", PROJECT).code in (0, 5)


def test_a_file_is_submitted_where_the_flag_says(gangline: Line, tmp_path: Path) -> None:
    for name, text in (
        ("block", "name: block\nspec:\n  image: local://system\n  command: sleep 60\n"),
        ("flow", '{"name": "flow", "spec": {"image": "local://system", "command": "sleep 60"}}'),
        ("marked", "---\nname: marked\nspec: {image: local://system, command: sleep 60}\n"),
    ):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        told = yaml.safe_load(gangline.ok("submit", "-f", str(path), "--dry-run", "-o", "yaml"))
        assert (told["name"], told["spec"]["command"]) == (name, "sleep 60")
        plan = gangline.ok("submit", "-f", str(path), "--dry-run")
        assert yaml.safe_load(plan) is not None
        assert "sleep" in plan
    (tmp_path / "odd.yaml").write_text("name: odd\nspec: {imag: a, numWorkers: 0}\n")
    odd = gangline("submit", "-f", str(tmp_path / "odd.yaml"))
    assert odd.code == 3
    assert "worker.imag:" in odd.err
    assert gangline("submit", "-f", str(tmp_path / "none.yaml")).code == 2


def test_names_are_made(gangline: Line) -> None:
    words = ("--workers=1", *SMALL, "--command", "--", "sleep", "60")
    for expected in ("dist", "dist-1"):
        assert expected in gangline.ok("submit-dist", "mpi", *words).split()
    made = gangline.ok("pytorch", "submit", "-o", "json", *words)
    assert json.loads(made)["requestedName"] == "pytorch"
    made = gangline.ok("distributed", "submit", "--name-prefix", "digits", "-o", "json", *words)
    assert json.loads(made)["name"].startswith("digits-")
    taken = gangline("training", "pytorch", "submit", "dist", *words)
    assert taken.code == 6


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (("submit-dist", "pytorch", "a", "--wrokers=2"), 2, "--workers"),
        (("submit-dist", "pytorch", "a", "--tty=maybe"), 2, "--tty"),
        (("submit-dist", "pytorch", "a", "--workers=two", *SMALL), 3, "--workers"),
        (("submit-dist", "pytorch", "a", "-g", "-1", *SMALL), 3, "--gpu"),
        (("submit-dist", "pytorch", "a", "-e", "1A=b", *SMALL), 3, "--env"),
        (("submit-dist", "pytorch", "A a", *SMALL, "--command", "--", "x"), 3, "NAME"),
        (("submit-dist", "pytorch", "a", "--master-cpu=x", *SMALL), 3, "--master-cpu-core"),
        (("submit-dist", "pytorch", "a", "--command", *SMALL), 2, "--command"),
        (("distributed", "submit", "a", "--framework", "Caffe"), 2, "--framework"),
        (("submit-dist", "pytorch", "a", "-p", "no-such", *SMALL), 5, "no-such"),
        (("describe", "nobody"), 5, "nobody"),
        (("list", "--filter", "colour==red"), 3, "filterBy"),
        (("list", "unicorns"), 2, "unicorns"),
        (("lsit",), 2, "list"),
        (("delete",), 2, "--all"),
        (("logs", "a", "--since", "soon"), 2, "--since"),
        (("logs", "a"), 5, "'a'"),
    ],
)
def test_an_error_names_the_flag(
    gangline: Line, words: tuple[str, ...], code: int, named: str
) -> None:
    done = gangline(*words)
    assert (done.code, named in done.err) == (code, True), done
    assert "Traceback" not in done.err


def test_a_command_in_a_pod(gangline: Line) -> None:
    words = ("--command", "--", "sh", "-c", "sleep 600")
    gangline.ok("submit-dist", "pytorch", "entered", "--workers=1", *SMALL, "--wait", *words)
    done = gangline.program("exec", "entered", "--", "sh", "-c", "echo $RANK; echo no >&2; exit 3")
    assert (done.code, done.out, done.err) == (3, "0\n", "no\n")
    worker = gangline.program(
        "exec", "entered", "--pod", "worker-0", "--", "sh", "-c", "echo $RANK"
    )
    assert (worker.code, worker.out) == (0, "1\n")
    piped = gangline.program("exec", "entered", "-i", "--", "tr", "a-z", "A-Z", given="grüße\n")
    assert (piped.code, piped.out) == (0, "GRüßE\n")
    shell = gangline.program("bash", "entered", given="echo in $((40 + 2))\nexit 4\n")
    assert (shell.code, shell.out) == (4, "in 42\n")
    assert gangline("exec", "entered").code == 2
    assert gangline("exec", "entered", "--pod", "worker-7", "--", "true").code == 5
    typed_at_a_terminal(gangline, "entered")


def typed_at_a_terminal(gangline: Line, name: str) -> None:
    """A terminal that is resized, and ends with the shell's own code."""
    with Terminal(
        ["gangline", "bash", name], gangline.shell_environment, rows=31, columns=99
    ) as at:
        at.until_told("PS1=ready-; stty size\n", "31 99")
        at.resize(rows=47, columns=131)
        at.until_told("stty size\n", "47 131")
        # One process says it and sleeps: bash loses a key between its own fork and exec.
        at.type("sh -c 'echo $((40 + 2))-begun; exec sleep 600'\n")
        at.until("42-begun")
        at.type("\x03echo $((50 + 5))-after\n")
        at.until("55-after")
        at.type("exit 7\n")
        assert at.code() == 7


def is_over(gangline: Line, name: str, attempt: int) -> bool:
    row = json.loads(gangline.ok("describe", name, "-o", "json"))["workload"]
    return (row["attempt"], row["status"]) == (attempt, "Failed")


def test_attaching_and_what_an_earlier_attempt_said(site: Embedded, gangline: Line) -> None:
    words = ("--command", "--", "sh", "-c", "echo attempt; exit 5")
    done = gangline("submit-dist", "pytorch", "brief", "--workers=1", *SMALL, "--attach", *words)
    assert (done.code, "attempt" in done.out) == (5, True), done
    assert gangline("logs", "brief", "--previous").code == 5
    row = json.loads(gangline.ok("list", "--json"))[0]
    site.until(row["id"], "Failed")
    assert gangline("attach", "brief").code == 5
    gangline.ok("rerun", "brief")
    wait_for(lambda: is_over(gangline, "brief", attempt=2), seconds=30, what="the second attempt")
    # The others may be ended with the master before they have said anything.
    said = gangline.ok("logs", "brief", "--previous", "--pod", "master-0")
    assert said == "attempt\n"
    assert "brief" in gangline.completed("logs", "br")
    assert gangline.completed("logs", "brief", "--pod", "w") == ["worker-0"]
    assert PROJECT in gangline.completed("config", "project", "")
    assert "projects" in gangline.completed("list", "proj")
    assert "--workers" in gangline.completed("submit-dist", "mpi", "--work")


def test_a_code_that_is_allowed_on_a_page_signs_in(
    site: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def allow(seconds: float) -> None:
        """In place of waiting: the third time somebody has looked at the page."""
        waits.append(seconds)
        if len(waits) == 3:
            found = re.search(r"\S+/device\?code=\S+", cast(StringIO, sys.stderr).getvalue())
            assert found is not None
            _allow(site, found[0])

    monkeypatch.setattr(f"{devices.__name__}.time.sleep", allow)
    line = Line(tmp_path, site.url)
    done = line("login", "device", site.url)
    assert done.code == 0, done
    assert waits == [5, 5, 10]
    assert json.loads(line.ok("whoami", "-o", "json"))["username"] == "researcher"
    kept = json.loads((tmp_path / "credentials.json").read_text())[site.url]
    assert kept["refresh"]
    assert kept["token"] not in done.out + done.err


def _allow(site: Embedded, address: str) -> None:
    link = re.search(r"https?://\S+", site.manage("sign-in-link", "researcher"))
    assert link is not None
    with httpx.Client(follow_redirects=True, headers={"Origin": site.url}) as browser:
        page = browser.get(link[0]).text
        browser.post(link[0], data={"csrfmiddlewaretoken": _csrf(page)})
        page = browser.get(address).text
        sent = {"code": address.rpartition("=")[2], "csrfmiddlewaretoken": _csrf(page)}
        assert browser.post(f"{site.url}/device", data=sent | {"_go": "allow"}).is_success


def _csrf(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_what_became_of_a_workload_stays_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    row = {"status": "Cannot start", "requestedPods": {"number": 3}, "phaseMessage": "Needs 2."}
    with progress.progress() as tell:
        tell(row)
    assert capsys.readouterr().err.endswith(f"{progress.sentence(row)}\n")
