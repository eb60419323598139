"""One action on many workloads by their ids, answered one by one."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import acting
from gangline.api.each import on_each
from gangline.api.paging import known_only
from gangline.lib.problems import Problem, Refused, unknown_fields
from workloads.api import shapes
from workloads.services.bulk import VERBS

MOST = 500
ACTIONS: Mapping[str, str] = {"delete": "delete", "suspend": "stop", "resume": "resume"}
"""Words of clients, and the product's own."""


class Batch(APIView):
    """Delete, suspend or resume many."""

    @extend_schema(
        operation_id="batchWorkloads",
        request=shapes.BATCH,
        responses={200: shapes.BATCH_RESULT, **shapes.errors(400)},
    )
    def post(self, request: Request) -> Response:
        """Act on each workload by itself: what one refuses holds up no other."""
        known_only(request, frozenset())
        verb, ids = _asked(request.data)
        actor = acting(request)
        done, refused = on_each(ids, lambda one: VERBS[verb](actor=actor, workload_id=one))
        failed = [{"id": one, "code": code, "message": says} for one, code, says in refused]
        succeeded = [one for one, _ in done]
        return Response({"id": uuid4(), "succeeded": succeeded, "failed": failed})


def _asked(body: Any) -> tuple[str, list[UUID]]:
    """The verb, and the ids without repetitions in their order; raises Refused."""
    if not isinstance(body, Mapping):
        raise Refused([Problem("type", "", {"accepted": "an object"})])
    problems = list(unknown_fields(body, ("ids", "action")))
    action, given = body.get("action"), body.get("ids")
    if not isinstance(action, str) or action not in ACTIONS:
        problems.append(Problem("unknown:one_of", "action", {"accepted": ", ".join(ACTIONS)}))
    ids: dict[UUID, None] = {}
    if not isinstance(given, list) or not 1 <= len(given) <= MOST:
        problems.append(Problem("type", "ids", {"accepted": f"a list of 1 to {MOST} ids"}))
    else:
        for number, one in enumerate(given):
            try:
                ids[UUID(one)] = None
            except (ValueError, AttributeError, TypeError):
                accepted = {"accepted": "the id of a workload"}
                problems.append(Problem("type", f"ids.{number}", accepted))
    if problems:
        raise Refused(problems)
    return ACTIONS[str(action)], list(ids)
