"""What the endpoints of workloads take and give, for the published description."""

from collections.abc import Iterable, Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from gangline.api import filtering
from gangline.api.paging import MAX_LIMIT, MAX_OFFSET
from gangline.api.schema import (
    Schema,
    between,
    component,
    components_of,
    errors,
    family,
    reference,
)
from gangline.spec.frameworks import CONFIGURATIONS
from gangline.spec.workload import SPEC, SpecModels
from gangline.tables.query import MAX_SEARCH
from workloads.api.workload_list import FIELDS, SORTS
from workloads.statuses import STATUSES
from workloads.wording import CODES

__all__ = ["errors"]

MAX_KEY = 100
TEXT: Schema = {"type": "string"}
TIME: Schema = {"type": "string", "format": "date-time"}
MAYBE_TIME: Schema = {"type": ["string", "null"], "format": "date-time"}
MAYBE_WHOLE: Schema = {"type": ["integer", "null"]}
UUID: Schema = {"type": "string", "format": "uuid"}
WHOLE: Schema = {"type": "integer"}
YES_NO: Schema = {"type": "boolean"}
ANY: Schema = {"type": "object", "additionalProperties": True}
PHASE: Schema = {
    "type": "string",
    "enum": [
        "Creating", "Initializing", "Resuming", "Pending", "Deleting", "Running", "Updating",
        "Stopped", "Stopping", "Degraded", "Failed", "Completed", "Terminating", "Unknown",
    ],
}  # fmt: skip
DESIRED: Schema = {"type": "string", "enum": ["Running", "Stopped", "Deleted"]}
STATUS: Schema = {"type": "string", "enum": list(STATUSES), "description": "The word people read."}
REASON_CODE: Schema = {
    "type": "string",
    "description": f"Machine-readable reason: {', '.join(CODES)}. Empty if there is none.",
}
CONFIGURATION: Schema = {"type": "string", "enum": list(CONFIGURATIONS)}


def spec_components(models: SpecModels = SPEC) -> dict[str, Schema]:
    """The two halves of a spec, from the same declaration that validates them."""
    return components_of({"WorkerSpec": models.worker, "MasterSpec": models.master})


family(spec_components)


def _object(required: tuple[str, ...] = (), **fields: Schema) -> Schema:
    body: Schema = {"type": "object", "properties": fields}
    return body | {"required": list(required)} if required else body


