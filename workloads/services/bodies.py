"""The body of a submission, as `docs/reference/openapi.yaml` has it, turned into a request.

Everything strange becomes a problem with its place; nothing is ignored except what the body's own
clients always send.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from assets.layers import given_by
from assets.models import Template
from gangline.accounts.models import User
from gangline.spec.frameworks import WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import Value, template_source
from gangline.spec.values import flatten
from gangline.spec.words import did_you_mean
from gangline.spec.workload import SPEC
from workloads.services.cluster_problems import FRAMEWORK
from workloads.services.submission_types import SubmissionRequest
from workloads.services.validation import find_place, find_template

ENVELOPE = (
    "name",
    "projectId",
    "clusterId",
    "templateId",
    "configuration",
    "spec",
    "masterSpecSameAsWorker",
    "masterSpec",
    "useGivenNameAsPrefix",
)
# Clients built from the published schema send these always, whatever the framework.
CLIENT_DEFAULTS = {"slotsPerWorker": 1, "sshAuthMountPath": "/root/.ssh"}


@dataclass(slots=True)
class _Reading:
    body: Mapping[str, Any]
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, path: str, code: str, accepted: str, label: str = "") -> None:
        value = self.body.get(path)
        self.problems.append(
            Problem.of(
                Role.WORKLOAD, path, code, value=value, accepted=accepted, label=label or path
            )
        )

    def text(self, path: str, label: str) -> str:
        value = self.body.get(path)
        if value is None or isinstance(value, str):
            return value or ""
        self.wrong(path, "type", "a JSON string", label)
        return ""

    def boolean(self, path: str) -> bool | None:
        value = self.body.get(path)
        if value is None or isinstance(value, bool):
            return value
        self.wrong(path, "type", "true or false")
        return None


def read(user: User, body: Any) -> SubmissionRequest:
    """The request that ``body`` is. Never raises for JSON values: problems travel with it."""
    reading = _Reading(body if isinstance(body, Mapping) else {})
    if not isinstance(body, Mapping):
        reading.problems.append(
            Problem.of(
                Role.WORKLOAD, "", "type", value=body, accepted="a JSON object", label="The body"
            )
        )
    reading.problems += _unknown_keys(reading.body)
    given = _half(reading, "spec", Role.WORKER) | _half(reading, "masterSpec", Role.MASTER)
    configuration, master = _roles(reading)
    request = SubmissionRequest(
        name=reading.text("name", "Name"),
        is_prefix=bool(reading.boolean("useGivenNameAsPrefix")),
        project_id=_project_id(reading),
        cluster_id=reading.text("clusterId", "Cluster"),
        configuration=configuration,
        master=master,
        given=given,
        template_id=reading.text("templateId", "Template") or None,
        problems=tuple(reading.problems),
    )
    return _with_template(user, request) if request.template_id else request


def hash_of(*parts: Any) -> str:
    """Fingerprint of a request: the same content gives the same, whatever the order of its keys."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _unknown_keys(body: Mapping[str, Any]) -> Iterator[Problem]:
    for key in body:
        if key not in ENVELOPE:
            meant = did_you_mean(key, ENVELOPE)
            yield Problem.of(
                Role.WORKLOAD, key, "unknown:meant" if meant else "unknown", value=body[key],
                meant=meant, accepted=meant or ", ".join(ENVELOPE), label=key,
            )  # fmt: skip


def _project_id(reading: _Reading) -> str:
    value = reading.body.get("projectId")
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 15:
        return value
    reading.wrong("projectId", "format:id", "12", "Project")
    return ""


def _half(reading: _Reading, key: str, role: Role) -> dict[str, Value]:
    nested = reading.body.get(key)
    if nested is None:
        return {}
    cleaned = _without_nulls(nested)
    if not isinstance(cleaned, dict):
        reading.wrong(key, "type", "an object with named fields")
        return {}
    for name, default in CLIENT_DEFAULTS.items():
        if name in cleaned and cleaned[name] == default:
            del cleaned[name]
    model = SPEC.master if role is Role.MASTER else SPEC.worker
    values, problems = flatten(model, cleaned, role)
    reading.problems += problems
    return {f"{role}.{path}": Value(value) for path, value in values.items()}


def _without_nulls(value: Any) -> Any:
    """``null`` means "not given", at every depth. The parser has bounded the depth."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _roles(reading: _Reading) -> tuple[str, str]:
    """Configuration and master mode."""
    given = reading.text("configuration", "Workload configuration")
    same = reading.boolean("masterSpecSameAsWorker")
    has_own = reading.body.get("masterSpec") is not None
    if has_own and same:
        reading.wrong(
            "masterSpecSameAsWorker", "master:spec", "false",
        )  # fmt: skip
    if given == WORKERS_ONLY and (same or has_own):
        reading.wrong(
            "configuration", "master:workers_only", WORKERS_AND_MASTER, "Workload configuration",
        )  # fmt: skip
    if given == WORKERS_AND_MASTER and same is False and not has_own:
        reading.wrong(
            "masterSpec", "required:master", "an object",
        )  # fmt: skip
    if has_own:
        return given or WORKERS_AND_MASTER, "own"
    if given == WORKERS_ONLY or (not given and same is False):
        return WORKERS_ONLY, "none"
    return given, "same"


def _with_template(user: User, request: SubmissionRequest) -> SubmissionRequest:
    """The values of the template stand under those of the body."""
    project = find_place(user, request).project
    template = find_template(user, request.template_id, project) if project else None
    if template is None:
        return request
    below = given_by(template)
    if request.master != "same":
        below = {path: value for path, value in below.items() if not path.startswith("master.")}
    own_master = request.master == "same" and template.master == Template.Master.DIFFERENCES
    framework = Value(template.framework, template_source(template.pk))
    return replace(
        request,
        configuration=request.configuration or template.configuration,
        master=template.master if own_master else request.master,
        given={f"{Role.WORKER}.{FRAMEWORK}": framework, **request.given},
        assets=below,
    )
