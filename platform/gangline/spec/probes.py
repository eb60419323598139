"""When a pod counts as ready.

https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/
"""

from typing import Annotated, Literal

from pydantic import Field

from .base import SpecModel, Ui, When
from .types import Format

_PORT = "handler.httpGet.port"
_WITH_PORT = When(_PORT)


def _ui(label: str, flag: str, help_text: str = "", unit: str = "") -> Ui:
    own = f"readiness-{flag}"
    return Ui(label, help=help_text, unit=unit, section="environment", advanced=True, flag=own)


def _path_problem(text: str) -> str | None:
    is_path = text.startswith("/") and text.isprintable() and " " not in text
    return None if is_path else "must be a path that starts with “/”"


def _host_problem(text: str) -> str | None:
    is_host = all(c.isascii() and (c.isalnum() or c in ".-:") for c in text) and text != ""
    return None if is_host else "must be a host name or an address"


HttpPath = Annotated[
    str, Field(max_length=1024), Format("http-path", "a path such as /ready", _path_problem)
]
Host = Annotated[
    str, Field(max_length=253), Format("host", "a host name or an address", _host_problem)
]


class HttpGet(SpecModel):
    """What is asked of the pod; any answer from 200 to 399 is a good one."""

    port: Annotated[
        int | None,
        Field(ge=1, le=65535),
        _ui("Readiness port", "port", "Checked over HTTP until it answers."),
    ] = None
    path: Annotated[
        HttpPath | None,
        _ui("Readiness path", "path"),
        When("port"),
    ] = None
    host: Annotated[
        Host | None,
        _ui("Readiness host", "host", "Empty: the pod itself."),
        When("port"),
    ] = None
    scheme: Annotated[
        Literal["HTTP", "HTTPS"] | None, _ui("Readiness scheme", "scheme"), When("port")
    ] = None


class Handler(SpecModel):
    http_get: HttpGet = Field(default_factory=HttpGet)


class Readiness(SpecModel):
    handler: Handler = Field(default_factory=Handler)
    initial_delay_seconds: Annotated[
        int | None,
        Field(ge=0, le=3600),
        _ui("First check after", "delay", unit="seconds"),
        _WITH_PORT,
    ] = None
    period_seconds: Annotated[
        int | None, Field(ge=1, le=3600), _ui("Check every", "period", unit="seconds"), _WITH_PORT
    ] = None
    timeout_seconds: Annotated[
        int | None,
        Field(ge=1, le=3600),
        _ui("Answer within", "timeout", unit="seconds"),
        _WITH_PORT,
    ] = None
    success_threshold: Annotated[
        int | None,
        Field(ge=1, le=100),
        _ui("Ready after", "successes", unit="good checks"),
        _WITH_PORT,
    ] = None
    failure_threshold: Annotated[
        int | None,
        Field(ge=1, le=100),
        _ui("Not ready after", "failures", unit="bad checks"),
        _WITH_PORT,
    ] = None


class Probes(SpecModel):
    readiness: Readiness = Field(default_factory=Readiness)
