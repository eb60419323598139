"""What every command works with: the client, the project it means, and how results are printed."""

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

import click

from gangline_sdk import __version__
from gangline_sdk.errors import Conflict, GanglineError, NotFound, Unreachable
from gangline_sdk.stored import Stored

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

    from gangline_sdk import Client

P = ParamSpec("P")
T = TypeVar("T")
Json = dict[str, Any]
AGENT = f"gangline-cli/{__version__}"


class Usage(click.UsageError):
    """A flag is missing, or two do not go together; exit code 2."""

    def show(self, file: Any = None) -> None:
        click.echo(f"gangline: {self.message}", file=file, err=True)


class Session:
    """Made once per command; nothing is asked before it is needed."""

    def __init__(
        self, url: str, project: str, cluster: str, ca_file: str, *, seconds: float = 60.0
    ) -> None:
        self._url, self._project, self._cluster = url, project, cluster
        self._ca_file, self._seconds = ca_file, seconds
        self._client: Client | None = None
        self.stored = Stored.load()

    @property
    def client(self) -> "Client":
        if self._client is None:
            _without_the_command_of_httpx()
            from gangline_sdk import Client

            self._client = Client(
                self._url, ca_file=self._ca_file, agent=AGENT, timeout=self._seconds
            )
        return self._client

    @property
    def project(self) -> str:
        """Name of the project: the flag, the environment or what ``config project`` set."""
        return self._project or self.stored.default("project", self.client.url)

    @property
    def cluster(self) -> str:
        return self._cluster or self.stored.default("cluster", self.client.url)

    def project_row(self) -> Json:
        """The project to submit to. Without a name: the only one there is."""
        name = self.project
        filters = [f"name=={name}"] if name else []
        if self.cluster:
            filters.append(f"clusterId=={self.cluster_row()['uuid']}")
        found = list(self.client.rows("project", filters=filters, limit=20))
        if len(found) == 1:
            return found[0]
        if name and not found:
            raise NotFound(f"There is no project {name!r} that you may see.")
        if not found:
            raise NotFound("There is no project that you may see.")
        what = "cluster" if name else "project"
        names = ", ".join(str(one["name"]) for one in found)
        raise Usage(
            f"--{what}: several projects fit ({names}). Name one: gangline config {what} NAME."
        )

    def cluster_row(self) -> Json:
        wanted = self.cluster
        found = [
            one
            for one in self.client.rows("cluster")
            if wanted in (one["name"], one["uuid"]) or not wanted
        ]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFound(f"There is no cluster {wanted!r} that you may see.")
        raise Usage(f"--cluster: name one of {', '.join(one['name'] for one in found)}.")

    def workload(self, name: str) -> Json:
        """The workload of a name or an id. Raises NotFound, Conflict for a name in two projects."""
        if _is_id(name):
            row: Any = self.client.workload(name)
            return dict(row)
        found = list(self.client.workloads(name=_plain(name), project=self.project, limit=3))
        if len(found) == 1:
            return found[0]
        if not found:
            place = f" in project {self.project}" if self.project else ""
            raise NotFound(f"There is no workload {name!r}{place}.")
        places = ", ".join(str(one["projectName"]) for one in found)
        raise Conflict(f"{name} is in several projects ({places}): say which with --project.")

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def _plain(name: str) -> str:
    if "," in name:
        raise NotFound(f"There is no workload {name!r}.")
    return name


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def _without_the_command_of_httpx() -> None:
    """httpx loads a command line of its own, and with it rich and pygments, wherever they are."""
    if "httpx" not in sys.modules:
        placeholder = types.ModuleType("httpx._main")
        placeholder.main = _without_the_command_of_httpx  # type: ignore[attr-defined]
        sys.modules.setdefault("httpx._main", placeholder)


def _later(key: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completes names of a resource; what asks for them is loaded when a shell wants them."""

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
        from . import completions

        return completions.of(key)(ctx, param, begun)

    return complete


def connected(
    command: Callable[Concatenate[Session, P], T],
) -> Callable[P, T]:
    """Give a command its session, and the flags that say where and as what."""

    @click.option(
        "-p",
        "--project",
        metavar="NAME",
        help="Project to work in.",
        shell_complete=_later("project"),
    )
    @click.option(
        "--cluster",
        metavar="NAME",
        help="Cluster, where projects share a name.",
        shell_complete=_later("cluster"),
    )
    @click.option(
        "--url", metavar="ADDRESS", help="Server, if it is not the one of the last login."
    )
    @click.option("--ca-file", metavar="FILE", help="Certificates to trust.")
    @functools.wraps(command)
    def inner(*args: P.args, **kwargs: P.kwargs) -> T:
        given: dict[str, Any] = {
            key: kwargs.pop(key, None) or "" for key in ("url", "project", "cluster", "ca_file")
        }
        session = Session(**given)
        try:
            return command(session, *args, **kwargs)
        finally:
            session.close()

    return inner


FORMATS = click.Choice(["table", "wide", "json", "yaml"])
output = click.option(
    "-o", "--output", "form", type=FORMATS, default="table", help="How to print it."
)


def note(text: str) -> None:
    """A line beside the result: it goes where errors go, so that results can be piped."""
    click.echo(text, err=True)


__all__ = ["GanglineError", "Session", "Usage", "connected", "note", "output"]


@contextlib.contextmanager
def line_to(session: Session, ticket: Any) -> "Iterator[ClientConnection]":
    """The socket to a pod that ``ticket`` is good for. Raises Unreachable, also of its loss."""
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect

    secure = session.client.tls() if ticket["url"].startswith("wss:") else None
    try:
        with connect(ticket["url"], ssl=secure, max_size=None, user_agent_header=AGENT) as line:
            yield line
    except (OSError, WebSocketException) as error:
        raise Unreachable(f"The connection to the pod was lost: {error}.") from None
