"""How the refusals of the services are answered (R32)."""

from gangline.api.errors import Answer, answers
from gangline.lib.answers import error_body
from workloads.services.intents import AlreadyEnded, BeingDeleted, NotEnded
from workloads.services.submission import TooManyWaiting
from workloads.services.submission_types import (
    ClusterUnreachable,
    IdempotencyConflict,
    NameTaken,
    NoSuchProject,
)
from workloads.terminals.tickets import BadCommand, NotNow, TooMany


@answers(NameTaken)
def _taken(error: NameTaken) -> Answer:
    return 409, error_body(409, "The name is taken.", problems=[error.problem])


@answers(IdempotencyConflict)
def _conflict(error: IdempotencyConflict) -> Answer:
    details = "Send a new Idempotency-Key for a new request, or the same body for the same key."
    return 422, error_body(422, "idempotency_conflict", details)


@answers(NoSuchProject)
def _no_project(error: NoSuchProject) -> Answer:
    return 404, error_body(404, str(error), problems=error.problems)


@answers(ClusterUnreachable)
def _unreachable(error: ClusterUnreachable) -> Answer:
    return 503, error_body(503, str(error))


@answers(TooManyWaiting)
def _queue_full(error: TooManyWaiting) -> Answer:
    return 429, error_body(429, str(error))


@answers(AlreadyEnded)
@answers(NotEnded)
@answers(BeingDeleted)
def _wrong_state(error: Exception) -> Answer:
    return 409, error_body(409, str(error))


@answers(TooMany)
def _too_many(error: TooMany) -> Answer:
    return 429, error_body(429, str(error))


@answers(NotNow)
def _not_now(error: NotNow) -> Answer:
    return 409, error_body(409, str(error))


@answers(BadCommand)
def _bad_command(error: BadCommand) -> Answer:
    return 400, error_body(400, str(error))
