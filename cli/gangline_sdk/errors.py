"""What a server or the way to it may answer instead of what was asked for."""

from collections.abc import Mapping, Sequence
from typing import Any


class GanglineError(Exception):
    """Base of every error; ``message`` is a sentence."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        details: str = "",
        problems: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """HTTP status; 0: there was no answer."""
        self.details = details
        self.problems = tuple(problems)
        """Of a refused body: role, path, rule, message, value, accepted and source of each."""

    def __str__(self) -> str:
        return f"{self.message} {self.details}".strip()


class Invalid(GanglineError):
    """400, 413, 415, 422: the request cannot be accepted as it is."""


class NotSignedIn(GanglineError):
    """401, or nothing to sign in with."""


class NotAllowed(GanglineError):
    """403."""


class NotFound(GanglineError):
    """404: it is not there, or may not be seen."""


class Conflict(GanglineError):
    """409, 412: a name is taken, or a state or version does not fit."""


class TooMany(GanglineError):
    """429: try again later."""


class ServerFailed(GanglineError):
    """5xx, or an answer that is no JSON."""


class Unreachable(GanglineError):
    """No answer: network, name, certificate, time-out; or the server cannot reach its cluster."""


_BY_STATUS: Mapping[int, type[GanglineError]] = {
    401: NotSignedIn,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    429: TooMany,
    502: Unreachable,
    503: Unreachable,
    504: Unreachable,
}


def of_answer(status: int, body: Any) -> GanglineError:
    """The error that an answer of 400 and more is."""
    told = body if isinstance(body, Mapping) else {}
    kind = _BY_STATUS.get(status, ServerFailed if status >= 500 else Invalid)
    problems = [one for one in told.get("problems") or () if isinstance(one, Mapping)]
    message = str(told.get("message") or f"The server answered {status}.")
    details = "" if problems else str(told.get("details") or "")
    return kind(message, status=status, details=details, problems=problems)
