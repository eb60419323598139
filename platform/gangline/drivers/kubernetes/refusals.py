"""What a cluster has against an object, as problems at fields of the form. Pure.

The API server names places in ``details.causes``; webhooks, quotas, limit ranges and strict
decoding name them in their text. `mapping` says which field stands at which place of a pod; what
it does not know is a problem of the whole. https://kubernetes.io/docs/concepts/policy/
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangline.drivers.base import AttemptRef, Submission
from gangline.lib import sentences
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import role_of
from gangline.spec.problems import Problem, Role, shown
from gangline.spec.typed import json_at
from gangline.spec.values import item_label
from gangline.spec.words import lowered
from gangline.spec.workload import SPEC, ReplicaSpec

from . import errors, mapping, quantities, tool_services, volumes, wording
from .client import Answer
from .kinds import kind_of
from .mapping import Place
from .resources import CLAIMS

CONTAINER = "spec.containers[0]"
"""The main container is the first one everywhere."""
CLAIM_SIZE = "spec.resources.requests[storage]"
MOST = 20
"""Of one answer: nobody reads more."""
_KEY = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_CLAIM_FIELDS = {
    "resources": "claimInfo.size",
    "storageClassName": "claimInfo.storageClass",
    "volumeMode": "claimInfo.volumeMode",
}
"""Attributes of a volume, by the place in the spec of its claim."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """``place`` is the path as the cluster writes it, empty where it names none."""

    words: str
    place: str = ""
    accepted: str = ""
    """What would be taken, where the cluster says so."""


def problems(ref: AttemptRef, within: Place, answer: Answer) -> tuple[Problem, ...]:
    """Everything that a refusal of the object at ``within`` of ``ref.rendered`` says."""
    return once(_problem(ref, within, refusal) for refusal in refusals(answer))


def once(found: Iterable[Problem]) -> tuple[Problem, ...]:
    """The same words about the same field once, however many pods they are about."""
    return tuple({(p.role, p.path, p.code, p.params.get("said")): p for p in found}.values())


def refusals(answer: Answer) -> tuple[Refusal, ...]:
    """Everything that an answer holds against the object; at least one."""
    if errors.missing_right(answer):
        return (Refusal(errors.words(answer)),)
    read = (list(way(errors.core(answer))) for way in _READERS)
    found = list(_causes(answer)) or next(filter(None, read), [])
    cleaned = [_cleaned(_of_resource(refusal)) for refusal in found]
    return tuple(dict.fromkeys(cleaned))[:MOST] or (Refusal(errors.words(answer)),)


def _problem(ref: AttemptRef, within: Place, refusal: Refusal) -> Problem:
    place = (*within, *(a or b for a, b in _KEY.findall(refusal.place) if a or b))
    accepted = refusal.accepted or "what the cluster asks for in these words"
    found = _at(ref, place, refusal.words)
    if found is None:
        at = f"{refusal.place}: " if refusal.place else ""
        return Problem.of(
            Role.WORKLOAD, "", "cluster:refuses", said=f"{at}{refusal.words}", accepted=accepted,
            label="The cluster",
        )  # fmt: skip
    return found.at(code="cluster:not_accepted", said=refusal.words, accepted=accepted)


def _at(ref: AttemptRef, place: Place, words: str) -> Problem | None:
    """The field, or the item of a list, that stands at ``place``; None for no field of the form."""
    if (submission := ref.submission) is None:
        return None
    kind = kind_of(submission.framework, submission.worker.launcher)
    if place[:1] == ("job",):
        place = ("job", *kind.at(ref.rendered["job"], place[1:]))
    roles = {native: role_of(kind.framework, own) for own, native in kind.roles.items()}
    match place:
        case ("job", "metadata", "name", *_):
            name = submission.name
            return Problem.of(Role.WORKLOAD, "name", "", value=name, label="Name")
        case ("job", "metadata", "labels" | "annotations", *_):  # as those of its workers
            return _of_pod(submission, Role.WORKER, place[1:], words)
        case ("dependents", index, *inside):
            return _of_claim(submission, ref.rendered["dependents"][int(index)], inside)
        case ("job", "spec", kind.replicas, role, "replicas") if role in roles:
            path = roles[role].counts[0] if roles[role].counts else "numWorkers"
            return Problem.of(Role.WORKER, path, "", value=json_at(submission.worker, path))
        case ("job", "spec", kind.replicas, role, "template", *inside) if role in roles:
            template = next(t for name, _, t in kind.parts(ref.rendered["job"]) if name == role)
            return _of_pod(submission, roles[role].half, _named(template, inside), words)
    return None


def _of_pod(submission: Submission, role: Role, place: Place, words: str) -> Problem | None:
    """The field at a place of a pod template; the first that has a value, of several."""
    known = [(path, _role(path, role)) for path in mapping.fields_at(place)]
    values = [(path, at, json_at(_spec(submission, at), path)) for path, at in known]
    given = [(path, at, value) for path, at, value in values if value not in (None, [], {})]
    lists: list[Problem] = []
    for path, at, value in given or values:
        if not isinstance(value, list):
            simple = isinstance(value, str | int | float)
            own = Problem.of(at, path, "", value=value if simple else None)
            return lists[0] if lists else own
        if found := _item(at, path, value, place, words):
            return found
        if path != mapping.EXTENDED or place[-1] in ("limits", "requests"):
            lists.append(Problem.of(at, path, ""))
    return lists[0] if lists else None


def _item(
    role: Role, path: str, items: list[Mapping[str, Any]], place: Place, words: str
) -> Problem | None:
    """The item that the place or the words name."""
    spec = catalogue(SPEC.master if role is Role.MASTER else SPEC.worker)[path]
    for index, item in enumerate(items):
        key = str(item.get(spec.item_key, ""))
        is_quoted = any(f'"{value}"' in words for value in item.values())
        is_placed = any(part == key or part.endswith(f"-{key}") for part in place)
        if is_quoted or is_placed or str(index) in place:
            attribute = place[-1] if spec.attribute(place[-1]) else spec.item_key
            return _one(role, path, items, index, attribute)
    return None


def _of_claim(submission: Submission, claim: Mapping[str, Any], place: list[str]) -> Problem | None:
    """The volume that a claim beside the job is made for, whatever is said of the claim."""
    if found := tool_services.at(submission, claim):
        role, path, index = found
        items = json_at(_spec(submission, role), path)
        attribute = {"Ingress": "url"}.get(claim["kind"], "external" if path == "ports" else "name")
        return _one(role, path, items, index, attribute)
    if claim["kind"] != CLAIMS.kind:
        return None
    attribute = _CLAIM_FIELDS.get(place[1], "") if place[:1] == ["spec"] and place[1:] else ""
    for role in (Role.WORKER, Role.MASTER):
        spec = _spec(submission, role)
        for index, volume in enumerate(volumes.of(spec) if spec else ()):
            name = volumes.claim_name(submission, volume)
            if name == claim["metadata"]["name"] and not volume.existing_pvc:
                items = json_at(spec, volumes.PATH)
                return _one(role, volumes.PATH, items, index, attribute or "name")
    return None


def _one(
    role: Role, path: str, items: list[Mapping[str, Any]], index: int, attribute: str
) -> Problem:
    """What of an item of a list is meant; by the attribute that names it, all of it."""
    spec = catalogue(SPEC.master if role is Role.MASTER else SPEC.worker)[path]
    key = str(items[index].get(spec.item_key, ""))
    label, part, value = item_label(spec, index, shown(key)), spec.attribute(attribute), None
    if part is not None and attribute != spec.item_key:
        label = f"{part.label} of {lowered(label)}"
    if path != volumes.PATH or attribute != spec.item_key:
        value = spec.flat(items[index]).get(attribute)
    return Problem.of(
        role, f"{path}.{index}.{attribute}", "",
        value=value if isinstance(value, str | int | float) else None, key=key, label=label,
    )  # fmt: skip


def _role(path: str, role: Role) -> Role:
    return Role.WORKER if path in mapping.GANG else role


def _spec(submission: Submission, role: Role) -> ReplicaSpec | None:
    return submission.master if role is Role.MASTER else submission.worker


def _step(value: Any, place: Iterable[str]) -> Any:
    for key in place:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _named(template: Any, place: Iterable[str]) -> Place:
    """``place`` with the names of elements instead of their indices, as far as they have any."""
    found: list[str] = []
    for key in place:
        if isinstance(template, list):
            number = int(key) if key.isascii() and key.isdigit() else len(template)
            template = template[number] if number < len(template) else None
            key = str(template.get("name", key)) if isinstance(template, Mapping) else key
        else:
            template = _step(template, [key])
        found.append(key)
    return tuple(found)


def _cleaned(refusal: Refusal) -> Refusal:
    """A cluster's text is anybody's text, and so is what a place is called."""
    words, accepted = wording.cleaned(refusal.words), wording.cleaned(refusal.accepted)
    return Refusal(words, sentences.one_line(refusal.place), accepted)


_LIMITED = re.compile(
    r"must be (?P<how>less than or )?equal to (?P<what>\S+) limit of (?P<most>\S+)"
)


def _of_resource(refusal: Refusal) -> Refusal:
    """A request that is above its limit: the API server names the resource in its words alone."""
    match = _LIMITED.search(refusal.words)
    if match is None or not refusal.place.endswith("requests"):
        return refusal
    word = "at most" if match["how"] else "exactly"
    most = match["most"].rstrip(".,;]")
    return Refusal(refusal.words, f"{refusal.place}[{match['what']}]", f"{word} {most}")


def _causes(answer: Answer) -> Iterator[Refusal]:
    for cause in (answer.json.get("details") or {}).get("causes") or ():
        place = str(cause.get("field") or "").lstrip(".")
        if place and place != "<nil>":
            message = str(cause.get("message") or "")
            # A schema's message says the place once more.
            yield Refusal(message.replace(f"{place} in body ", ""), place)


_UNKNOWN_FIELD = re.compile(r'(unknown|duplicate) field "([^"]+)"')


def _strict(text: str) -> Iterator[Refusal]:
    for match in _UNKNOWN_FIELD.finditer(text):
        yield Refusal(f"{match[1]} field {match[2]}", match[2], "a field that the cluster knows")


_FIELD_ERROR = re.compile(r"(?:(?<=^)|(?<=[\s\[]))((?:spec|metadata)(?:[.\[][^\s:]*)?): ")


def _field_errors(text: str) -> Iterator[Refusal]:
    """``spec.a.b: Required value: …, metadata.name: Invalid value: …``"""
    starts = list(_FIELD_ERROR.finditer(text))
    ends = [match.start() for match in starts[1:]]
    for match, end in zip(starts, [*ends, len(text)], strict=False):
        yield Refusal(text[match.end() : end].rstrip(" ,;]"), match[1])


_RANGE = re.compile(
    r"(?P<least>minimum|maximum) (?P<what>\S+) usage per (?P<of>\w+) is (?P<bound>[^\s,]+?)"
    r"(?:\.\s+No (?P<lacks>request|limit) is specified|, but (?P<side>request|limit) is [^\s,\]]+)"
    r"|(?P<ratio>\S+) max limit to request ratio per \w+ is [^\s,]+, "
    r"but (?:no (?P<none>request|limit) is specified[^,\]]*|[^,\]]+)"
)


def _limit_range(text: str) -> Iterator[Refusal]:
    """https://kubernetes.io/docs/concepts/policy/limit-range/"""
    for match in _RANGE.finditer(text):
        if what := match["ratio"]:
            none = match["none"]
            place = f"{CONTAINER}.resources.{none or 'limit'}s[{what}]"
            yield Refusal(match[0], place, f"a {none}" if none else "a smaller limit")
            continue
        side = match["side"] or match["lacks"]
        word = "at least" if match["least"] == "minimum" else "at most"
        place = f"{CONTAINER}.resources.{side}s[{match['what']}]"
        if match["of"] == "PersistentVolumeClaim":
            place = CLAIM_SIZE
        yield Refusal(match[0], place, f"{word} {match['bound']}")


