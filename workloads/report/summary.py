"""What a report says in figures: the whole attempt, each node and each pod."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from gangline.drivers.metrics.declared import BY_NAME, METRICS
from gangline.drivers.metrics.reader import Series, together
from gangline.web import formats
from workloads.models import Attempt, Replica, Workload
from workloads.selectors import details
from workloads.selectors.figures import Figures, figures_of, shown

from . import charts
from .words import core_time, figure, percent

FULL, IDLE = 90.0, 50.0
"""Per cent of what was asked: near the limit, and far below it."""
LEAST_SECONDS = 30.0
"""A run that was shorter tells little of what the next one needs."""


@dataclass(frozen=True, slots=True)
class Use:
    """One metric of a pod, a node or all. ``share`` is per cent of what was asked."""

    name: str
    mean: float | None
    peak: float | None
    share: float | None = None

    @property
    def mean_words(self) -> str:
        return figure(self.name, self.mean)

    @property
    def peak_words(self) -> str:
        return figure(self.name, self.peak)

    @property
    def share_words(self) -> str:
        return "" if self.share is None else percent(self.share)

    @property
    def first(self) -> str:
        """The mean, as tables have it."""
        return self.mean_words + (self._of_asked if self.name != "memory" else "")

    @property
    def second(self) -> str:
        """The peak below it."""
        return f"peak {self.peak_words}" + (self._of_asked if self.name == "memory" else "")

    @property
    def _of_asked(self) -> str:
        return "" if self.share is None else f", {self.share_words} of requested"


@dataclass(frozen=True, slots=True)
class Line:
    """A pod, or a node with its pods."""

    name: str
    series: Series
    uses: Mapping[str, Use]
    seconds: float | None
    replica: Replica | None = None
    pods: int = 1

    @property
    def ran(self) -> str:
        return formats.NOTHING if self.seconds is None else formats.span(self.seconds)

    @property
    def core_time(self) -> str:
        return core_time(self.core_seconds)

    @property
    def core_seconds(self) -> float | None:
        return self.series.total("cpu")


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Report:
    """Of one attempt as it is now."""

    workload: Workload
    attempt: Attempt
    figures: Figures
    pods: Sequence[Line]
    nodes: Sequence[Line]
    made_at: datetime

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics that are shown: a disk or network that was not used is named once."""
        return shown(self.figures)

    @property
    def unused(self) -> str:
        """What was measured and is nothing, in words."""
        idle = [BY_NAME[name].label for name in self.figures.names if name not in self.names]
        return ", ".join(idle)

    @property
    def note(self) -> str:
        """What has to be known of figures of this kind of cluster."""
        return self.workload.cluster.engine.figures_note if self.figures else ""

    @property
    def is_over(self) -> bool:
        return self.attempt.ended_at is not None

    @property
    def unknown(self) -> str:
        """What was not measured, in words; GPUs count only where the workload has some."""
        missing = [
            metric.label
            for metric in METRICS
            if metric.name not in self.figures.names
            and (self.workload.gpus or not metric.name.startswith("gpu"))
        ]
        return ", ".join(missing)

    @cached_property
    def whole(self) -> Mapping[str, Use]:
        """Of all pods together; shares are of what all asked for while they ran."""
        uses = {
            name: Use(name, self.figures.whole.mean(name), self.figures.whole.peak(name))
            for name in self.names
        }
        asked_seconds = sum(
            self.figures.asked_by(line.name).get("cpu", 0.0) * (line.seconds or 0.0)
            for line in self.pods
        )
        used = sum(line.core_seconds or 0.0 for line in self.pods)
        if asked_seconds and "cpu" in uses:
            uses["cpu"] = Use("cpu", uses["cpu"].mean, uses["cpu"].peak, used / asked_seconds * 100)
        shares = [use.share for line in self.pods if (use := line.uses.get("memory")) and use.share]
        if shares:
            memory = uses["memory"]
            uses["memory"] = Use("memory", memory.mean, memory.peak, max(shares))
        return uses

    @cached_property
    def facts(self) -> Sequence[Fact]:
        """Times and efficiency."""
        found = [Fact(word.capitalize(), span) for word, span in self._stretches()]
        used = [line.core_seconds for line in self.pods if line.core_seconds is not None]
        if used:
            found.append(Fact("CPU time", formats.span(sum(used)), "of all pods"))
        for name, label, note in (
            ("cpu", "CPU used", "of the requested cores"),
            ("memory", "Memory used", "of the request, in the pod that used most"),
        ):
            use = self.whole.get(name)
            if use and use.share is not None:
                found.append(Fact(label, use.share_words, note))
        if gpu := self.whole.get("gpu"):
            found.append(Fact("GPUs busy", gpu.mean_words, "on average"))
        if (told := self.figures.accounted) and told.cpu:  # 0: the cluster gathers nothing
            largest = f"largest task {figure('memory', told.memory)} on {told.node}"
            note = largest if told.memory and told.node else "of all its steps"
            found.append(Fact("By the cluster’s accounting", formats.span(told.cpu), note))
        if spread := self._spread():
            found.append(Fact("Last to start", *spread))
        return found

    def _stretches(self) -> list[tuple[str, str]]:
        seconds: dict[str, float] = {}
        now = timezone.now()
        for stretch in details.timeline(self.attempt).stretches:
            length = ((stretch.ends or now) - stretch.begins).total_seconds()
            seconds[stretch.word] = seconds.get(stretch.word, 0.0) + max(length, 0.0)
        words = {"running": "ran" if self.is_over else "running for", "waiting": "waiting for"}
        return [(words.get(word, word), formats.span(length)) for word, length in seconds.items()]

    def _spread(self) -> tuple[str, str] | None:
        """The pod for which the others waited."""
        starts = [
            (r.started_at, line.name)
            for line in self.pods
            if (r := line.replica) is not None and r.started_at is not None
        ]
        if len(starts) < 2:
            return None
        (first, _), (last, name) = min(starts), max(starts)
        late = (last - first).total_seconds()
        return (name, f"{formats.span(late)} after the first") if late >= 1 else None

    @cached_property
    def hints(self) -> Sequence[str]:
        """What the figures say about the next run."""
        longest = max((line.seconds or 0.0 for line in self.pods), default=0.0)
        if not self.is_over or longest < LEAST_SECONDS:
            return ()
        found = []
        cpu, memory = self.whole.get("cpu"), self.whole.get("memory")
        if cpu and cpu.share is not None and cpu.share < IDLE:
            found.append(
                f"Only {cpu.share_words} of the requested CPU was used. Request fewer cores to "
                f"wait less."
            )
        if memory and memory.share is not None and memory.share < IDLE:
            found.append(f"No pod used more than {memory.share_words} of the memory it requested.")
        if memory and memory.share is not None and memory.share >= FULL:
            found.append(
                f"A pod used {memory.share_words} of the memory it requested. Request more before "
                f"the data grows."
            )
        if (gpu := self.whole.get("gpu")) and gpu.mean is not None and gpu.mean < IDLE:
            found.append(
                f"The GPUs were busy {gpu.mean_words} of the time. Check how data is loaded."
            )
        return found

    @cached_property
    def charts(self) -> Sequence[charts.Chart]:
        pods = charts.drawable([(line.name, line.series) for line in self.pods if line.series])
        asked = {name: self._asked_alike(name) for name in self.names}
        drawn = (charts.chart(name, pods, asked[name]) for name in self.names)
        return [one for one in drawn if one is not None]

    def _asked_alike(self, name: str) -> float | None:
        """What each pod asked for, where all asked for the same."""
        amounts = {self.figures.asked_by(pod).get(name) for pod in self.figures.by_pod}
        return amounts.pop() if len(amounts) == 1 else None


