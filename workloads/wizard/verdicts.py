"""The summary beside the form: the verdict first, then the numbers, then what is to fix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.problems import Problem
from gangline.spec_forms.words import count
from gangline.web import formats
from workloads.services.submission import Preview, Totals
from workloads.wizard.context import WizardContext

VERDICT_TONES = {
    "starts": ("good", "circle-check"),
    "waits": ("warn", "clock"),
    "cannot": ("bad", "ban"),
    "unknown": ("info", "info-circle"),
}
MOST_NAMED = 4
_HEADLINES = {
    "starts": "Starts immediately",
    "waits": "Will wait",
    "cannot": "Cannot start",
    "unknown": "Capacity not known",
}


@dataclass(frozen=True, slots=True)
class Headline:
    """A verdict at a glance: with problems nothing starts, and every obstacle is named."""

    tone: str
    icon: str
    words: str
    text: str

    @classmethod
    def of(cls, preview: Preview, objections: Sequence[Problem] = ()) -> "Headline":
        """``objections``: what the cluster said to the draft, which no capacity makes good."""
        verdict = preview.verdict
        tone, icon = VERDICT_TONES[verdict.kind]
        words = _HEADLINES[verdict.kind]
        if not preview.problems and objections:
            named = [one for one in objections if one.label]
            text = _to_mend(named) if named else "See the checks in Review."
            return cls("bad", "circle-x", "Rejected by the cluster", text)
        if not preview.problems:
            return cls(tone, icon, words, verdict.sentence)
        text = _to_mend(preview.problems)
        if verdict.kind == "cannot":
            return cls(tone, icon, words, f"{verdict.sentence} {text}")
        also = f" {verdict.sentence}" if verdict.kind == "waits" else ""
        return cls("info", "info-circle", "Not ready", f"{text}{also}")


@dataclass(frozen=True, slots=True)
class Summary:
    """What the panel shows. The numbers are those of `submission.preview`, as everywhere."""

    tone: str
    icon: str
    verdict: str
    text: str
    quota: str
    line: str
    facts: Sequence[tuple[str, str]]
    problems: Sequence[Problem]


def summary_of(wizard: WizardContext, problems: Sequence[Problem]) -> Summary:
    """The panel for this draft; ``problems`` are those worth showing now."""
    preview = wizard.preview
    if preview is None:
        return Summary(
            "warn", "alert-triangle", "", "You have no project to submit to.", "", "", (), ()
        )
    head = Headline.of(preview, wizard.objections)
    totals = preview.totals
    choices = wizard.choices
    facts = [
        ("Pods", pods_in_words(totals)),
        ("GPUs", totals.gpu_parts or str(totals.gpus)),
        ("CPU", f"{totals.cpus:g} core{'' if totals.cpus == 1 else 's'}"),
        ("Memory", formats.size(totals.memory_bytes)),
        ("Framework", FRAMEWORKS[choices.framework].label),
        ("Roles", FRAMEWORKS[choices.framework].roles_in_words(wizard.configuration)),
        ("Project", choices.project.name if choices.project else formats.NOTHING),
        ("Cluster", choices.cluster.name if choices.cluster else formats.NOTHING),
    ]
    if origin := wizard.started_from:
        facts.append(origin)
    gpus = totals.gpu_parts or (count(totals.gpus, "GPU") if totals.gpus else "no GPU")
    return Summary(
        tone=head.tone,
        icon=head.icon,
        verdict="" if head.words == _HEADLINES["unknown"] else f"{head.words}.",
        text=head.text,
        quota=preview.verdict.quota,
        line=f"{pods_in_words(totals)} · {gpus}",
        facts=facts,
        problems=problems,
    )


def _to_mend(problems: Sequence[Problem]) -> str:
    """``Still to fill in: Name, Command. To fix: CPU request.``"""
    missing = _labels(p for p in problems if p.rule == "required")
    wrong = _labels(p for p in problems if p.rule != "required")
    told = [f"Still to fill in: {missing}."] if missing else []
    return " ".join([*told, f"To fix: {wrong}."] if wrong else told)


def _labels(problems: Iterable[Problem]) -> str:
    names = list(dict.fromkeys(p.label or p.path for p in problems))
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def pods_in_words(totals: Totals) -> str:
    """``4 workers + 1 master``."""
    return " + ".join(count(number, role.name) for role, number in reversed(totals.parts))
