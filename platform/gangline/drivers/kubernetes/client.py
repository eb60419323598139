"""Raw JSON to and from one API server, over the official client (R8).

Typed models are not used: an object that this version does not know must pass through unchanged.
Every request has a time-out, goes through no proxy of the environment, and follows no redirect.
"""

import json
import logging
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import urllib3

from gangline.drivers.addresses import AddressRefused, AllowedAddresses, causes, guard

from . import cancellation
from .access import ClusterCredentials, tls_context
from .cancellation import Cancellation, waiting_on
from .resources import Resource

LONGEST_REST = 300.0
"""Whatever a server asks for: nobody waits longer than this without asking again."""


class Rest:
    """Until when the cluster wants to be left alone."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def left(self) -> float:
        """Seconds that are left of it; 0 when there is none."""
        return max(0.0, self._until - time.monotonic())

    def take(self, seconds: float) -> None:
        """Rest for so long from now on, unless a longer rest is being taken."""
        self._until = max(self._until, time.monotonic() + min(seconds, LONGEST_REST))


class Allowance:
    """A token bucket: ``per_second`` on average, ``burst`` at once."""

    def __init__(self, per_second: float, burst: float) -> None:
        self.per_second, self.burst = per_second, burst
        self._tokens, self._at = burst, time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> None:
        """Take one, and wait for it where there is none yet."""
        with self._lock:
            now = time.monotonic()
            self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_second)
            self._at = now
            self._tokens -= 1
            debt = -self._tokens / self.per_second
        if debt > 0:
            time.sleep(debt)


def asked_for(header: str) -> float | None:
    """Seconds of a ``Retry-After``; None where it says none (a date counts as none)."""
    text = header.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    return min(float(text), LONGEST_REST)


class Cutter:
    """The lines of a stream that is handed over piece by piece, wherever it is cut."""

    def __init__(self) -> None:
        self.rest = bytearray()
        """What came of a line whose end did not come yet; may be taken out."""

    def cut(self, piece: bytes) -> list[bytes]:
        """The lines that end in ``piece``, without their ends."""
        if b"\n" not in piece:
            self.rest += piece  # in place: joined anew each time, a long line would take for ever
            return []
        first, *whole, rest = piece.split(b"\n")
        lines = [bytes(self.rest) + first, *whole]
        self.rest = bytearray(rest)
        return lines


CONNECT_SECONDS, READ_SECONDS = 5.0, 25.0
MOST_BYTES = 64 << 20
"""Of one answer: a page of pods is far smaller, an answer without an end is none."""
MOST_OF_A_REFUSAL = 1 << 16
SILENCE_SECONDS = 75.0
"""A watch sends a bookmark every minute: longer silence means that nobody is there any more."""
BRIEF_REST = 5.0
"""After "too many requests" without a word for how long."""
CONNECTIONS = 96
"""Kept open at most: enough for all threads, but not for watches of many single namespaces. Whoever
finds none begins with a handshake, which costs more than all the rest of a request."""
MANAGER = "gangline"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"

UNREADABLE = "The answer of the cluster could not be read."
log = logging.getLogger(__name__)
unreadable: Counter[str] = Counter()
"""How often something could not be read, by what it was."""
T = TypeVar("T")
R = TypeVar("R")
Query = Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server said."""

    status: int
    body: Any
    """JSON, or text where the server sent none."""
    retry_after: float | None = None
    date: str = ""
    """The server's clock, as its header says it."""

    @property
    def wants_rest(self) -> bool:
        """The cluster asks to be left alone for a while: that holds for everything of ours."""
        return self.status == 429 or (self.status == 503 and self.retry_after is not None)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def json(self) -> Mapping[str, Any]:
        """The body as an object; empty where the server sent something else."""
        return self.body if isinstance(self.body, dict) else {}

    @property
    def reason(self) -> str:
        """``AlreadyExists``, ``Forbidden``: the machine word of a ``Status``, or empty."""
        return str(self.json.get("reason") or "")

    @property
    def message(self) -> str:
        """What the server says for people."""
        text = self.json.get("message") if isinstance(self.body, dict) else self.body
        return str(text or "")


