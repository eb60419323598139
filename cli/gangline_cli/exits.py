"""Exit codes, and errors as lines that name the flag."""

from collections.abc import Iterator, Mapping
from typing import Any

from gangline_sdk import errors

CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.Invalid, 3),
    (errors.NotSignedIn, 4),
    (errors.NotAllowed, 4),
    (errors.NotFound, 5),
    (errors.Conflict, 6),
    (errors.Unreachable, 7),
    (errors.GanglineError, 1),
)
ENVELOPE = {
    "name": "NAME",
    "projectId": "--project",
    "clusterId": "--cluster",
    "templateId": "--template",
    "configuration": "--no-master",
}


class Refused(errors.Invalid):
    """The same with the flags that were used."""

    def __init__(self, error: errors.GanglineError, flags: Mapping[str, str]) -> None:
        super().__init__(
            error.message, status=error.status, details=error.details, problems=error.problems
        )
        self.flags = flags
        """By ``role.path``."""


def exit_code(error: Exception) -> int | None:
    """None: it is no error that is expected."""
    return next((code for kind, code in CODES if isinstance(error, kind)), None)


def told(error: Exception) -> Iterator[str]:
    """The lines that a person reads."""
    if not isinstance(error, errors.GanglineError):
        yield f"gangline: {error}"
        return
    yield f"gangline: {error.message}{f' {error.details}' if error.details else ''}"
    flags = error.flags if isinstance(error, Refused) else {}
    for problem in () if isinstance(error, errors.NotSignedIn) else error.problems:
        yield f"  {_line(problem, flags)}"
    if isinstance(error, errors.NotSignedIn):
        yield "Sign in with: gangline login ADDRESS"


def _line(problem: Mapping[str, Any], flags: Mapping[str, str]) -> str:
    role, path = str(problem.get("role", "")), str(problem.get("path", ""))
    place = path if role in ("", "workload") else f"{role}.{path}"
    flag = ENVELOPE.get(path, "") if role == "workload" else _flag(place, flags)
    where = f"{flag} ({place})" if flag and flag != place else place
    text = f"{where}: {problem.get('message', '')}"
    if "value" in problem and problem["value"] is not None:
        text += f", not {_shown(problem['value'])}"
    text = text if text.endswith("?") else f"{text.rstrip('.')}."
    if accepted := problem.get("accepted"):
        text += f" Accepted: {str(accepted).rstrip('.')}."
    if source := problem.get("source"):
        text += f" (policy: {source})"
    if hint := problem.get("hint"):
        text += f" {hint}"
    return text


def _flag(place: str, flags: Mapping[str, str]) -> str:
    """The flag of the longest path that ``place`` begins with."""
    steps = place.split(".")
    for length in range(len(steps), 0, -1):
        if found := flags.get(".".join(steps[:length])):
            return found
    return ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
