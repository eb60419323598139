"""The one shape of a refusal over HTTP (R32), for middleware, API and live alike."""

from collections.abc import Iterable, Sequence
from typing import Any

from gangline.spec.problems import Problem, Role

API_PREFIXES = ("/api/", "/v1/")
"""Where programs ask: they sign in by token and get errors as JSON. Settings lie below /v1/."""
_POLICY_RULES = frozenset(
    {
        "min",
        "max",
        "maxTotal",
        "step",
        "options",
        "registries",
        "digestRequired",
        "required",
        "canEdit",
        "canAdd",
        "locked",
    }
)
_HALVES = {"spec": Role.WORKER, "masterSpec": Role.MASTER}
_ENVELOPE = frozenset({"name", "projectId", "clusterId", "configuration", "templateId"})


def error_body(
    status: int, message: str, details: str = "", problems: Iterable[Problem] = ()
) -> dict[str, Any]:
    """``code``, ``message``, ``details`` and, for a refused submission, every problem."""
    listed = list(problems)
    return {
        "code": status,
        "message": message,
        "details": details or " ".join(p.sentence for p in listed),
        "problems": [p.as_dict() for p in listed],
        "complianceIssues": [
            {"field": _body_field(p), "details": p.message, "rule": p.rule}
            for p in listed
            if p.rule in _POLICY_RULES and p.source
        ],
    }


def place_in_body(steps: Sequence[str]) -> tuple[Role, str]:
    """Which half of a submission, and which path of it, a value in its body stands at."""
    role = _HALVES.get(steps[0], Role.WORKLOAD) if len(steps) > 1 else Role.WORKLOAD
    return role, ".".join(steps if role is Role.WORKLOAD else steps[1:])


def _body_field(problem: Problem) -> str:
    """``spec.numWorkers``: where the field stands in the body of a submission."""
    if problem.role == Role.MASTER:
        return f"masterSpec.{problem.path}"
    return problem.path if problem.path in _ENVELOPE else f"spec.{problem.path}"