class Doubt(Exception):
    """Nothing can be told of what was asked for, in words why; the answer, where there is one."""

    is_cut_off = False
    """It is so for everything on this cluster."""
    retry_after: float | None = None

    def __init__(self, reason: str, answer: Answer | None = None) -> None:
        super().__init__(reason)
        self.status = answer.status if answer is not None else 0
        if answer is not None and answer.wants_rest:
            self.retry_after = answer.retry_after or BRIEF_REST
        elif answer is not None:
            self.is_cut_off = answer.status == 401 or answer.status >= 500


class Unreachable(Doubt):
    """No answer came; whether a write happened is not known."""

    is_cut_off = True


class NotUnderstood(Unreachable):
    """Something answered, and not as Kubernetes does."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(UNREADABLE)
        self.answer = answer


@contextmanager
def understood(what: str) -> Iterator[None]:
    """The guard of everything that is read of a cluster: what cannot be read becomes Doubt."""
    try:
        yield
    except Doubt:
        raise
    except Exception as error:
        unreadable[what] += 1
        log.warning("%s cannot be read (%d so far)", what, unreadable[what], exc_info=True)
        raise Doubt(UNREADABLE) from error


def readable(read: Callable[[T], R], things: Iterable[T], what: str) -> Iterator[R]:
    """What ``read`` makes of each; one that cannot be read is logged and left out."""
    for thing in things:
        try:
            with understood(what):
                made = read(thing)
        except Doubt:
            continue
        yield made


class Client:
    """Thread-safe. Raises Unreachable; every other outcome is an Answer.

    ``reach`` says which addresses may be dialled; None: any. ``writes``: how fast objects may be
    changed; None: as fast as it goes. While the cluster wants a rest, nothing is sent to it: every
    request, and every stream, is answered as the one was that asked for the rest.
    """

    def __init__(
        self,
        access: ClusterCredentials,
        reach: AllowedAddresses | None = None,
        *,
        writes: Allowance | None = None,
    ) -> None:
        self.access, self.reach, self._writes = access, reach, writes
        self._rest = Rest()
        # Here, and not above: pages know of clusters and need not wait for this library.
        from kubernetes import client as official

        self._failed = official.ApiException
        configuration = official.Configuration(host=access.server.rstrip("/"))
        configuration.verify_ssl = True
        configuration.proxy = None
        self._api = official.ApiClient(configuration)
        self._pool = urllib3.PoolManager(
            maxsize=CONNECTIONS,
            ssl_context=tls_context(access),
            # OpenSSL checks the certificate against it; urllib3's own check stays out of the way.
            server_hostname=access.tls_server_name or None,
            retries=urllib3.Retry(False),
        )
        if reach is not None:
            guard(self._pool, reach)
        cancellation.install(self._pool)
        self._api.rest_client.pool_manager = self._pool

    def get(self, resource: Resource, namespace: str, name: str, sub: str = "") -> Answer:
        """A quorum read: no ``resourceVersion`` is given."""
        return self.request("GET", resource.path(namespace, name, sub))

    def list(self, resource: Resource, namespace: str = "", **query: str | int) -> Answer:
        """One page of a collection; ``labelSelector``, ``limit``, ``continue`` and the like."""
        return self.request("GET", resource.path(namespace), query=query)

    def create(
        self,
        resource: Resource,
        namespace: str,
        body: Mapping[str, Any],
        *,
        dry_run: bool = False,
        read_seconds: float = READ_SECONDS,
    ) -> Answer:
        """Make an object. Unknown fields are refused, not dropped."""
        query = {"fieldManager": MANAGER, "fieldValidation": "Strict", **_trial(dry_run)}
        path = resource.path(namespace)
        self._await_turn()
        return self.request("POST", path, query=query, body=body, read_seconds=read_seconds)

    def patch(
        self, resource: Resource, namespace: str, name: str, body: Mapping[str, Any], sub: str = ""
    ) -> Answer:
        """Merge patch: the object's ``resourceVersion`` in ``metadata`` makes it conditional."""
        query = {"fieldManager": MANAGER}
        path = resource.path(namespace, name, sub)
        self._await_turn()
        return self.request("PATCH", path, query=query, body=body, content_type=MERGE)

    def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Mapping[str, Any],
        *,
        dry_run: bool = False,
        force: bool = True,
    ) -> Answer:
        """Server-side apply of what is ours; without ``force``, a field of another is a 409."""
        query = {"fieldManager": MANAGER, "force": str(force).lower(), **_trial(dry_run)}
        path = resource.path(namespace, name)
        self._await_turn()
        return self.request("PATCH", path, query=query, body=body, content_type=APPLY)

    def delete(self, resource: Resource, namespace: str, name: str, *, uid: str) -> Answer:
        """Foreground deletion of the object with this uid and no other."""
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": uid},
        }
        self._await_turn()
        return self.request("DELETE", resource.path(namespace, name), body=options)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        read_seconds: float = READ_SECONDS,
        most_bytes: int = MOST_BYTES,
        cancellation: Cancellation | None = None,
    ) -> Answer:
        """One request and its whole answer, however slowly it comes: at most ``read_seconds``.

        ``wire``: through which another thread may end the wait. Raises NotUnderstood for an answer
        that is good by its status and is not what Kubernetes says.
        """
        answer = self._asked(
            method, path, query, body, content_type, read_seconds, most_bytes, cancellation
        )
        if answer.ok and not isinstance(answer.body, dict):
            raise NotUnderstood(answer)
        return answer

    def _asked(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Mapping[str, Any] | None,
        content_type: str,
        read_seconds: float,
        most_bytes: int,
        cancellation: Cancellation | None,
    ) -> Answer:
        if (left := self._rest.left) > 0:
            return _resting(left)
        until = time.monotonic() + read_seconds
        asked = self._opened(method, path, query, body, content_type, read_seconds)
        with waiting_on(cancellation), asked as response:
            data = bytearray()
            for piece in self._pieces(response):
                data += piece
                if len(data) > most_bytes:
                    raise Unreachable(f"{self.access.server} sends an endless answer.")
                if time.monotonic() > until:
                    raise Unreachable(f"{self.access.server} answers too slowly.")
            answer = Answer(
                response.status,
                parsed(self.safe(response.status, bytes(data))),
                asked_for(response.headers.get("Retry-After", "")),
                response.headers.get("Date", ""),
            )
        self.heed(answer)
        return answer

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Query | None = None,
        silence: float = SILENCE_SECONDS,
        cancellation: Cancellation | None = None,
    ) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Status and pieces of an answer that goes on for long; a watch or a followed log.

        ``wire``: through which another thread may end the wait. After a status that asks for a
        rest, `rest_left` says for how long.
        """
        if (left := self._rest.left) > 0:
            resting = _resting(left)
            yield resting.status, iter((json.dumps(resting.body).encode(),))
            return
        asked = self._opened("GET", path, query, None, "", silence)
        with waiting_on(cancellation), asked as response:
            retry_after = asked_for(response.headers.get("Retry-After", ""))
            self.heed(Answer(response.status, None, retry_after))
            pieces = self._pieces(response)
            if response.status >= 400:
                pieces = iter((self.safe(response.status, _short(pieces)),))
            yield response.status, pieces

    @property
    def rest_left(self) -> float:
        """Seconds for which the cluster still wants to be left alone; 0 when it does not."""
        return self._rest.left

    def close(self) -> None:
        """Let go of all connections."""
        self._pool.clear()

    def heed(self, answer: Answer) -> None:
        """Take the rest that the answer asks for, if it asks for one."""
        if answer.wants_rest:
            self._rest.take(answer.retry_after or BRIEF_REST)

    def _await_turn(self) -> None:
        if self._writes is not None:
            self._writes.take()

    def _pieces(self, response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        try:
            while piece := response.read1(1 << 16):
                yield piece
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(said_of(error, self.access)) from error

    @contextmanager
    def _opened(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Mapping[str, Any] | None,
        content_type: str,
        read_seconds: float,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        url = f"{self.access.server.rstrip('/')}{path}"
        if query:
            words = {k: str(v).lower() if isinstance(v, bool) else v for k, v in query.items()}
            url += f"?{urlencode(words)}"
        try:
            headers = self.headers()
            if body is not None:
                headers["Content-Type"] = content_type
            answer = self._api.call_api(
                method,
                url,
                header_params=headers,
                body=dict(body) if body is not None else None,
                _request_timeout=(CONNECT_SECONDS, read_seconds),
            )
        except (self._failed, urllib3.exceptions.HTTPError, OSError, UnicodeError) as error:
            # The first is what the official client makes of a TLS failure.
            raise Unreachable(said_of(error, self.access)) from error
        response = answer.response
        try:
            yield response
        finally:
            # Ends a connection whose answer was not read to its end; any other is back in the pool.
            response.close()

    def headers(self) -> dict[str, str]:
        """Those of every request. Raises Unreachable where there is no token to be read."""
        token = self._token()
        sign_in = {"Authorization": f"Bearer {token}"} if token else {}
        return {"Accept": "application/json", "User-Agent": "gangline", **sign_in}

    def safe(self, status: int, said: bytes) -> bytes:
        """A refusal is shown and logged: the token goes, should the server repeat it."""
        token = self._token().encode() if status >= 400 else b""
        return said.replace(token, b"[token]") if token else said

    def _token(self) -> str:
        if not self.access.token_file:
            return self.access.token
        try:
            return Path(self.access.token_file).read_text("utf-8").strip()
        except OSError as error:
            raise Unreachable(
                f"The token file {self.access.token_file} cannot be read: {error.strerror}."
            ) from error


def _trial(dry_run: bool) -> dict[str, str]:
    """https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run"""
    return {"dryRun": "All"} if dry_run else {}


def _resting(left: float) -> Answer:
    """As the cluster answered when it asked for the rest."""
    message = f"The cluster is rate limiting requests for {left:.0f} s more."
    return Answer(429, {"kind": "Status", "code": 429, "message": message}, retry_after=left)


def _short(pieces: Iterator[bytes]) -> bytes:
    """The answer of a server that refuses: a sentence, not a stream."""
    said = b""
    for piece in pieces:
        said += piece
        if len(said) > MOST_OF_A_REFUSAL:
            break
    return said


def parsed(data: bytes) -> Any:
    """JSON, or text where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "The certificate of {server} cannot be trusted: {why}."),
    (ssl.SSLError, "{server} does not speak TLS as expected."),
    (urllib3.exceptions.NameResolutionError, "The name in {server} is not known."),
    (urllib3.exceptions.NewConnectionError, ""),  # a time-out by its class: its cause knows better
    (
        urllib3.exceptions.ConnectTimeoutError,
        f"{{server}} did not answer in {CONNECT_SECONDS:.0f} s.",
    ),
    (urllib3.exceptions.ReadTimeoutError, "{server} did not answer in time."),
    (ConnectionRefusedError, "{server} refuses connections: nothing listens there."),
)


def said_of(error: BaseException, access: ClusterCredentials) -> str:
    """A category, never the text of an unknown server."""
    for cause in causes(error):
        if isinstance(cause, AddressRefused):
            return str(cause)
        words = next((words for kind, words in _WORDS if isinstance(cause, kind)), "")
        if words:
            why = getattr(cause, "verify_message", "")
            return words.format(server=access.server, why=why)
    return f"The connection to {access.server} broke."
