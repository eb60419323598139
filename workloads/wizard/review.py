"""Review: the checks, every effective value with its origin, what differs, the same as curl."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.text import capfirst, get_text_list

from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.problems import Advice, Problem, Role
from gangline.spec.sources import Value
from gangline.spec.workload import SPEC
from gangline.spec_forms.limits import displayed
from gangline.spec_forms.words import count, item_in_words, readable, source_in_words
from workloads.models import Attempt
from workloads.selectors.origins import chip_kind
from workloads.services.submission import Preview
from workloads.wizard.context import WizardContext
from workloads.wizard.state import FRAMEWORK, NAME
from workloads.wizard.steps import by_half
from workloads.wizard.verdicts import Headline

CLUSTER_CHECK = "check-cluster"
_ICONS = {
    "good": "circle-check",
    "bad": "circle-x",
    "warn": "alert-triangle",
    "info": "info-circle",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, with what was found."""

    tone: str
    icon: str
    title: str
    text: str = ""
    problems: tuple[tuple[str, str], ...] = ()
    """Sentences with the address of their field; empty where they are about none."""
    notes: tuple[str, ...] = ()
    anchor: str = ""
    """Its id, for links to it."""

    @property
    def word(self) -> str:
        """What the icon says."""
        return {"good": "Passed:", "bad": "Failed:", "warn": "Attention:"}.get(self.tone, "Note:")


@dataclass(frozen=True, slots=True)
class Line:
    """One effective value. ``before`` is what the copied workload had, when that differs."""

    label: str
    value: str
    origin: str
    origin_kind: str = ""
    is_code: bool = False
    before: str = ""


