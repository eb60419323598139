"""The door to the tools of this machine: a reverse proxy that asks about every request.

It listens on a port of its own, and each tool has a host of its own there, so that a tool shares
neither cookies nor storage with another one or with the dashboard.
"""

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import aiohttp
from aiohttp import WSMsgType, web
from channels.db import database_sync_to_async
from multidict import CIMultiDict

from gangline.config.env import env
from gangline.lib.urls import parts_of
from workloads.models import Workload
from workloads.selectors import tools
from workloads.services import tool_access

log = logging.getLogger(__name__)

LONGEST_BODY = 1 << 30
LONGEST_MESSAGE = 64 << 20
CONNECT_SECONDS = 5.0
CLOSE_SECONDS = 1.0
_LABEL = re.compile(r"([a-z](?:[-a-z0-9]{0,22}[a-z0-9])?)-([0-9a-f]{32})")
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OURS = frozenset({"authorization", "forwarded", "host", "content-length", "x-real-ip"})
"""Of a request: what is about Gangline's door, or would pass for what it says."""
_WS = "sec-websocket-"
_TEXTS = {
    401: "Open it from the page of the workload in Gangline.",
    403: "You do not have access to this tool.",
    404: "There is no such tool.",
    502: "The tool does not answer. It may still be starting, or it has ended.",
}


@dataclass(frozen=True, slots=True)
class _Way:
    """What was found for one request. ``port`` None: it does not run."""

    verdict: tool_access.Verdict
    port: int | None = None
    sign_in: str = ""


def application() -> web.Application:
    """The proxy as an application of aiohttp."""
    made = web.Application(client_max_size=LONGEST_BODY)
    made.router.add_route("*", "/{path:.*}", _answer)
    made.cleanup_ctx.append(_client)
    return made


