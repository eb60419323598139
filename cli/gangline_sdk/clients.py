"""`Client` and `AsyncClient`: the same operations, one waiting and one to be awaited."""

import os
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from . import __version__, calls
from .calls import Call, Json, Listing
from .credentials import Credentials
from .errors import GanglineError, NotSignedIn, ServerFailed, Unreachable, of_answer
from .stored import Stored

P = ParamSpec("P")
T = TypeVar("T")
AGENT = f"gangline-sdk/{__version__}"
TIMEOUT = 60.0
PAUSE = 1.0
"""Seconds between two looks for new lines of a log."""
ENDED = frozenset({"Completed", "Failed", "Stopped"})


class _Base:
    """Where the server is, and how a request and an answer look."""

    def __init__(
        self,
        url: str = "",
        *,
        token: str = "",
        client_id: str = "",
        client_secret: str = "",
        username: str = "",
        password: str = "",
        ca_file: str = "",
        timeout: float = TIMEOUT,
        agent: str = AGENT,
        credentials: Credentials | None = None,
    ) -> None:
        stored = Stored.load()
        self.url = address(url or os.environ.get("GANGLINE_URL", "") or stored.url)
        given = Credentials(
            token=token,
            client_id=client_id,
            client_secret=client_secret,
            username=username,
            password=password,
        )
        if credentials is not None:
            self.credentials = credentials
        elif token or client_id or username:
            self.credentials = given
        else:
            self.credentials = stored.credentials(self.url)
        self.credentials.url = self.url
        self._ca_file = ca_file or os.environ.get("GANGLINE_CA_FILE", "")
        self._timeout, self._agent = timeout, agent

    def _options(self) -> dict[str, Any]:
        return {
            "base_url": f"{self.url}/api/",
            "auth": self.credentials,
            "timeout": self._timeout,
            "headers": {"User-Agent": self._agent, "Accept": "application/json"},
            "verify": self._verify(),
            "follow_redirects": False,
        }

    def _verify(self) -> ssl.SSLContext | bool:
        if self.url.startswith("http://"):
            return False  # nothing to verify, and reading certificates takes time
        if not self._ca_file:
            return True
        try:
            return ssl.create_default_context(cafile=self._ca_file)
        except OSError as error:
            raise Unreachable(f"{self._ca_file} cannot be read as certificates: {error}.") from None

    def tls(self) -> ssl.SSLContext | None:
        """What a WebSocket of the server has to trust; None: what this machine trusts."""
        found = self._verify()
        return found if isinstance(found, ssl.SSLContext) else None

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        sent: dict[str, Any] = {"params": dict(call.query), "headers": dict(call.headers)}
        if call.text is not None:
            sent["content"] = call.text.encode("utf-8", "surrogatepass")
            sent["headers"]["Content-Type"] = "application/yaml"
        elif call.body is not None:
            sent["json"] = call.body
        return sent

    def _answer(self, call: Call[T], answer: httpx.Response) -> T:
        if answer.is_redirect:
            to = answer.headers.get("Location", "")
            raise Unreachable(f"{self.url} redirects to {to}: is that the address?")
        try:
            body = answer.json() if answer.content else None
        except ValueError:
            body = None
            if answer.is_success:
                said = f"{self.url} did not answer with JSON: is it Gangline?"
                raise ServerFailed(said, status=answer.status_code) from None
        if answer.is_error:
            raise of_answer(answer.status_code, body)
        return call.read(body)

    def _unreachable(self, error: httpx.HTTPError | httpx.InvalidURL) -> Unreachable:
        if isinstance(error, httpx.TimeoutException):
            return Unreachable(f"{self.url} did not answer within {self._timeout:g} seconds.")
        text = str(error) or type(error).__name__
        if "CERTIFICATE" in text or "certificate" in text:
            advice = "Name a file with the certificates to trust: GANGLINE_CA_FILE."
            return Unreachable(f"The certificate of {self.url} is not trusted: {text}. {advice}")
        return Unreachable(f"{self.url} cannot be reached: {text}.")