_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>\S+), requested: (?P<requested>\S+), used: (?P<used>\S+), "
    r"limited: (?P<limited>\S+)"
)
_UNSAID = re.compile(r"failed quota: (?P<name>[^:\s]+): must specify (?P<what>.+)")


def _quota(text: str) -> Iterator[Refusal]:
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
                yield Refusal(words, _of_quota(resource), f"at most {most} minus what is used")
    for match in _UNSAID.finditer(text):
        for part in match["what"].split(";"):
            resource = part.split(" for:")[0].strip()
            words = f"quota {match['name']} must specify {resource}"
            yield Refusal(words, _of_quota(resource), "a value")


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


def _signs(text: str) -> Iterator[Refusal]:
    for sign, place in _SIGNS:
        if sign.search(text):
            yield Refusal(text, place)


_POINTED = re.compile(r"/((?:spec|metadata)/[\w./~-]+)")


def _pointed(text: str) -> Iterator[Refusal]:
    """A policy engine's JSON pointer somewhere in its text; one refusal in any case."""
    match = _POINTED.search(text)
    place = ".".join(match[1].strip("/").split("/")) if match else ""
    if text:
        yield Refusal(text, place)


_READERS: tuple[Callable[[str], Iterator[Refusal]], ...] = (
    _strict,
    _quota,
    _limit_range,
    _signs,
    _field_errors,
    _pointed,
)
