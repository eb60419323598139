"""What a cluster has against an object: each objection, and the place in the object. Pure.

The API server names fields in ``details.causes``; webhooks, quotas, limit ranges and strict
decoding name them in their text. https://kubernetes.io/docs/reference/using-api/api-concepts/ and
https://kubernetes.io/docs/concepts/policy/
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gangline.lib import sentences

from . import errors, quantities, wording
from .client import Answer

CONTAINER = "spec.containers[0]"
"""The main container is the first one everywhere."""
CLAIM_SIZE = "spec.resources.requests[storage]"
"""Of a claim on storage."""
MOST = 20
"""Of one answer: nobody reads more."""


@dataclass(frozen=True, slots=True)
class Objection:
    """``place`` is the path as the cluster writes it, empty where it names none."""

    words: str
    place: str = ""
    accepted: str = ""
    """What would be taken, where the cluster says so."""


def objections(answer: Answer) -> tuple[Objection, ...]:
    """Everything that an answer holds against the object; at least one for a refusal."""
    if errors.missing_right(answer):
        return (Objection(errors.words(answer)),)
    found = list(_causes(answer)) or list(_in_text(errors.core(answer)))
    cleaned = [_cleaned(_of_resource(each)) for each in found]
    return tuple(dict.fromkeys(cleaned))[:MOST] or (Objection(errors.words(answer)),)


def _cleaned(objection: Objection) -> Objection:
    """A cluster's text is anybody's text, and so is what a place is called."""
    words, accepted = wording.cleaned(objection.words), wording.cleaned(objection.accepted)
    return Objection(words, sentences.one_line(objection.place), accepted)


_LIMITED = re.compile(
    r"must be (?P<how>less than or )?equal to (?P<what>\S+) limit of (?P<most>\S+)"
)


def _of_resource(objection: Objection) -> Objection:
    """A request that is above its limit: the API server names the resource in its words alone."""
    match = _LIMITED.search(objection.words)
    if match is None or not objection.place.endswith("requests"):
        return objection
    word = "at most" if match["how"] else "exactly"
    most = match["most"].rstrip(".,;]")
    return Objection(objection.words, f"{objection.place}[{match['what']}]", f"{word} {most}")


def _causes(answer: Answer) -> Iterator[Objection]:
    details = answer.body.get("details") if isinstance(answer.body, dict) else None
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else ():
        if not isinstance(cause, dict):
            continue
        place = str(cause.get("field") or "").lstrip(".")
        if place and place != "<nil>":
            message = str(cause.get("message") or "")
            # A schema's message says the place once more.
            yield Objection(message.replace(f"{place} in body ", ""), place)


def _in_text(text: str) -> list[Objection]:
    return next(filter(None, (list(read(text)) for read in _READERS)), [])


_UNKNOWN_FIELD = re.compile(r'(unknown|duplicate) field "([^"]+)"')


def _strict(text: str) -> Iterator[Objection]:
    for match in _UNKNOWN_FIELD.finditer(text):
        yield Objection(f"{match[1]} field {match[2]}", match[2], "a field that the cluster knows")


_FIELD_ERROR = re.compile(r"(?:(?<=^)|(?<=[\s\[]))((?:spec|metadata)(?:[.\[][^\s:]*)?): ")


def _field_errors(text: str) -> Iterator[Objection]:
    """``spec.a.b: Required value: …, metadata.name: Invalid value: …``"""
    starts = list(_FIELD_ERROR.finditer(text))
    ends = [match.start() for match in starts[1:]]
    for match, end in zip(starts, [*ends, len(text)], strict=False):
        yield Objection(text[match.end() : end].rstrip(" ,;]"), match[1])


_RANGE = re.compile(
    r"(?P<least>minimum|maximum) (?P<what>\S+) usage per (?P<of>\w+) is (?P<bound>[^\s,]+?)"
    r"(?:\.\s+No (?P<lacks>request|limit) is specified|, but (?P<side>request|limit) is [^\s,\]]+)"
    r"|(?P<ratio>\S+) max limit to request ratio per \w+ is [^\s,]+, "
    r"but (?:no (?P<none>request|limit) is specified[^,\]]*|[^,\]]+)"
)


def _limit_range(text: str) -> Iterator[Objection]:
    """https://kubernetes.io/docs/concepts/policy/limit-range/"""
    for match in _RANGE.finditer(text):
        if what := match["ratio"]:
            none = match["none"]
            place = f"{CONTAINER}.resources.{none or 'limit'}s[{what}]"
            yield Objection(match[0], place, f"a {none}" if none else "a smaller limit")
            continue
        side = match["side"] or match["lacks"]
        word = "at least" if match["least"] == "minimum" else "at most"
        place = f"{CONTAINER}.resources.{side}s[{match['what']}]"
        if match["of"] == "PersistentVolumeClaim":
            place = CLAIM_SIZE
        yield Objection(match[0], place, f"{word} {match['bound']}")


