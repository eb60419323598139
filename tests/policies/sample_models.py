"""Policies in one line, and a spec with fields that the product does not have yet."""

from typing import Annotated, Any

import yaml
from pydantic import Field

from gangline.policies.document import InvalidPolicy, PolicyDocument
from gangline.policies.effective import EffectivePolicy, Layer, effective_policy
from gangline.policies.engine import Request, Resolution, resolve
from gangline.policies.parser import parse
from gangline.policies.wording import line_of
from gangline.spec.base import Default, ItemKey, Only, SpecModel, Ui
from gangline.spec.sources import Value
from gangline.spec.types import DurationMark, Text
from gangline.spec.workload import SPEC, ReplicaSpec, SpecModels, WorkerSpec


class ExtendedResource(SpecModel):
    """One kind of device and how much of it."""

    resource: Annotated[Text, Ui("Resource")]
    quantity: Annotated[Text, Ui("Quantity")]


_UID: Any = Annotated[int | None, Field(ge=0, le=2**31), Ui("UID", section="environment")]
_TTY: Any = Annotated[bool | None, Ui("TTY", section="environment")]
_SHARE: Any = Annotated[float | None, Field(gt=0, le=1), Ui("Share", section="compute")]
_DEVICES: Any = Annotated[
    list[ExtendedResource] | None,
    Field(max_length=5),
    Ui("Extended resources", section="compute", item="extended resource"),
    ItemKey("resource"),
]
_SLOTS: Any = Annotated[
    int | None,
    Field(ge=1, le=8),
    Ui("Slots per worker", section="compute"),
    Only(("MPI",)),
    Default(1),
]
_PAUSE: Any = Annotated[
    int | None, DurationMark(), Field(ge=0, le=600), Ui("Pause", section="general")
]


class SampleReplica(ReplicaSpec):
    """A replica with more kinds of field."""

    run_as_uid: _UID = None
    tty: _TTY = None
    share: _SHARE = None
    extended_resources: _DEVICES = None
    pause: _PAUSE = None


class SampleWorker(WorkerSpec, SampleReplica):
    """Workers with more kinds of field."""

    slots_per_worker: _SLOTS = None


SAMPLE = SpecModels(worker=SampleWorker, master=SampleReplica)


def document(models: SpecModels = SAMPLE, **content: Any) -> PolicyDocument:
    """A document from ``defaults=`` and ``rules=``."""
    return parse(yaml.safe_dump(content, sort_keys=False), models)


def refused(text: str) -> list[tuple[int, str, str]]:
    """Line, path and message of everything wrong in a document."""
    try:
        parse(text, SAMPLE)
    except InvalidPolicy as error:
        return [(line_of(p), p.path, p.message) for p in error.problems]
    return []


def layered(*documents: PolicyDocument) -> list[Layer]:
    """Up to four documents as tenant, cluster c1, department vision and project team-a."""
    scopes = (
        ("tenant", "acme"),
        ("cluster", "c1"),
        ("department", "vision"),
        ("project", "team-a"),
    )
    return [
        Layer(kind, name, content) for (kind, name), content in zip(scopes, documents, strict=False)
    ]


def policy(*documents: PolicyDocument, models: SpecModels = SAMPLE) -> EffectivePolicy:
    return effective_policy(layered(*documents), models)


def say(rules: EffectivePolicy | None = None, /, *, sent: Any = None, **said: Any) -> Resolution:
    """Resolve ``worker__compute__gpuDevicesRequest=4``; ``sent`` holds the rest of the request."""
    entries = {
        path.replace("__", "."): value if isinstance(value, Value) else Value(value)
        for path, value in said.items()
    }
    return resolve(Request(**{"given": entries, **(sent or {})}), rules or policy())


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"value", "from"}


def messages(resolution: Resolution) -> list[tuple[str, str, str]]:
    """Field, message and source of every problem."""
    return [(p.field_id, p.message, p.source) for p in resolution.problems]


__all__ = ["SAMPLE", "SPEC", "document", "layered", "messages", "policy", "refused", "say"]
