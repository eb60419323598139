"""Reasons as code and parameters, and the one place that puts them into words (S7)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import get_text_list

from gangline.drivers.base import IMAGE_PULL, POD_MISSING, POD_REFUSED
from gangline.lib.sizes import bytes_in_words
from gangline.web import formats
from workloads.causes import BY_CODE, CAUSES

CPUS, MEMORY, GPUS = "cpus", "memory", "gpus"
SLOTS_NEVER, SLOTS_WAIT, SLOTS_BEHIND = "slots.never", "slots.wait", "slots.behind"
QUOTA_NEVER, QUOTA_WAIT = "quota.never", "quota.wait"
RETRY, MOVED, CLUSTER = "retry.pause", "moved.pause", "cluster.answer"
RECLAIMED, PREEMPTED = "quota.reclaimed", "quota.preempted"
SESSION_OVER, SESSION_IDLE = "session.over", "session.idle"
MANY_AHEAD = 20
_TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True, slots=True)
class Reason:
    """``code`` is for programs, ``params`` are JSON; the empty code is no reason."""

    code: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.code)

    @property
    def sentence(self) -> str:
        words = _WORDS.get(self.code)
        return words(self.params) if words else ""

    @property
    def title(self) -> str:
        """A few words for the head of a note; empty where the status says enough."""
        if self.code == SLOTS_NEVER:
            names = [_NAMES[resource] for resource, _, _ in self.params["lacking"]]
            return f"Not enough {get_text_list(names, 'and')} on {self.params['cluster']}"
        return "The image cannot be pulled" if self.code == IMAGE_PULL else ""

    @property
    def next_step(self) -> str:
        """What brings the wait to its end, or helps against a failure; empty where the sentence
        says that."""
        if self.code in BY_CODE:
            return BY_CODE[self.code].advice
        if self.code != SLOTS_WAIT:
            return ""
        lacking = self.params["lacking"]
        amounts = get_text_list([amount(r, needs) for r, needs, _, _ in lacking], "and")
        is_one = len(lacking) == 1 and lacking[0][0] != MEMORY and lacking[0][1] <= 1
        return f"Starts when {amounts} {'is' if is_one else 'are'} free."


NO_REASON = Reason()


def amount(resource: str, value: float) -> str:
    """``6 CPUs``, ``2 GB of memory``, ``1 GPU``."""
    if resource == MEMORY:
        return f"{bytes_in_words(int(value))} of memory"
    word = "CPU" if resource == CPUS else "GPU"
    return f"{_number(value)} {word}{'' if value == 1 else 's'}"


def seconds_in_words(seconds: float) -> str:
    """``20 s``, ``5 min``."""
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 120 else f"{round(whole / 60)} min"


_NAMES = {GPUS: "GPUs", CPUS: "CPUs", MEMORY: "memory"}


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _never(params: Mapping[str, Any]) -> str:
    lacking: Sequence[tuple[str, float, float]] = params["lacking"]
    needs = get_text_list([amount(r, needs) for r, needs, _ in lacking], "and")
    has = get_text_list([amount(r, has) for r, _, has in lacking], "and")
    return f"Needs {needs}; {params['cluster']} has {has}."


def _wait(params: Mapping[str, Any]) -> str:
    parts = [
        f"{amount(resource, needs)} ({_of(resource, free, total)} free)"
        for resource, needs, free, total in params["lacking"]
    ]
    place = f" Number {params['ahead'] + 1} in the queue." if params["ahead"] else ""
    if params.get("claims"):
        place += " Workloads over quota will be stopped for it."
    return f"Needs {get_text_list(parts, 'and')}.{place}"


def _of(resource: str, free: float, total: float) -> str:
    free = max(0.0, free)
    if resource == MEMORY:
        return f"{bytes_in_words(int(free))} of {bytes_in_words(int(total))}"
    return f"{_number(free)} of {_number(total)}"


def _behind(params: Mapping[str, Any]) -> str:
    ahead = params["ahead"]
    if ahead > MANY_AHEAD:
        # An exact place so far back would change the row with every step of the queue.
        return f"More than {MANY_AHEAD} workloads are ahead in the queue."
    who = params.get("name") or "a workload"
    needs = get_text_list([amount(resource, much) for resource, much in params["needs"]], "and")
    return f"Number {ahead + 1} in the queue, behind {who} (needs {needs})."


def _quota_never(params: Mapping[str, Any]) -> str:
    needs = get_text_list([amount(r, needs) for r, needs, _ in params["lacking"]], "and")
    may = get_text_list([amount(r, may) for r, _, may in params["lacking"]], "and")
    return f"Needs {needs}; {params['of']} may use {may}."


def _quota_wait(params: Mapping[str, Any]) -> str:
    ((resource, needs, used, may),) = params["lacking"]
    held = _of(resource, used, may)
    return f"Needs {amount(resource, needs)}; {params['of']} uses {held}."


def _retry(params: Mapping[str, Any]) -> str:
    failed = params["failed"]
    times = _TIMES.get(failed, f"{failed} times")
    pause = seconds_in_words(params["seconds"])
    return f"Failed {times}; attempt {failed + 1} of {params['of']} starts in {pause}."


def _moved(params: Mapping[str, Any]) -> str:
    pause = seconds_in_words(params["seconds"])
    return f"The cluster needed the capacity; the workload starts again in {pause}."


def _image_pull(params: Mapping[str, Any]) -> str:
    image = f"Image {params['image']}" if params.get("image") else "The image"
    return f"{image} cannot be pulled ({params['pod']})."


def _session(why: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda params: f"Stopped: {why.format(span=formats.span(params['seconds']))}."


def _cause(code: str) -> Callable[[Mapping[str, Any]], str]:
    def told(params: Mapping[str, Any]) -> str:
        ended = f" ({params['ended']})" if params.get("ended") else ""
        return f"{params['pod']} {BY_CODE[code].words}{ended}."

    return told


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    SLOTS_NEVER: _never,
    SLOTS_WAIT: _wait,
    SLOTS_BEHIND: _behind,
    QUOTA_NEVER: _quota_never,
    QUOTA_WAIT: _quota_wait,
    RECLAIMED: lambda params: "A workload within its quota needs the slots.",
    PREEMPTED: lambda params: "Another project reclaimed its quota.",
    RETRY: _retry,
    MOVED: _moved,
    CLUSTER: lambda params: str(params["text"]),
    IMAGE_PULL: _image_pull,
    SESSION_OVER: _session("the session reached its limit of {span}"),
    SESSION_IDLE: _session("no terminal or tool of the session was used for {span}"),
    **{cause.code: _cause(cause.code) for cause in CAUSES},
}

CODES = tuple(_WORDS)

NEXT_STEPS: Mapping[str, str] = {
    POD_REFUSED: "Copy & edit to request what the cluster accepts. Waiting may not help.",
    POD_MISSING: "Starts once that exists; Copy & edit to name another.",
}
"""What helps while a cluster holds a workload back for a known reason."""
