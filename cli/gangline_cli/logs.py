"""``logs``: the merged log of a workload, or of one pod."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from . import items
from .session import Session, Usage, connected, note

MOST = 2000


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="NAME")
@click.option("-f", "--follow", is_flag=True, help="Wait for more, until it has ended.")
@click.option("--pod", metavar="POD", help="Only one pod, such as worker-0, or one role.")
@click.option("--attempt", type=click.IntRange(min=1), help="An earlier attempt.")
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
    row = session.workload(name)
    since = _since(given["since"], given["since_time"])
    pod = (given["pod"] or "").removeprefix(f"{row['name']}-")
    printed = Printer(stamped=given["timestamps"], named=not pod or "-" not in pod)
    for line in _lines(session, row["id"], pod, given):
        if since is None or _time(line) >= since:
            printed.line(line)
    if printed.count == 0 and not given["follow"]:
        note("The log is empty.")


def _lines(
    session: Session, workload_id: str, pod: str, given: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    client, attempt = session.client, given["attempt"]
    if given["tail"] is not None:
        page: Any = client.log(workload_id, pod=pod, attempt=attempt, limit=max(given["tail"], 1))
        yield from page["lines"][-given["tail"] :] if given["tail"] else ()
        if given["follow"] and not page["ended"]:
            yield from client.lines(workload_id, pod=pod, attempt=attempt, after=page["after"])
        return
    if given["follow"]:
        yield from client.lines(workload_id, pod=pod, attempt=attempt, pause=0.5)
        return
    page = client.log(workload_id, pod=pod, attempt=attempt, start=True, limit=MOST)
    yield from page["lines"]
    while page["hasNewer"]:
        page = client.log(workload_id, pod=pod, attempt=attempt, after=page["after"], limit=MOST)
        yield from page["lines"]


class Printer:
    """Prints lines; each with its pod where there may be several."""

    def __init__(self, *, stamped: bool, named: bool) -> None:
        self._stamped, self._named = stamped, named
        self.count = 0

    def line(self, line: Mapping[str, Any]) -> None:
        stamp = f"{line['time']} " if self._stamped else ""
        pod = f"{line['pod']}  " if self._named else ""
        click.echo(f"{stamp}{pod}{line['text']}")
        self.count += 1


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
        raise Usage(f"--since-time: {text!r} is no time such as 2026-03-02T09:15:04Z.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _time(line: Mapping[str, Any]) -> datetime:
    try:
        found = datetime.fromisoformat(line["time"])
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