def address(text: str) -> str:
    """The address of a server in one form. Raises NotSignedIn for none, Unreachable for a bad."""
    text = text.strip().rstrip("/")
    if not text:
        raise NotSignedIn("No server is set: use gangline login ADDRESS, or GANGLINE_URL.")
    if "://" not in text:
        text = f"https://{text}"
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise Unreachable(f"{text} is not an address: {error}.") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise Unreachable(
            f"{text} is not an address; use one such as https://gangline.example.com."
        )
    return text.removesuffix("/api/v1").removesuffix("/api")


def _blocking(
    make: Callable[P, Call[T]],
) -> Callable[Concatenate["Client", P], T]:
    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(make(*args, **kwargs))

    method.__doc__, method.__name__ = make.__doc__, make.__name__
    return method


def _every(
    make: Callable[P, Listing],
) -> Callable[Concatenate["Client", P], Iterator[Json]]:
    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Json]:
        return self.every(make(*args, **kwargs), _most(kwargs))

    method.__doc__, method.__name__ = make.__doc__, make.__name__
    return method


def _awaiting(
    make: Callable[P, Call[T]],
) -> Callable[Concatenate["AsyncClient", P], Awaitable[T]]:
    def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return self.send(make(*args, **kwargs))

    method.__doc__, method.__name__ = make.__doc__, make.__name__
    return method


def _async_every(
    make: Callable[P, Listing],
) -> Callable[Concatenate["AsyncClient", P], AsyncIterator[Json]]:
    def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Json]:
        return self.every(make(*args, **kwargs), _most(kwargs))

    method.__doc__, method.__name__ = make.__doc__, make.__name__
    return method


def _most(kwargs: Mapping[str, Any]) -> int | None:
    found = kwargs.get("limit")
    return found if isinstance(found, int) else None