_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>\S+), requested: (?P<requested>\S+), used: (?P<used>\S+), "
    r"limited: (?P<limited>\S+)"
)
_UNSAID = re.compile(r"failed quota: (?P<name>[^:\s]+): must specify (?P<what>.+)")


def _quota(text: str) -> Iterator[Objection]:
    """https://kubernetes.io/docs/concepts/policy/resource-quotas/"""
    for match in _EXCEEDED.finditer(text):
        requested, used, limited = (
            dict(part.split("=", 1) for part in match[key].strip("]").split(",") if "=" in part)
            for key in ("requested", "used", "limited")
        )
        for resource, wanted in requested.items():
            have, most = used.get(resource, "0"), limited.get(resource, "0")
            over = quantities.amount(wanted) + quantities.amount(have) > quantities.amount(most)
            if over:
                words = (
                    f"exceeded quota {match['name']}: requested {resource}={wanted}, "
                    f"used {have}, limited to {most}"
                )
                yield Objection(words, _of_quota(resource), f"at most {most} minus what is used")
    for match in _UNSAID.finditer(text):
        for part in match["what"].split(";"):
            resource = part.split(" for:")[0].strip()
            words = f"quota {match['name']} must specify {resource}"
            yield Objection(words, _of_quota(resource), "a value")


def _of_quota(resource: str) -> str:
    """``limits.memory`` and ``requests.nvidia.com/gpu``; cpu alone counts requests.

    Storage is of claims, of all classes or of one: ``fast.storageclass.storage.k8s.io/requests…``.
    """
    if resource.rpartition("/")[2] == "requests.storage":
        return CLAIM_SIZE
    side, _, rest = resource.partition(".")
    if side in ("requests", "limits") and rest:
        return f"{CONTAINER}.resources.{side}[{rest}]"
    if resource in ("cpu", "memory"):
        return f"{CONTAINER}.resources.requests[{resource}]"
    return ""


_SIGNS = (
    (re.compile(r"no PriorityClass with name \S+ was found"), "spec.priorityClassName"),
    (re.compile(r"RuntimeClass \S+ not found"), "spec.runtimeClassName"),
)
"""Admission that says in words of its own which field it means."""


def _signs(text: str) -> Iterator[Objection]:
    for sign, place in _SIGNS:
        if sign.search(text):
            yield Objection(text, place)


_POINTED = re.compile(r"/((?:spec|metadata)/[\w./~-]+)")


def _pointed(text: str) -> Iterator[Objection]:
    """A policy engine's JSON pointer somewhere in its text; one objection in any case."""
    match = _POINTED.search(text)
    place = ".".join(match[1].strip("/").split("/")) if match else ""
    if text:
        yield Objection(text, place)


_READERS: tuple[Callable[[str], Iterator[Objection]], ...] = (
    _strict,
    _quota,
    _limit_range,
    _signs,
    _field_errors,
    _pointed,
)