SUBMISSION = {
    "application/json": component(
        "DistributedCreationRequest",
        _object(
            ("name", "projectId", "clusterId"),
            name=TEXT
            | {"minLength": 1, "maxLength": 51, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
            projectId=TEXT | {"description": "Decimal id.", "pattern": "^[0-9]{1,15}$"},
            clusterId=UUID,
            templateId=UUID | {"type": ["string", "null"]},
            configuration=CONFIGURATION,
            spec=reference("WorkerSpec"),
            masterSpecSameAsWorker={"type": ["boolean", "null"]},
            masterSpec=reference("MasterSpec"),
            useGivenNameAsPrefix=YES_NO
            | {"description": "The name gets a suffix and may then have 45 characters."},
        )
        | {"additionalProperties": False},
    )
}
SUBMISSION["application/yaml"] = SUBMISSION["application/json"]
DISTRIBUTED = component(
    "DistributedWorkload",
    _object(
        ("name", "requestedName", "workloadId", "projectId", "clusterId", "createdBy", "createdAt",
         "desiredPhase"),
        name=TEXT, requestedName=TEXT, workloadId=UUID, projectId=TEXT, departmentId=TEXT,
        clusterId=UUID, createdBy=TEXT, createdAt=TIME, deletedAt=MAYBE_TIME,
        desiredPhase=DESIRED, actualPhase=PHASE, status=STATUS, reason=TEXT,
        reasonCode=REASON_CODE, configuration=CONFIGURATION, spec=reference("WorkerSpec"),
        masterSpecSameAsWorker=YES_NO, masterSpec=reference("MasterSpec"),
        copiedFrom=UUID | {"description": "The workload it was made from by Copy & edit."},
    ),
)  # fmt: skip
PREVIEW = component(
    "DistributedPreview",
    _object(
        ("name", "configuration", "spec", "sources", "totals", "forecast"),
        name=TEXT,
        configuration=CONFIGURATION,
        spec=reference("WorkerSpec"),
        masterSpec=reference("MasterSpec"),
        sources={"type": "object", "additionalProperties": _object(kind=TEXT, id=TEXT, name=TEXT)},
        notices={"type": "array", "items": TEXT},
        totals=_object(
            pods=WHOLE, workers=WHOLE, masters=WHOLE, gpus={"type": "number"},
            cpus={"type": "number"}, memoryBytes=WHOLE,
        ),
        forecast=_object(
            kind=TEXT | {"enum": ["starts", "waits", "cannot", "unknown"]}, sentence=TEXT
        ),
        cluster=_object(
            ("asked", "doubts"),
            asked={"type": "array", "items": TEXT, "description": "What the cluster would accept."},
            doubts={"type": "array", "items": TEXT, "description": "What could not be checked."},
        )
        | {"description": "With dryRun=All: what the cluster itself said."},
        native=_object(("kind", "title"), kind=TEXT, title=TEXT, text=TEXT, why=TEXT)
        | {
            "description": "What the cluster would get: manifest, batch script or plan. ``why``:"
            " it cannot be written now."
        },
    ),
)  # fmt: skip
DONE = component("Done", _object(("code", "message"), code=WHOLE, message=TEXT))
COUNT = component("Count", _object(("count",), count=WHOLE))
_REQUEST = _object(request={"type": "number"})
_LISTED = {
    "tenantId": WHOLE, "id": UUID, "name": TEXT, "type": TEXT, "distributedFramework": TEXT,
    "configuration": CONFIGURATION, "source": TEXT, "submittedBy": TEXT, "priority": WHOLE,
    "priorityClassName": TEXT, "category": TEXT, "clusterId": UUID, "projectId": TEXT,
    "projectName": TEXT, "departmentId": TEXT, "departmentName": TEXT, "namespace": TEXT,
    "createdAt": TIME, "updatedAt": TIME, "deletedAt": MAYBE_TIME, "startedAt": MAYBE_TIME,
    "completedAt": MAYBE_TIME, "desiredPhase": DESIRED, "phase": PHASE, "status": STATUS,
    "phaseMessage": TEXT, "reasonCode": REASON_CODE, "nextStep": TEXT, "phaseUpdatedAt": TIME,
    "contactLostAt": MAYBE_TIME, "k8sPhase": TEXT, "k8sPhaseUpdatedAt": TIME,
    "conditions": {"type": "array", "items": ANY},
    "runningPods": WHOLE, "requestedPods": _object(number=WHOLE),
    "workloadRequestedResources": _object(gpu=_REQUEST),
    "allocatedResources": _object(gpu={"type": "number"}),
    "actionsSupport": _object(delete=YES_NO, suspend=YES_NO, resume=YES_NO)
    | {"description": "What its state allows; permissions are checked on request."},
    "seq": WHOLE,
}  # fmt: skip
ROW = component("Workload", _object(tuple(_LISTED), **_LISTED))
WORKLOADS = component(
    "Workloads",
    _object(
        ("workloads",),
        workloads={"type": "array", "items": ROW},
        next=WHOLE | {"description": "Offset of the next page; absent on the last."},
        cursor=TEXT | {"description": "For the next page, however far; absent on the last."},
    ),
)
_BOTH = _object(request={}, limit={})
_DETAILED = _LISTED | {
    "podsRequestedResources": _object(gpu=_BOTH, cpu=_BOTH, cpuMemory=_BOTH),
    "images": {"type": "array", "items": TEXT}, "command": TEXT, "arguments": TEXT,
    "environmentVariables": {"type": "object", "additionalProperties": TEXT},
    "attempt": WHOLE, "desiredBy": TEXT, "observedAt": MAYBE_TIME,
}  # fmt: skip
WORKLOAD = component("WorkloadDetailed", _object(tuple(_DETAILED), **_DETAILED))
_POD = {
    "id": TEXT, "name": TEXT, "role": TEXT, "index": WHOLE, "rank": MAYBE_WHOLE, "attempt": WHOLE,
    "workloadId": UUID, "workloadName": TEXT, "clusterId": UUID, "projectId": TEXT,
    "projectName": TEXT, "tenantId": WHOLE, "priorityClassName": TEXT, "nodeName": TEXT,
    "createdAt": TIME, "completedAt": MAYBE_TIME, "updatedAt": TIME, "k8sPhase": TEXT,
    "k8sPhaseUpdatedAt": TIME, "reason": TEXT, "exitCode": MAYBE_WHOLE,
    "signal": MAYBE_WHOLE, "peakMemoryBytes": MAYBE_WHOLE, "restarts": WHOLE,
    "requestedResources": _object(gpu=_REQUEST),
    "containers": {
        "type": "array", "items": _object(name=TEXT, image=TEXT, startedAt=MAYBE_TIME)
    },
}  # fmt: skip
_EVENT = {
    "id": TEXT, "createdAt": TIME, "lastSeenAt": TIME, "count": WHOLE, "type": TEXT,
    "severity": TEXT, "clusterId": UUID, "message": TEXT, "reason": TEXT, "source": TEXT,
    "attempt": WHOLE,
    "involvedObject": _object(uid=UUID, kind=TEXT, name=TEXT, namespace=TEXT),
}  # fmt: skip
_RECORD = _object(
    ("meta", "spec"),
    meta=_object(creationTimestamp=TIME, type=TEXT | {"enum": ["Event", "PhaseUpdate"]}),
    spec=_object(event=reference("Event"), phaseUpdate=_object(phase=TEXT, phaseMessage=TEXT)),
)


def _page_of(name: str, key: str, item: Schema) -> Schema:
    return component(
        name, _object((key,), **{key: {"type": "array", "items": item}, "next": WHOLE})
    )


PODS = _page_of("Pods", "pods", component("Pod", _object(tuple(_POD), **_POD)))
EVENTS = _page_of("Events", "events", component("Event", _object(tuple(_EVENT), **_EVENT)))
HISTORY = _page_of("History", "records", component("HistoryRecord", _RECORD))


def _query(name: str, kind: Any, description: str, **more: Any) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, **more)