class Client(_Base):
    """Signed in by what is given, by ``GANGLINE_URL`` and ``GANGLINE_TOKEN`` (or
    ``GANGLINE_CLIENT_ID`` and ``GANGLINE_CLIENT_SECRET``), or as ``gangline login`` stored.
    """

    _http: httpx.Client | None = None

    me = _blocking(calls.me)
    get = _blocking(calls.get)
    workloads = _every(calls.workloads)
    workload = _blocking(calls.workload)
    submitted = _blocking(calls.submitted)
    submit = _blocking(calls.submit)
    preview = _blocking(calls.preview)
    suspend = _blocking(calls.suspend)
    resume = _blocking(calls.resume)
    rerun = _blocking(calls.rerun)
    delete = _blocking(calls.delete)
    pods = _every(calls.pods)
    events = _every(calls.events)
    log = _blocking(calls.log)
    policy = _blocking(calls.policy)
    rows = _every(calls.rows)
    row = _blocking(calls.row)
    create_row = _blocking(calls.create_row)
    update_row = _blocking(calls.update_row)
    delete_row = _blocking(calls.delete_row)

    def send(self, call: Call[T]) -> T:
        """Send one call; what may be repeated is sent again once when the line breaks."""
        for is_last in (not call.is_repeatable, True):
            try:
                answer = self._client().request(call.method, call.path, **self._request(call))
                return self._answer(call, answer)
            except (httpx.RemoteProtocolError, httpx.ReadError) as error:
                if is_last:
                    raise self._unreachable(error) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._unreachable(error) from error
        raise AssertionError("a call is sent or fails")

    def every(self, listing: Listing, most: int | None = None) -> Iterator[Json]:
        """Rows of all pages, each page asked for when it is reached."""
        left = most if most is not None else -1
        page: Listing | None = listing
        while page is not None and left != 0:
            body: Any = self.send(page)
            for one in calls.rows_of(page, body):
                if left == 0:
                    return
                yield one
                left -= 1
            page = calls.next_page(page, body)

    def lines(
        self,
        workload_id: str,
        *,
        pod: str = "",
        attempt: int | None = None,
        after: str | None = None,
        pause: float = PAUSE,
    ) -> Iterator[Json]:
        """Lines of the log from the beginning on; waits for more until it has ended.

        One with ``replaces`` is what was added to an earlier line, or stands for it.
        """
        at = after
        while True:
            page: Any = self.log(
                workload_id, pod=pod, attempt=attempt, after=at, start=at is None, limit=2000
            )
            yield from page["grown"]
            yield from page["lines"]
            at = page["after"]
            if page["ended"]:
                return
            if not page["hasNewer"]:
                time.sleep(pause)

    def wait(
        self,
        workload_id: str,
        *statuses: str,
        seconds: float | None = None,
        pause: float = PAUSE,
        told: Callable[[Json], None] | None = None,
    ) -> Json:
        """Wait until the workload has one of ``statuses``, or has ended. Raises TimeoutError.

        ``told`` hears of each look.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            row: Any = self.workload(workload_id)
            if told is not None:
                told(row)
            if row["status"] in (statuses or ENDED) or row["status"] in ENDED:
                return dict(row)
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{row['name']} is still {row['status']}.")
            time.sleep(pause)

    def _client(self) -> httpx.Client:
        if self._http is None:
            self._http = httpx.Client(**self._options())
        return self._http

    def close(self) -> None:
        if self._http is not None:
            self._http.close()
            self._http = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(_Base):
    """The same for asyncio: ``await client.submit(…)``, ``async for row in client.workloads()``."""

    _http: httpx.AsyncClient | None = None

    me = _awaiting(calls.me)
    get = _awaiting(calls.get)
    workloads = _async_every(calls.workloads)
    workload = _awaiting(calls.workload)
    submitted = _awaiting(calls.submitted)
    submit = _awaiting(calls.submit)
    preview = _awaiting(calls.preview)
    suspend = _awaiting(calls.suspend)
    resume = _awaiting(calls.resume)
    rerun = _awaiting(calls.rerun)
    delete = _awaiting(calls.delete)
    pods = _async_every(calls.pods)
    events = _async_every(calls.events)
    log = _awaiting(calls.log)
    policy = _awaiting(calls.policy)
    rows = _async_every(calls.rows)
    row = _awaiting(calls.row)
    create_row = _awaiting(calls.create_row)
    update_row = _awaiting(calls.update_row)
    delete_row = _awaiting(calls.delete_row)

    async def send(self, call: Call[T]) -> T:
        """Send one call; what may be repeated is sent again once when the line breaks."""
        for is_last in (not call.is_repeatable, True):
            try:
                sent = self._request(call)
                answer = await self._client().request(call.method, call.path, **sent)
                return self._answer(call, answer)
            except (httpx.RemoteProtocolError, httpx.ReadError) as error:
                if is_last:
                    raise self._unreachable(error) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._unreachable(error) from error
        raise AssertionError("a call is sent or fails")

    async def every(self, listing: Listing, most: int | None = None) -> AsyncIterator[Json]:
        """Rows of all pages, each page asked for when it is reached."""
        left = most if most is not None else -1
        page: Listing | None = listing
        while page is not None and left != 0:
            body: Any = await self.send(page)
            for one in calls.rows_of(page, body):
                if left == 0:
                    return
                yield one
                left -= 1
            page = calls.next_page(page, body)

    async def lines(
        self,
        workload_id: str,
        *,
        pod: str = "",
        attempt: int | None = None,
        after: str | None = None,
        pause: float = PAUSE,
    ) -> AsyncIterator[Json]:
        """Lines of the log from the beginning on; waits for more until it has ended.

        One with ``replaces`` is what was added to an earlier line, or stands for it.
        """
        import asyncio

        at = after
        while True:
            page: Any = await self.log(
                workload_id, pod=pod, attempt=attempt, after=at, start=at is None, limit=2000
            )
            for line in (*page["grown"], *page["lines"]):
                yield line
            at = page["after"]
            if page["ended"]:
                return
            if not page["hasNewer"]:
                await asyncio.sleep(pause)

    async def wait(
        self,
        workload_id: str,
        *statuses: str,
        seconds: float | None = None,
        pause: float = PAUSE,
        told: Callable[[Json], None] | None = None,
    ) -> Json:
        """Wait until the workload has one of ``statuses``, or has ended. Raises TimeoutError.

        ``told`` hears of each look.
        """
        import asyncio

        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            row: Any = await self.workload(workload_id)
            if told is not None:
                told(row)
            if row["status"] in (statuses or ENDED) or row["status"] in ENDED:
                return dict(row)
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{row['name']} is still {row['status']}.")
            await asyncio.sleep(pause)

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            self._http = httpx.AsyncClient(**self._options())
        return self._http

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


def connect(**given: Any) -> Client:
    """A `Client`; raises GanglineError when the server does not know the caller."""
    client = Client(**given)
    try:
        client.me()
    except GanglineError:
        client.close()
        raise
    return client
