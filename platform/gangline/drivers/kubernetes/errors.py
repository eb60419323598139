"""What an API server answered, as a result and in words. Pure.

A cluster's text is anybody's text: it is cut, cleaned, and never believed to be ours.
https://kubernetes.io/docs/reference/using-api/api-concepts/ and
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#response-status-kind
"""

import re

from gangline.drivers.base import Busy, Refused, Result, Unknown

from .client import BRIEF_REST, Answer
from .resources import Resource
from .wording import LONGEST, cleaned

CHECK_AWAY, GOING = 10.0, 3.0
NO_OPERATOR = "The cluster does not support this kind of workload: its operator is missing."
NAMESPACE_GOES = "The project's namespace is being removed."
_DENIED = re.compile(r'^.*?admission webhook "([^"]+)" denied the request:\s*', re.DOTALL)
_CHECK_FAILED = re.compile(r'failed calling webhook "([^"]+)"')
_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)"'
    r'(?: in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_INVALID = re.compile(r'^\S+ "[^"]*" is (?:invalid|forbidden):\s*')
_STRICT = re.compile(r"^.*?(?:strict decoding error|error decoding[^:]*):\s*", re.DOTALL)
_NOTHING_THERE = "404 page not found"
"""All that an API server says of a path that it does not serve, and no ``Status``."""
_NO_NAMESPACE = re.compile(r'namespaces? "([^"]+)" not found')


def words(answer: Answer) -> str:
    """The cluster's own words without their wrapping; the field that they name stays."""
    if missing := missing_right(answer):
        return missing
    text = cleaned(core(answer))
    if not text:
        text = f"The cluster answered {answer.status} and gave no reason"
    elif check := refusing_check(answer):
        text = f"{check} refused it: {text}"
    text = text[:1].upper() + text[1:] if " " in text.split(":")[0] else text
    return _cut(text)


def core(answer: Answer) -> str:
    """What the answer says of the object, whoever passed it on, in one line."""
    text = " ".join(answer.message.split())
    if denied := _DENIED.match(text):
        return text[denied.end() :].strip()
    return _INVALID.sub("", _STRICT.sub("", text)).strip()


def refusing_check(answer: Answer) -> str:
    """Which admission webhook refused it, as people may know it; empty if none did."""
    denied = _DENIED.match(" ".join(answer.message.split()))
    return _short(denied[1]) if denied else ""


def missing_right(answer: Answer) -> str:
    """Which right Gangline lacks, if that is what the answer is about."""
    found = _FORBIDDEN.search(answer.message) if answer.status == 403 else None
    if found is None:
        return ""
    group = f" ({found['group']})" if found["group"] else ""
    where = f" in namespace {found['namespace']}" if found["namespace"] else ""
    return _cut(
        f"Gangline may not {found['verb']} {found['resource']}{group}{where}: "
        f"its role on the cluster lacks that permission."
    )


def lacks_namespace(answer: Answer) -> bool:
    """The namespace does not exist."""
    return answer.status == 404 and _NO_NAMESPACE.search(answer.message) is not None


def lacks_kind(answer: Answer) -> bool:
    """The API server has nothing at the path: it knows no objects of that kind."""
    return answer.status == 404 and answer.message.strip() == _NOTHING_THERE


def no_scheduler(resource: Resource, title: str) -> str:
    """The cluster lacks a kind that the scheduler of this title brings."""
    return (
        f"The cluster does not know objects of kind {resource.kind} ({resource.api_version}), which"
        f" {title} needs: install it there, or choose another scheduler for this cluster."
    )


def result(answer: Answer) -> Result:
    """What a write that was not carried out means; conflicts, and a kind that the cluster lacks,
    are for the caller to judge first."""
    status, text = answer.status, answer.message
    if answer.wants_rest:
        return Busy(answer.retry_after or BRIEF_REST, is_for_all=True)
    if status == 401:
        return Unknown("The cluster rejected Gangline's credential.")
    if status >= 500 and (check := _CHECK_FAILED.search(text)):
        # Nothing was stored: the API server asks its checks before it writes.
        return Busy(CHECK_AWAY, f"{_short(check[1])}, which the cluster calls, does not answer.")
    if status >= 500:
        return Unknown(_cut(f"The cluster answered {status}{_its_words(answer)}"))
    if not _is_of_an_api_server(answer):
        said = _its_words(answer)
        return Unknown(_cut(f"A proxy in front of the cluster answered {status}{said}"))
    if status == 403 and "being terminated" in text:
        return Busy(GOING, NAMESPACE_GOES)
    return Refused(words(answer))


def reading(answer: Answer) -> str:
    """Why nothing can be told of what was asked for."""
    if answer.status == 401:
        return "The cluster rejected Gangline's credential."
    return missing_right(answer) or _cut(f"The cluster answered {answer.status}: {words(answer)}")


def _is_of_an_api_server(answer: Answer) -> bool:
    """Every refusal of one is a ``Status``; a proxy or a login page before it sends none."""
    return answer.json.get("kind") == "Status"


def _its_words(answer: Answer) -> str:
    """What was said beside a failure; a page of a proxy in between says nothing."""
    said = cleaned(core(answer))
    return f": {said}" if said and not said.startswith("<") else ""


def _short(check: str) -> str:
    """``validator.pytorchjob.training-operator.kubeflow.org`` as people may know it."""
    return "The training-operator" if "training-operator" in check else f"The check {check}"


def _cut(text: str) -> str:
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return text if text[-1:] in (".", "!", "?", "…") else f"{text}."
