"""The endpoints of workloads: read the request, call a service or a selector, present."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangline.access.actor import Actor, acting
from gangline.accounts.models import User
from gangline.api.paging import BadQuery, Page, answer, flag, known_only, page_of
from gangline.api.parsing import StrictJSONParser, StrictYAMLParser
from gangline.api.throttling import Submissions
from gangline.api.unchanged import unless_unchanged
from gangline.drivers.kind import Unconnectable
from gangline.spec.problems import InvalidSpec
from workloads.api import representation, shapes, workload_list
from workloads.models import Attempt, Workload
from workloads.selectors.details import visible_workload
from workloads.services import bodies, lifecycle, submission
from workloads.services.dry_run import dry_run, native_text
from workloads.services.submission_types import Preview

ALL = "All"
"""As Kubernetes calls a dry run that goes through everything but the write."""
_REPLAYED = {"Idempotent-Replayed": "true"}


def user_of(request: Request) -> User:
    user = request.user
    if not isinstance(user, User):
        raise TypeError("the permission classes let a stranger in")
    return user


def idempotency_key(request: Request) -> str:
    """The header, or the empty string. Visible ASCII only, so that it can be logged."""
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > shapes.MAX_KEY or any(not "!" <= c <= "~" for c in key):
        raise BadQuery(f"Idempotency-Key must have 1 to {shapes.MAX_KEY} visible ASCII characters.")
    return key


class DistributedList(APIView):
    """Create distributed workloads."""

    parser_classes = (StrictJSONParser, StrictYAMLParser)
    throttle_classes = (*APIView.throttle_classes, Submissions)

    @extend_schema(
        operation_id="createDistributed",
        parameters=[shapes.IDEMPOTENCY_KEY, shapes.DRY_RUN],
        request=shapes.SUBMISSION,
        responses={
            202: shapes.DISTRIBUTED,
            200: shapes.PREVIEW,
            **shapes.errors(400, 403, 404, 409, 413, 415, 422, 429, 503),
        },
    )
    def post(self, request: Request) -> Response:
        """Submit a workload. With ``dryRun`` nothing is stored; the effective spec is shown.

        ``dryRun=All`` asks the cluster as well. What it would refuse is 400 with its own words at
        the fields; what could not be asked is in ``cluster.doubts``, and is no consent.
        """
        known_only(request, frozenset({"dryRun"}))
        actor = acting(request)
        key = idempotency_key(request)
        asked = bodies.read(actor.user, request.data)
        with_cluster = request.query_params.get("dryRun") == ALL
        if with_cluster or flag(request, "dryRun"):
            return self._dry_run(actor, asked, with_cluster=with_cluster)
        done = submission.submit(
            actor=actor,
            request=asked,
            key=key,
            request_hash=bodies.hash_of("submit", request.data) if key else "",
        )
        attempt = done.attempt or _newest_attempt(done.workload)
        body = representation.distributed(done.workload, attempt)
        headers = {"Location": f"/api/v1/workloads/distributed/{done.workload.pk}"}
        return Response(body, 202, headers=headers | (_REPLAYED if done.replayed else {}))

    def _dry_run(
        self, actor: Actor, asked: submission.SubmissionRequest, *, with_cluster: bool
    ) -> Response:
        preview = submission.checked_preview(actor=actor, request=asked)
        if preview.problems:
            raise InvalidSpec(preview.problems)
        body = representation.previewed(preview, asked.name) | _native(preview, asked)
        if not with_cluster:
            return Response(body)
        told = dry_run(preview, asked)
        if told.problems:
            raise InvalidSpec(list(told.problems))
        return Response(body | {"cluster": representation.dry_run_answer(told)})


def _native(preview: Preview, asked: submission.SubmissionRequest) -> dict[str, Any]:
    """What the cluster would get, where it can be written down now."""
    engine = preview.cluster.engine if preview.cluster else None
    if engine is None or not engine.native_word:
        return {}
    try:
        text = native_text(preview, asked, uuid4())
    except Unconnectable as why:
        return {"native": {"kind": engine.key, "title": engine.native_word, "why": str(why)}}
    return {"native": {"kind": engine.key, "title": engine.native_word, "text": text}}


class Distributed(APIView):
    """One distributed workload."""

    @extend_schema(
        operation_id="getDistributed",
        responses={200: shapes.DISTRIBUTED, **shapes.errors(404)},
    )
    def get(self, request: Request, workload_id: UUID) -> Response:
        """The workload as submitted, with the values that its newest attempt runs."""
        known_only(request, frozenset())
        workload = visible_workload(user_of(request), workload_id, even_deleted=True)
        return Response(representation.distributed(workload, _newest_attempt(workload)))

    @extend_schema(
        operation_id="deleteDistributed", responses={202: shapes.DONE, **shapes.errors(403, 404)}
    )
    def delete(self, request: Request, workload_id: UUID) -> Response:
        """Stop it if it runs and remove everything of it. The name is free once it is gone."""
        workload = lifecycle.delete(actor=acting(request), workload_id=workload_id)
        return _done(f"{workload.name} is being deleted.")


class Suspend(APIView):
    """Stop."""

    @extend_schema(
        operation_id="suspendDistributed",
        request=None,
        responses={202: shapes.DONE, **shapes.errors(403, 404, 409)},
    )
    def post(self, request: Request, workload_id: UUID) -> Response:
        """End its processes and keep the record. Stopping a stopped one changes nothing."""
        workload = lifecycle.stop(actor=acting(request), workload_id=workload_id)
        return _done(f"{workload.name} is being stopped.")


class Resume(APIView):
    """Start again."""

    @extend_schema(
        operation_id="resumeDistributed",
        request=None,
        responses={202: shapes.DONE, **shapes.errors(403, 404, 409)},
    )
    def post(self, request: Request, workload_id: UUID) -> Response:
        """Start a stopped workload as it was submitted. A running one stays as it is."""
        workload = lifecycle.resume(actor=acting(request), workload_id=workload_id)
        return _done(f"{workload.name} starts again.")


class Rerun(APIView):
    """Run again from the start."""

    throttle_classes = (*APIView.throttle_classes, Submissions)

    @extend_schema(
        operation_id="rerunDistributed",
        parameters=[shapes.IDEMPOTENCY_KEY],
        request=None,
        responses={202: shapes.DISTRIBUTED, **shapes.errors(400, 403, 404, 409, 422)},
    )
    def post(self, request: Request, workload_id: UUID) -> Response:
        """Make a new attempt of an ended workload, judged by today's policy."""
        actor = acting(request)
        key = idempotency_key(request)
        fingerprint = bodies.hash_of("rerun", str(workload_id)) if key else ""
        is_repeated = submission.replayed(actor.user, key, fingerprint) is not None
        workload = lifecycle.rerun(
            actor=actor, workload_id=workload_id, key=key, request_hash=fingerprint
        )
        body = representation.distributed(workload, _newest_attempt(workload))
        return Response(body, 202, headers=_REPLAYED if is_repeated else None)


