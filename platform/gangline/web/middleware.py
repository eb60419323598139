"""Around every answer: size limits before anything is parsed, security headers after."""

import uuid
from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template import loader

from gangline.lib.answers import API_PREFIXES, error_body

Answer = HttpResponseBase | Awaitable[HttpResponseBase]

MAX_PATH = 2_000
MAX_QUERY = 8_000
MAX_HEADERS = 32 * 1024
LATE = "gangline.late"
"""In the scope of a request whose body did not arrive in time."""


class _Around:
    """A middleware that works in both chains without a thread hop of its own."""

    _is_async: bool

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        refusal = self.before(request)
        if self._is_async:
            return self._async(request, refusal)
        response = refusal or self.get_response(request)
        if not isinstance(response, HttpResponseBase):
            raise TypeError("an asynchronous answer in the synchronous chain")
        return self.after(request, response)

    async def _async(
        self, request: HttpRequest, refusal: HttpResponseBase | None
    ) -> HttpResponseBase:
        if refusal is None:
            answer = self.get_response(request)
            response = answer if isinstance(answer, HttpResponseBase) else await answer
        else:
            response = refusal
        return self.after(request, response)

    def before(self, request: HttpRequest) -> HttpResponseBase | None:
        return None

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response


class RequestLimits(_Around):
    """Refuses what is too large or cannot be a request, and gives each request its id."""

    def before(self, request: HttpRequest) -> HttpResponseBase | None:
        request.META["gangline.request_id"] = str(uuid.uuid4())
        refused = self._refused(request)
        if refused and refused[0] == 413 and "text/html" in request.META.get("HTTP_ACCEPT", ""):
            return _too_large(request)
        return plain_answer(request, *refused) if refused else None

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response["X-Request-Id"] = request.META["gangline.request_id"]
        if response.status_code == 408:
            response["Connection"] = "close"
        return response

    def _refused(self, request: HttpRequest) -> tuple[int, str] | None:
        query = request.META.get("QUERY_STRING", "")
        length = request.META.get("CONTENT_LENGTH") or "0"
        if LATE in getattr(request, "scope", {}):
            return 408, "The request did not arrive in time."
        if "\x00" in request.path or "%00" in query:
            return 400, "The address contains a NUL character."
        if len(request.path) > MAX_PATH or len(query) > MAX_QUERY:
            return 414, "The address is too long."
        if not (length.isascii() and length.isdigit()):
            return 400, "Content-Length is not a number."
        if int(length) > (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0):
            return 413, "The request is larger than 1 MiB."
        if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
            return 415, "Compressed request bodies are not accepted."
        if sum(len(v) for k, v in request.META.items() if k.startswith("HTTP_")) > MAX_HEADERS:
            return 431, "The request headers are too large."
        return None


class SecurityHeaders(_Around):
    """Sets the security headers on every answer, error pages and files included."""

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        super().__init__(get_response)
        self._policy = content_security_policy(list(settings.CSRF_TRUSTED_ORIGINS))

    def after(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        headers = response.headers
        headers.setdefault("Content-Security-Policy", self._policy)
        headers.setdefault("X-Content-Type-Options", "nosniff")
        headers.setdefault("Referrer-Policy", "same-origin")
        headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        headers.setdefault(
            "Permissions-Policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"
        )
        if not request.path.startswith(settings.STATIC_URL or "/static/"):
            headers.setdefault("Cache-Control", "no-store")
        return response


def content_security_policy(origins: list[str]) -> str:
    """Only our own files; sockets to the same origin, which old browsers do not count as 'self'.

    What a page says of links to fetch early is JSON, and no script.
    """
    sockets = " ".join(f"ws{origin.removeprefix('http')}" for origin in origins)
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self' 'inline-speculation-rules'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            f"connect-src 'self' {sockets}",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "object-src 'none'",
        )
    )


def _too_large(request: HttpRequest) -> HttpResponse:
    """For people: how much was sent, and what to do. Nothing of the request is read for it."""
    size, most = int(request.META["CONTENT_LENGTH"]), settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
    # A chunked request is not read to its end.
    is_known = "HTTP_TRANSFER_ENCODING" not in request.META
    has = f"{size / (1 << 20):.1f} MiB" if is_known else f"more than {most >> 20} MiB"
    context = {"size": has, "most": f"{most >> 20} MiB"}
    return HttpResponse(loader.get_template("413.html").render(context), status=413)


def plain_answer(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """A refusal without template or database: JSON for the API, text for a browser."""
    if request.path.startswith(API_PREFIXES):
        return JsonResponse(error_body(status, message), status=status)
    return HttpResponse(f"{message}\n", status=status, content_type="text/plain; charset=utf-8")