PAGE = [
    _query("offset", between(0, MAX_OFFSET), f"First item, 0 to {MAX_OFFSET}."),
    _query("limit", between(1, MAX_LIMIT), f"Items of a page, 1 to {MAX_LIMIT}; 50 by default."),
]
SEARCH = _query("search", TEXT | {"maxLength": MAX_SEARCH}, "Text in the visible columns.")
DELETED = _query("deleted", OpenApiTypes.BOOL, "Deleted ones instead of those that are there.")
SORT_ORDER = _query("sortOrder", OpenApiTypes.STR, "asc or desc.", enum=["asc", "desc"])


def filtered(fields: Iterable[str]) -> list[OpenApiParameter]:
    """What a list and its count are narrowed by: ``filterBy`` knows the ``fields``."""
    says = (
        "Conditions joined by commas, such as status==Running,name=^digits. Operators: == != <= >= "
        f"=@ !@ =^ =$. Fields: {', '.join(fields)}."
    )
    return [DELETED, _query("filterBy", TEXT | {"pattern": filtering.PATTERN}, says), SEARCH]


def sorted_by(fields: Iterable[str]) -> list[OpenApiParameter]:
    return [_query("sortBy", OpenApiTypes.STR, "Field to sort by.", enum=list(fields)), SORT_ORDER]


def one_of(name: str, words: Iterable[str], says: str) -> OpenApiParameter:
    return _query(name, OpenApiTypes.STR, says, enum=list(words))