def report_of(workload: Workload, attempt: Attempt) -> Report:
    replicas = details.expected_replicas(workload, attempt)
    figures = figures_of(workload, attempt, [replica.name for replica in replicas])
    lines = [_pod(replica, figures, workload.framework) for replica in replicas]
    return Report(workload, attempt, figures, lines, _nodes(lines), timezone.now())


def _pod(replica: Replica, figures: Figures, framework: str) -> Line:
    series, seconds = figures.of(replica.name), None
    if replica.started_at is not None:
        seconds = ((replica.ended_at or timezone.now()) - replica.started_at).total_seconds()
    uses = _uses(series, figures.asked_by(replica.name))
    # The supervisor's own count sees what is between two samples; that of a launcher, all ranks.
    is_pod = details.rank_of(replica, framework) is not None or len(figures.by_pod) == 1
    if is_pod and replica.peak_memory and "memory" in uses:
        before = uses["memory"]
        peak = max(float(replica.peak_memory), before.peak or 0.0)
        asked = figures.asked_by(replica.name).get("memory")
        uses["memory"] = Use("memory", before.mean, peak, peak / asked * 100 if asked else None)
    return Line(replica.name, series, uses, seconds, replica)


def _uses(series: Series, asked: Mapping[str, float]) -> dict[str, Use]:
    """CPU is held against what was asked by its mean, memory by its peak."""
    uses = {}
    for name in series.names:
        mean, peak = series.mean(name), series.peak(name)
        told = peak if name == "memory" else mean
        share = told / asked[name] * 100 if told is not None and asked.get(name) else None
        uses[name] = Use(name, mean, peak, share)
    return uses


def _nodes(pods: Sequence[Line]) -> list[Line]:
    """By node in the order of their first pods; none where the cluster names no nodes."""
    by_node: dict[str, list[Line]] = {}
    for line in pods:
        if line.replica is not None and line.replica.node:
            by_node.setdefault(line.replica.node, []).append(line)
    found = []
    for node, lines in by_node.items():
        series = together(line.series for line in lines)
        seconds = max((line.seconds for line in lines if line.seconds is not None), default=None)
        found.append(Line(node, series, _uses(series, {}), seconds, pods=len(lines)))
    return found