@dataclass(frozen=True)
class Review:
    """Everything on the page, from one preview."""

    wizard: WizardContext
    preview: Preview
    copied: Mapping[str, Any]
    """The values of the copied workload by qualified path; empty when nothing was copied."""

    def checks(self, field_url: Any) -> list[Check]:
        """What was looked at, in the order in which a person mends it."""
        problems = self.wizard.problems
        name = [p for p in problems if p.path == NAME]
        policy = [p for p in problems if p.source and p not in name]
        values = [p for p in problems if p not in name and p not in policy]
        return [
            self._check(values, "All values are valid", "Values are missing or wrong", field_url),
            self._check(
                policy, "Complies with the policy" + self._project_words, "Not allowed", field_url,
                good_text=self._rules_words,
            ),
            self._check(
                name, "The name is free", "The name cannot be used", field_url,
                good_text=self._name_words,
            ),
            *self._advice(field_url),
            *self._room(),
            *self._quota(),
            self._cluster(field_url),
        ]  # fmt: skip

    @property
    def _project_words(self) -> str:
        project = self.preview.project
        return f" of project {project.name}" if project else ""

    @property
    def _name_words(self) -> str:
        project = self.preview.project
        return self.wizard.choices.name + (f" in project {project.name}" if project else "")

    @property
    def _rules_words(self) -> str:
        rows = [
            row
            for role in (Role.WORKER, Role.MASTER)
            for rule in self.preview.policy.half(role).values()
            for row in rule.trace
            if row.rule != "default" and row.wins
        ]
        scopes = {row.scope for row in rows}
        if not rows:
            return "No policy applies."
        return f"{count(len(rows), 'rule')} in {count(len(scopes), 'scope')}."

    def _check(
        self, problems: Sequence[Problem], good: str, bad: str, field_url: Any, good_text: str = ""
    ) -> Check:
        if not problems:
            return Check("good", "circle-check", good, good_text)
        return Check(
            "bad", "circle-x", bad, problems=_told(problems, field_url, self.preview.framework)
        )

    def _advice(self, field_url: Any) -> Iterator[Check]:
        """What may be submitted as it is, and may well disappoint."""
        if told := _told(self.preview.advice, field_url, self.preview.framework):
            yield Check("warn", "alert-triangle", "Worth a second look", problems=told)

    def _room(self) -> Iterator[Check]:
        """What the cluster rejected starts nowhere, whatever is free: its own check says so."""
        if self.preview.problems or not self.wizard.objections:
            head = Headline.of(self.preview)
            yield Check(head.tone, head.icon, head.words, head.text)

    def _quota(self) -> Iterator[Check]:
        verdict = self.preview.verdict
        if verdict.quota:
            tone, title = ("warn", "Over quota") if verdict.over_quota else ("good", "In quota")
            yield Check(tone, _ICONS[tone], title, verdict.quota)

    def _cluster(self, field_url: Any) -> Check:
        """What the cluster itself said when it was asked. Only a full answer is a good one."""
        last_dry_run = self.wizard.last_dry_run
        if last_dry_run is None:
            return self._heard("info", "Not tested yet", "A dry run creates nothing.")
        told, at = last_dry_run.last_dry_run, f"{timezone.localtime(last_dry_run.at):%H:%M:%S}"
        asked = f" ({get_text_list(list(told.asked), 'and')})" if told.asked else ""
        when = f"Dry run on {last_dry_run.cluster} at {at}{asked}"
        when += "." if last_dry_run.is_current else ", before your last changes."
        doubts = tuple(f"Not checked: {doubt}" for doubt in told.doubts)
        if objections := self.wizard.objections:
            problems = _told(objections, field_url, self.preview.framework)
            return self._heard("bad", "The cluster rejected this workload", when, problems, doubts)
        if not last_dry_run.is_current:
            return self._heard("info", "Changed since the last dry run", when)
        if last_dry_run.is_accepted:
            return self._heard("good", "The cluster would accept this workload", when)
        part = "The dry run could not check everything"
        title = part if told.asked else "The dry run failed"
        return self._heard("warn" if told.asked else "info", title, when, notes=doubts)

    @staticmethod
    def _heard(
        tone: str,
        title: str,
        text: str,
        problems: tuple[tuple[str, str], ...] = (),
        notes: tuple[str, ...] = (),
    ) -> Check:
        return Check(tone, _ICONS[tone], title, text, problems, notes, anchor=CLUSTER_CHECK)

    def lines(self, role: Role) -> list[Line]:
        """The effective values of one role, in the order of the form."""
        return [
            line
            for spec in self._fields(role)
            if (entry := self._entry(role, spec)) is not None
            for line in self._lines(role, spec, entry)
        ]

    def differences(self) -> list[Line]:
        """What the master has otherwise than the workers."""
        found = []
        for spec in self._fields(Role.MASTER):
            mine, theirs = self._entry(Role.MASTER, spec), self._entry(Role.WORKER, spec)
            if (mine.value if mine else None) == (theirs.value if theirs else None):
                continue
            if mine is None:
                found.append(Line(spec.label, "Not set", "workers differ"))
            else:
                found += self._lines(Role.MASTER, spec, mine)
        return found

    def _fields(self, role: Role) -> Iterator[SpecField]:
        model = SPEC.worker if role is Role.WORKER else SPEC.master
        specs = [s for s in catalogue(model).values() if s.path != FRAMEWORK]
        places = {name: n for n, name in enumerate(dict.fromkeys(s.ui.section for s in specs))}
        yield from sorted(specs, key=lambda s: (places[s.ui.section], not s.workload_level))

    def _entry(self, role: Role, spec: SpecField) -> Value | None:
        entry = self.preview.resolution.effective.get(f"{role}.{spec.path}")
        return entry if entry is not None and entry.value not in (None, []) else None

    def _lines(self, role: Role, spec: SpecField, entry: Value) -> Iterator[Line]:
        before = self.copied.get(f"{role}.{spec.path}")
        if spec.kind is Kind.ITEMIZED:
            yield from self._item_lines(spec, entry, before)
            return
        words = displayed(self.preview.policy.rule(role, spec.path))
        changed = bool(self.copied) and before != entry.value
        yield Line(
            label=spec.label,
            value=readable(spec, entry.value, words),
            origin=source_in_words(entry.source),
            origin_kind=chip_kind(entry.source),
            is_code=spec.kind in (Kind.STRING, Kind.COMMAND),
            before=readable(spec, before, words) if changed else "",
        )

    def _item_lines(self, spec: SpecField, entry: Value, before: Any) -> Iterator[Line]:
        earlier = {i.get(spec.item_key): i for i in before or () if isinstance(i, dict)}
        for item, origin in zip(entry.value, entry.items, strict=True):
            if not isinstance(item, dict):
                continue
            old = earlier.get(item.get(spec.item_key))
            changed = bool(self.copied) and old != item
            yield Line(
                label=f"{capfirst(spec.ui.item or spec.label)} {item.get(spec.item_key, '')}",
                value=item_in_words(spec, item),
                origin=source_in_words(origin.source),
                origin_kind=chip_kind(origin.source),
                is_code=True,
                before=(item_in_words(spec, old) if old else "not there") if changed else "",
            )


def copied_values(wizard: WizardContext) -> Mapping[str, Any]:
    """What the copied workload ran with last."""
    if not wizard.state.copied_from:
        return {}
    attempt = Attempt.objects.filter(workload_id=wizard.state.copied_from).order_by("-no").first()
    return attempt.values if attempt else {}


def _told(
    found: Sequence[Problem | Advice], field_url: Any, framework: str
) -> tuple[tuple[str, str], ...]:
    """Sentences with the address of their field."""
    sentences = by_half([(one.role, one.sentence) for one in found], framework)
    return tuple(zip(sentences, map(field_url, found), strict=True))