COUNT_PARAMETERS = filtered([*FIELDS, "type"])
LIST_PARAMETERS = [
    *PAGE,
    _query("cursor", OpenApiTypes.STR, "The cursor of the page before."),
    *sorted_by(SORTS),
    *COUNT_PARAMETERS,
]
_LINE: dict[str, Schema] = {
    "id": TEXT, "pod": TEXT, "time": TEXT, "stream": TEXT, "text": TEXT, "isCut": YES_NO,
}  # fmt: skip
_REPLACES = YES_NO | {"description": "The text replaces the whole line instead of extending it."}
LOG = component(
    "Log",
    _object(
        ("attempt", "pods", "lines", "grown", "before", "after", "hasOlder", "hasNewer", "ended"),
        attempt=WHOLE,
        pods={"type": "array", "items": TEXT},
        lines={"type": "array", "items": _object(tuple(_LINE), **_LINE)},
        grown={
            "type": "array",
            "items": _object((*_LINE, "replaces"), **_LINE, replaces=_REPLACES),
            "description": "What was added to lines of earlier answers, by id.",
        },
        before=TEXT | {"description": "Place before the first line."},
        after=TEXT | {"description": "Place after the last line: request from here on to follow."},
        hasOlder=YES_NO,
        hasNewer=YES_NO,
        ended=YES_NO | {"description": "No lines will follow."},
        isPartial=YES_NO | {"description": "There are more pods than are merged."},
    ),
)  # fmt: skip
LOG_PARAMETERS = [
    _query("pod", OpenApiTypes.STR, "A role or one pod, such as worker-0; all without it."),
    _query("attempt", between(1, 999_999_999), "Number of the attempt; the newest by default."),
    _query("limit", between(1, 2000), "Lines, 1 to 2000; 500 by default."),
    _query("after", OpenApiTypes.STR, "A place: the lines after it."),
    _query("before", OpenApiTypes.STR, "A place: the lines before it."),
    _query("start", OpenApiTypes.BOOL, "The first lines instead of the newest."),
]
FILTERED_EXACTLY = _query("filterBy", TEXT, "Conditions such as name==low, joined by commas.")
_CATEGORY = {"id": UUID, "name": TEXT, "description": TEXT}
CATEGORY = component("WorkloadCategory", _object(tuple(_CATEGORY), **_CATEGORY))
CATEGORIES = _page_of("WorkloadCategories", "categories", CATEGORY)
_TYPE = {
    "id": UUID, "name": TEXT, "group": TEXT, "categoryId": UUID, "categoryName": TEXT,
    "priorityId": UUID, "priorityName": TEXT,
}  # fmt: skip
TYPE_OF = component("WorkloadType", _object(tuple(_TYPE), **_TYPE))
TYPES = _page_of("WorkloadTypes", "types", TYPE_OF)
_PRIORITY = {"id": UUID, "name": TEXT, "value": WHOLE, "source": TEXT}
PRIORITIES = _page_of(
    "WorkloadPriorities",
    "priorities",
    component("WorkloadPriority", _object(tuple(_PRIORITY), **_PRIORITY)),
)
BATCH = {
    "application/json": component(
        "WorkloadBatch",
        _object(
            ("ids", "action"),
            ids={"type": "array", "items": UUID, "minItems": 1, "maxItems": 500},
            action=TEXT | {"enum": ["delete", "suspend", "resume"]},
        )
        | {"additionalProperties": False},
    )
}
BATCH_RESULT = component(
    "WorkloadBatchResult",
    _object(
        ("id", "succeeded", "failed"),
        id=UUID | {"description": "Of this answer."},
        succeeded={"type": "array", "items": UUID},
        failed={
            "type": "array",
            "items": _object(("id", "code", "message"), id=UUID, code=WHOLE, message=TEXT),
        },
    ),
)
DRY_RUN = _query(
    "dryRun",
    OpenApiTypes.STR,
    "Store nothing; answer the effective spec. ``All``: check with the cluster as well.",
    enum=["true", "false", "1", "0", "All"],
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    TEXT | {"minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$"},
    OpenApiParameter.HEADER,
    description="Makes repeating harmless for a day: the same key and body give the same workload.",
)

DEFAULT_SAMPLES, MOST_SAMPLES = 20, 1000


def metric_parameters(types: Sequence[str]) -> list[OpenApiParameter]:
    """Those of the metrics of a workload or a pod."""
    samples = between(0, MOST_SAMPLES) | {"default": DEFAULT_SAMPLES}
    listed = f"Metrics, joined by commas: {', '.join(types)}."
    return [
        _query("metricType", TEXT, listed, required=True),
        _query("start", TIME, "From when on.", required=True),
        _query("end", TIME, "Until when.", required=True),
        _query(
            "numberOfSamples",
            samples,
            f"Slots of the same length, 0 to {MOST_SAMPLES}; 0: as finely as it was recorded."
            " A slot in which nothing is known is left out.",
        ),
    ]


_VALUE: dict[str, Schema] = {"value": TEXT, "timestamp": TIME}
_MEASUREMENT = _object(
    ("type", "values"),
    type=TEXT,
    labels={"type": "object", "additionalProperties": TEXT},
    values={"type": "array", "items": _object(tuple(_VALUE), **_VALUE)},
)
METRICS = component(
    "Metrics",
    _object(
        ("measurements",),
        measurements={"type": "array", "items": component("Measurement", _MEASUREMENT)},
    ),
)