class Gate:
    """Serves the proxy on ``listener`` within a running event loop."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        self._runner = web.AppRunner(
            application(), access_log=None, handle_signals=False, shutdown_timeout=CLOSE_SECONDS
        )
        await self._runner.setup()
        await web.SockSite(self._runner, self._listener).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


_HTTP = web.AppKey("client", aiohttp.ClientSession)


async def _client(app: web.Application):  # type: ignore[no-untyped-def]  # aiohttp's own shape
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
    # No proxy of the environment, no cookies kept, nothing unpacked on the way.
    async with aiohttp.ClientSession(
        timeout=timeout, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    ) as client:
        app[_HTTP] = client
        yield


async def _answer(request: web.Request) -> web.StreamResponse:
    named = _named(request.host)
    if named is None:
        return _plain(404)
    tool, workload_id = named
    cookie = tool_access.cookie_name(workload_id, tool)
    ticket = request.query.get(tool_access.PARAMETER, "")
    way = await database_sync_to_async(_way)(
        workload_id, tool, ticket=ticket, passes=_cookies(request, cookie)
    )
    if way.verdict.status == 401 and way.sign_in and _is_page(request):
        raise web.HTTPFound(f"{way.sign_in}?{urlencode({'rd': str(request.url)})}")
    if way.verdict.status != 200:
        return _plain(way.verdict.status)
    if way.verdict.new_pass or (ticket and _is_page(request)):
        return _settled(request, cookie, way.verdict.new_pass)
    if way.port is None:
        return _plain(502)
    try:
        if _wants_socket(request):
            return await _socket(request, way, cookie)
        return await _passed_on(request, way, cookie)
    except (aiohttp.ClientError, TimeoutError):
        return _plain(502)


def _way(workload_id: UUID, tool: str, *, ticket: str, passes: Iterable[str]) -> _Way:
    """Everything that the database knows about one request."""
    verdict = tool_access.judge(workload_id, tool, ticket=ticket, passes=passes)
    if verdict.status in (401, 404):
        return _Way(verdict, sign_in=f"{env().origin}/tools/{workload_id}/{tool}/open")
    found = tool_access.find(workload_id, tool)
    if verdict.status != 200 or found is None:
        return _Way(verdict)
    workload, attempt, _ = found
    placed = tools.tool_of(workload, attempt, tool)
    is_there = _runs_here(workload) and placed is not None
    return _Way(verdict, tools.port_here(attempt, placed) if is_there and placed else None)


def _runs_here(workload: Workload) -> bool:
    return bool(workload.cluster.host_id) and workload.phase in ("Running", "Degraded")


def _named(host: str) -> tuple[str, UUID] | None:
    """The tool that a host name is for: the part that stands in place of ``*``."""
    pattern = env().tools_address
    before, star, after = (urlsplit(pattern).hostname or "").partition("*")
    name = host.rpartition(":")[0] if ":" in host else host
    if not star or not (name.startswith(before) and name.endswith(after)):
        return None
    match = _LABEL.fullmatch(name[len(before) : len(name) - len(after)])
    return (match[1], UUID(match[2])) if match else None


async def _passed_on(request: web.Request, way: _Way, cookie: str) -> web.StreamResponse:
    target = f"http://127.0.0.1:{way.port}"
    body = request.content if request.can_read_body else None
    async with request.app[_HTTP].request(
        request.method,
        f"{target}{request.raw_path}",
        headers=_inward(request, way, cookie),
        data=body,
        allow_redirects=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
    ) as told:
        answer = web.StreamResponse(status=told.status, reason=told.reason)
        for name, value in told.headers.items():
            if name.lower() == "set-cookie":
                value = _of_its_host(value)
            if name.lower() not in (*_HOP_BY_HOP, "service-worker-allowed"):
                answer.headers.add(name, value)
        answer.headers.setdefault("Referrer-Policy", "no-referrer")
        answer.headers.setdefault("Content-Security-Policy", "frame-ancestors 'none'")
        answer.headers.setdefault("Origin-Agent-Cluster", "?1")
        await answer.prepare(request)
        async for chunk in told.content.iter_any():
            await answer.write(chunk)
        await answer.write_eof()
        return answer


async def _socket(request: web.Request, way: _Way, cookie: str) -> web.StreamResponse:
    """Both ends of a WebSocket. Only pages of the tool itself may open one."""
    origin = request.headers.get("Origin")
    if origin is not None and parts_of(origin).netloc != request.host:
        return _plain(403)
    wanted = request.headers.get("Sec-WebSocket-Protocol", "")
    protocols = [one.strip() for one in wanted.split(",") if one.strip()]
    headers = {n: v for n, v in _inward(request, way, cookie).items() if not _is_of_socket(n)}
    async with request.app[_HTTP].ws_connect(
        f"http://127.0.0.1:{way.port}{request.raw_path}",
        headers=headers,
        protocols=protocols,
        max_msg_size=LONGEST_MESSAGE,
    ) as inner:
        outer = web.WebSocketResponse(
            protocols=[inner.protocol] if inner.protocol else (), max_msg_size=LONGEST_MESSAGE
        )
        await outer.prepare(request)
        ways = [asyncio.create_task(_pipe(outer, inner)), asyncio.create_task(_pipe(inner, outer))]
        _, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await outer.close()
        return outer


async def _pipe(
    source: web.WebSocketResponse | aiohttp.ClientWebSocketResponse,
    sink: web.WebSocketResponse | aiohttp.ClientWebSocketResponse,
) -> None:
    async for message in source:
        if message.type == WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type == WSMsgType.BINARY:
            await sink.send_bytes(message.data)


def _inward(request: web.Request, way: _Way, cookie: str) -> CIMultiDict[str]:
    """What the tool gets to see: nothing that would let it act as the person."""
    headers: CIMultiDict[str] = CIMultiDict()
    dropped = {*_HOP_BY_HOP, *_OURS}
    dropped |= {part.strip().lower() for part in request.headers.get("Connection", "").split(",")}
    for name, value in request.headers.items():
        low = name.lower()
        if low in dropped or low.startswith(("x-forwarded-", "x-gangline-", "x-auth-", "remote-")):
            continue
        if low == "cookie":
            value = _without(value, cookie)
        if value:
            headers.add(name, value)
    headers["Host"] = request.host
    headers["X-Forwarded-Host"] = request.host
    headers["X-Forwarded-Proto"] = urlsplit(env().tools_address).scheme
    headers["X-Gangline-User"] = way.verdict.user
    return headers


def _settled(request: web.Request, cookie: str, token: str) -> web.Response:
    """Keep the pass, and take the ticket out of the address."""
    query = [(n, v) for n, v in request.query.items() if n != tool_access.PARAMETER]
    there = request.rel_url.with_query(query)
    answer = web.HTTPFound(str(there))
    made = web.Response(status=302, headers={"Location": answer.headers["Location"]})
    made.headers["Referrer-Policy"] = "no-referrer"
    made.headers["Cache-Control"] = "no-store"
    if token:
        is_secure = urlsplit(env().tools_address).scheme == "https"
        made.set_cookie(cookie, token, httponly=True, samesite="Lax", secure=is_secure)
    return made


def _plain(status: int) -> web.Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(status=status, text=f"{_TEXTS[status]}\n", headers=headers)


def _cookies(request: web.Request, name: str) -> list[str]:
    found = request.cookies.get(name)
    return [found] if found else []


def _without(cookies: str, name: str) -> str:
    """The header without our pass, and without what a dashboard on a host above it may have set."""
    kept = (one for one in cookies.split("; ") if one.partition("=")[0].strip() != name)
    ours = ("gangline", "__Host-gangline", "csrf")
    return "; ".join(one for one in kept if not one.strip().startswith(ours))


def _of_its_host(cookie: str) -> str:
    """A cookie without ``Domain``: it goes to no other host."""
    parts = cookie.split(";")
    return ";".join(p for p in parts if p.strip().partition("=")[0].lower() != "domain")


def _is_page(request: web.Request) -> bool:
    return request.method == "GET" and not _wants_socket(request)


def _wants_socket(request: web.Request) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


def _is_of_socket(name: str) -> bool:
    return name.lower().startswith(_WS)
