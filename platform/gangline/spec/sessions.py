"""A gang that starts and waits for people to work in it, and how long it does."""

from typing import Annotated

from pydantic import Field

from .base import Only, SpecModel, Ui, When, WorkloadLevel
from .types import Duration

MINUTE, DAY = 60, 24 * 60 * 60
INTERACTIVE = "interactive"
WAITING = "sleep infinity"
"""What the pods of an interactive session run where nobody says what."""
_PROGRAMS = ("PyTorch", "TF", "XGBoost", "MPI", "JAX", "MXNet")
"""Frameworks whose processes Gangline starts: the others have no command."""


class Session(SpecModel):
    """Once per workload."""

    interactive: Annotated[
        bool | None,
        Ui(
            "Interactive session",
            help="The pods start and wait for people to work in their terminals: they run the"
            " command, or sleep where there is none.",
            section="environment",
            redraws=True,
        ),
        Only(_PROGRAMS),
        WorkloadLevel(),
    ] = None
    session_time_limit_seconds: Annotated[
        Duration | None,
        Field(ge=MINUTE, le=366 * DAY),
        Ui(
            "Longest session",
            help="The workload is stopped when it has run for so long. Empty: no limit.",
            section="environment",
            flag="session-time-limit",
        ),
        When("interactive", (True,)),
        Only(_PROGRAMS),
        WorkloadLevel(),
    ] = None
    session_idle_limit_seconds: Annotated[
        Duration | None,
        Field(ge=MINUTE, le=366 * DAY),
        Ui(
            "Longest pause",
            help="The workload is stopped when nobody has used a terminal or a tool of it for so"
            " long. Empty: no limit.",
            section="environment",
            flag="session-idle-limit",
        ),
        When("interactive", (True,)),
        Only(_PROGRAMS),
        WorkloadLevel(),
    ] = None