class WorkloadList(APIView):
    """All workloads that the caller may see."""

    @extend_schema(
        operation_id="listWorkloads",
        parameters=shapes.LIST_PARAMETERS,
        responses={200: shapes.WORKLOADS, **shapes.errors(400)},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """A page of workloads. Beyond offset 10 000 go on with ``cursor``.

        The answer has an ``ETag``: sent back as ``If-None-Match`` it is 304 while nothing changes.
        """
        places, heads = workload_list.seen_by(user_of(request))
        if flag(request, "deleted"):
            # Nothing numbers what retention takes away.
            return Response(workload_list.listing(places, request))
        return unless_unchanged(
            request, (heads, places), lambda: workload_list.listing(places, request)
        )


class WorkloadCount(APIView):
    """Number of workloads."""

    @extend_schema(
        operation_id="countWorkloads",
        parameters=shapes.COUNT_PARAMETERS,
        responses={200: shapes.COUNT, **shapes.errors(400)},
    )
    def get(self, request: Request) -> Response:
        """How many workloads the filters let through."""
        return Response(
            {"count": workload_list.count(workload_list.places_of(user_of(request)), request)}
        )


class WorkloadOne(APIView):
    """One workload in detail."""

    @extend_schema(
        operation_id="getWorkload", responses={200: shapes.WORKLOAD, **shapes.errors(404)}
    )
    def get(self, request: Request, workload_id: UUID) -> Response:
        """The row of the list with resources, image and command."""
        known_only(request, frozenset())
        workload = visible_workload(user_of(request), workload_id, even_deleted=True)
        project = workload.project
        places = {project.pk: (project.department.pk, project.department.name, project.namespace)}
        return Response(representation.detailed(workload, _newest_attempt(workload), places))


class WorkloadEvents(APIView):
    """Events of one workload."""

    @extend_schema(
        operation_id="listWorkloadEvents",
        parameters=[*shapes.PAGE, shapes.SORT_ORDER],
        responses={200: shapes.EVENTS, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, workload_id: UUID) -> Response:
        """What happened, newest first unless ``sortOrder=asc``."""
        return _events(request, workload_id, "events", representation.event)


class WorkloadHistory(APIView):
    """History of one workload."""

    @extend_schema(
        operation_id="listWorkloadHistory",
        parameters=[*shapes.PAGE, shapes.SORT_ORDER],
        responses={200: shapes.HISTORY, **shapes.errors(400, 404)},
    )
    def get(self, request: Request, workload_id: UUID) -> Response:
        """Events and changes of the phase, newest first unless ``sortOrder=asc``."""
        return _events(request, workload_id, "records", representation.history)


def _events(
    request: Request,
    workload_id: UUID,
    key: str,
    present: Callable[[Any, Workload], dict[str, Any]],
) -> Response:
    known_only(request, frozenset({"offset", "limit", "sortOrder"}))
    page: Page = page_of(request)
    order = request.query_params.get("sortOrder", "desc")
    if order not in ("asc", "desc"):
        raise BadQuery("sortOrder must be asc or desc.")
    workload = visible_workload(user_of(request), workload_id, even_deleted=True)
    sign = "-" if order == "desc" else ""
    rows = workload.events.order_by(f"{sign}at", f"{sign}id")
    found = [present(r, workload) for r in rows[page.offset : page.offset + page.limit + 1]]
    return Response(answer(key, found, page))


def _newest_attempt(workload: Workload) -> Attempt:
    return Attempt.objects.defer("rendered").get(workload=workload, no=workload.attempt_no)


def _done(message: str) -> Response:
    return Response({"code": 202, "message": message}, 202)
