"""``logs`` and ``attach``: the merged log of a workload, or of one pod."""

import os
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from gangline_sdk.errors import GanglineError, NotFound

from . import completions, items
from .session import Session, Usage, connected, note

MOST = 2000
COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_red")


ONE_POD = click.option(
    "--pod", metavar="POD", help="Such as worker-1; the leader by default.",
    shell_complete=completions.pods,
)  # fmt: skip
"""Which pod, for a command that works with one."""


@click.command()
@click.argument(
    "words", nargs=-1, required=True, metavar="NAME", shell_complete=completions.workloads
)
@click.option("-f", "--follow", is_flag=True, help="Wait for more, until it has ended.")
@click.option(
    "--pod", metavar="POD", help="Only one pod, such as worker-0, or one role.",
    shell_complete=completions.pods,
)  # fmt: skip
@click.option("--attempt", type=click.IntRange(min=1), help="An earlier attempt.")
@click.option("--previous", is_flag=True, help="The attempt before the newest one.")
@click.option("-t", "--tail", type=click.IntRange(min=0, max=MOST), help="The last lines only.")
@click.option("--since", metavar="DURATION", help="Lines of the last 10m, say.")
@click.option(
    "--since-time", metavar="TIME", help="Lines from a time on, such as 2026-03-02T09:15:04Z."
)
@click.option("--timestamps", is_flag=True, help="The time in front of each line.")
@connected
def logs(session: Session, /, words: tuple[str, ...], **given: Any) -> None:
    """Print the log of a workload: lines of all pods, in the order of their times."""
    name = words[-1]
    if len(words) > 2 or (len(words) == 2 and words[0] not in ("job", "workload")):
        raise Usage("Name one workload.")
    since = _since(given["since"], given["since_time"])
    if given["previous"] and given["attempt"]:
        raise Usage("--previous: there is --attempt already; give one of them.")
    row = session.workload(name)
    if given["previous"]:
        given["attempt"] = _before(session, row)
    pod = short(row, given["pod"])
    printed = Printer(stamped=given["timestamps"], named=not pod or "-" not in pod)
    for line in _lines(session, row["id"], pod, since, given):
        if since is None or _time(line) >= since:
            printed.line(line)
    if printed.count == 0 and not given["follow"]:
        note("The log is empty.")


def short(row: Mapping[str, Any], pod: str | None) -> str:
    """``worker-0`` of the whole name of a pod."""
    return (pod or "").removeprefix(f"{row['name']}-")


def _before(session: Session, row: Mapping[str, Any]) -> int:
    newest = int(session.client.workload(str(row["id"]))["attempt"])
    if newest < 2:
        raise NotFound(f"--previous: {row['name']} has had only one attempt.")
    return newest - 1


def _lines(
    session: Session,
    workload_id: str,
    pod: str,
    since: datetime | None,
    given: Mapping[str, Any],
) -> Iterator[Mapping[str, Any]]:
    client, attempt = session.client, given["attempt"]
    if given["tail"] is not None or since is not None:
        most = given["tail"] if given["tail"] is not None else None
        page: Any = client.log(workload_id, pod=pod, attempt=attempt, limit=_size(most))
        end = page
        pages = [page["lines"]]
        while most is None and page["hasOlder"] and page["lines"]:
            # From the end backwards: of a long log no more is read than is wanted.
            if since is not None and _time(page["lines"][0]) < since:
                break
            page = client.log(
                workload_id, pod=pod, attempt=attempt, before=page["before"], limit=MOST
            )
            pages.append(page["lines"])
        lines = [line for lines in reversed(pages) for line in lines]
        yield from lines[-most:] if most else () if most == 0 else lines
        if given["follow"] and not end["ended"]:
            yield from client.lines(workload_id, pod=pod, attempt=attempt, after=end["after"])
        return
    if given["follow"]:
        yield from client.lines(workload_id, pod=pod, attempt=attempt, pause=0.5)
        return
    page = client.log(workload_id, pod=pod, attempt=attempt, start=True, limit=MOST)
    yield from page["lines"]
    while page["hasNewer"]:
        page = client.log(workload_id, pod=pod, attempt=attempt, after=page["after"], limit=MOST)
        yield from page["lines"]


def _size(most: int | None) -> int:
    return MOST if most is None else max(most, 1)


class Printer:
    """Prints lines; each with its pod where there may be several, on a terminal in its colour."""

    def __init__(self, *, stamped: bool, named: bool) -> None:
        self._stamped, self._named = stamped, named
        self._is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self._colours: dict[str, str] = {}
        self.count = 0

    def line(self, line: Mapping[str, Any]) -> None:
        stamp = f"{line['time']} " if self._stamped else ""
        pod = f"{self._pod(str(line['pod']))}  " if self._named else ""
        click.echo(f"{stamp}{pod}{line['text']}")
        self.count += 1

    def _pod(self, pod: str) -> str:
        if not self._is_coloured:
            return pod
        colour = self._colours.setdefault(pod, COLOURS[len(self._colours) % len(COLOURS)])
        return click.style(pod, fg=colour)


@click.command()
@click.argument("name", shell_complete=completions.workloads)
@ONE_POD
@click.option("--no-stdin", is_flag=True, hidden=True)
@click.option("--no-tty", is_flag=True, hidden=True)
@connected
def attach(session: Session, /, name: str, pod: str | None, **_: Any) -> int:
    """Watch the new output of a pod, and end with its exit code.

    Nothing is typed to it: gangline bash NAME opens a shell beside it. Ctrl-C ends the watching,
    not the workload.
    """
    return attached(session, session.workload(name), pod)


def attached(
    session: Session, row: Mapping[str, Any], pod: str | None, *, from_start: bool = False
) -> int:
    """Print what a pod says until it has ended; its exit code."""
    workload_id = str(row["id"])
    place = short(row, pod) or leader(session, row)
    after = None
    if not from_start:
        after = session.client.log(workload_id, pod=place, limit=1)["after"]
    for line in session.client.lines(workload_id, pod=place, after=after, pause=0.3):
        click.echo(line["text"])
    role, _, index = place.rpartition("-")
    for one in session.client.pods(workload_id):
        if (one["role"], str(one["index"])) == (role, index) and one["exitCode"] is not None:
            return int(one["exitCode"])
    ended: Any = session.client.workload(workload_id)
    if ended["status"] == "Completed":
        return 0
    reason = f": {ended['phaseMessage']}" if ended["phaseMessage"] else "."
    raise GanglineError(f"{ended['name']} is {ended['status']}{reason}")


def leader(session: Session, row: Mapping[str, Any]) -> str:
    """The master or launcher, else the first worker. Raises NotFound without pods."""
    pods = list(session.client.pods(str(row["id"])))
    if not pods:
        raise NotFound(f"{row['name']} has no pods: it is {row['status']}.")
    found = next((one for one in pods if one["role"] == "master"), pods[0])
    return f"{found['role']}-{found['index']}"


def _since(duration: str | None, moment: str | None) -> datetime | None:
    if duration and moment:
        raise Usage("--since-time: there is --since already; give one of them.")
    if duration:
        try:
            return datetime.now(UTC) - timedelta(seconds=items.seconds(duration))
        except (ValueError, OverflowError) as error:
            raise Usage(f"--since: {error}.") from None
    return _moment(moment) if moment else None


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Usage(f"--since-time: {text!r} is not a time such as 2026-03-02T09:15:04Z.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _time(line: Mapping[str, Any]) -> datetime:
    try:
        found = datetime.fromisoformat(line["time"])
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
