"""What each step's page needs, gathered from the context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from gangline.access.grants import held_anywhere
from gangline.access.permissions import Permission
from gangline.forms.fields import SectionView, dom_id
from gangline.spec.frameworks import FRAMEWORKS, GangRole
from gangline.spec.problems import Problem, Role
from gangline.spec_forms.limits import capital
from gangline.spec_forms.words import count
from workloads.services.submission import Preview
from workloads.wizard import drafts, setup_page
from workloads.wizard.context import NO_PROJECT, WizardContext
from workloads.wizard.equivalents import equivalents
from workloads.wizard.review import Review, copied_values
from workloads.wizard.state import FRAMEWORK, SETUP_FIELDS
from workloads.wizard.steps import Step, after, before, by_half, problems_of, step_of, word
from workloads.wizard.verdicts import summary_of


@dataclass(frozen=True, slots=True)
class StepLink:
    """One entry of the stepper."""

    word: str
    value: str
    is_current: bool
    is_done: bool
    problems: int
    sections: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class ProblemLink:
    """One line of the error summary."""

    text: str
    target: str


@dataclass(frozen=True)
class StepPage:
    """One rendering of one step. ``checked``: problems are shown at the fields."""

    wizard: WizardContext
    step: Step
    checked: bool = False
    extra: Sequence[Problem] = ()
    focus: str = ""
    conflict_at: str = ""
    api_url: str = ""
    has_rows: bool = True
    """Whether lists are drawn row by row; after an automatic save, they stand there already."""

    @property
    def _version(self) -> int:
        return drafts.version_of(self.wizard.draft, self.step)

    @property
    def all_problems(self) -> list[Problem]:
        extra = [self.wizard.as_typed(problem) for problem in self.extra]
        return [*extra, *(p for p in self.wizard.problems if p not in extra)]

    @property
    def here(self) -> list[Problem]:
        """Problems to show at the fields of this page; what is merely empty waits for a check."""
        found = problems_of(self.step, self.all_problems)
        return found if self.checked else [p for p in found if p.value not in (None, "")]

    @property
    def objections(self) -> list[Problem]:
        """What the cluster has against fields of this page: told, but nobody is held back."""
        return problems_of(self.step, self.wizard.objections)

    @property
    def told(self) -> list[Problem]:
        """What the page begins with; Review has a place of its own for what the cluster says."""
        if not self.checked:
            return []
        return self.here if self.step is Step.REVIEW else [*self.here, *self.objections]

    @cached_property
    def setup(self) -> setup_page.SetupPage:
        rule = self.wizard.policy.rule(Role.WORKER, FRAMEWORK)
        return setup_page.SetupPage(
            self.wizard.choices,
            rule,
            [*self.here, *self.objections],
            self.wizard.standing,
            self.wizard.policy_here,
        )

    def context(self) -> dict[str, Any]:
        """Everything that all steps have in common, and what this one adds."""
        wizard, sections = self.wizard, self._sections()
        is_homeless = wizard.choices.project is None
        return {
            "wizard": wizard,
            "step": self.step,
            "steps": self._steps(sections),
            "title": self._word(self.step),
            "lead": self._lead(),
            "sections": sections,
            "summary": summary_of(wizard, self._worth_telling()),
            "first_problem_url": self._first_url,
            "notices": [str(n) for n in wizard.preview.resolution.notices]
            if wizard.preview
            else [],
            "problems": [ProblemLink(text, target_of(p)) for text, p in self._sentences()],
            "version": self._version,
            "saved_at": self._saved_at(),
            "unread": bool(wizard.state.written and wizard.state.written.unread),
            "only_in_yaml": [p.label or p.path for p in wizard.strange if p.rule == "unknown"],
            "focus": self.focus,
            "conflict_at": self.conflict_at,
            "back": (back := before(self.step, wizard.steps)),
            "back_word": self._word(back).lower() if back else "",
            "next_word": self._word(after(self.step, wizard.steps)).lower(),
            "no_project": NO_PROJECT if is_homeless else "",
            "may_make_project": is_homeless
            and Permission.PROJECT_CREATE in held_anywhere(wizard.actor.user),
            **self._own(),
        }

    def _own(self) -> Mapping[str, Any]:
        if self.step is Step.SETUP:
            return {
                "setup": self.setup,
                "new_project_url": self._new_project_url,
                "unfinished": self._unfinished(),
            }
        if self.step is Step.MASTER:
            return {
                "forced": [capital_sentence(p) for p in self.wizard.forced],
                "is_different": self.wizard.is_different,
                "leader": self._leader,
            }
        if self.step is Step.REVIEW and self.wizard.preview is not None:
            return self._review(self.wizard.preview)
        return {}

    @property
    def _leader(self) -> GangRole:
        return FRAMEWORKS[self.wizard.choices.framework].leader

    def _word(self, step: Step) -> str:
        return word(step, self.wizard.choices.framework)

    @property
    def _new_project_url(self) -> str:
        """Where who may make a project makes one; the draft is kept meanwhile."""
        may = Permission.PROJECT_CREATE in held_anywhere(self.wizard.actor.user)
        return reverse("project-create") if may else ""

    def _review(self, preview: Preview) -> Mapping[str, Any]:
        wizard = self.wizard
        review = Review(wizard, preview, copied_values(wizard))
        differences = review.differences() if wizard.has_master else []
        same = "Same as the workers, except:" if differences else "Same as the workers."
        return {
            "checks": review.checks(self.field_url),
            "dry_run": not self.all_problems
            and not (wizard.last_dry_run and wizard.last_dry_run.is_current),
            "worker_lines": review.lines(Role.WORKER),
            "worker_pods": count(preview.totals.workers, "pod"),
            "has_master": wizard.has_master,
            "master_title": self._leader.title,
            "master_pods": count(preview.totals.counts.get(self._leader.name, 0), "pod"),
            "master_step": Step.MASTER if Step.MASTER in wizard.steps else "",
            "master_lines": differences,
            "master_text": same,
            "equivalents": list(equivalents(wizard, self.api_url)),
            "review_problems": [(text, self.field_url(p)) for text, p in self._sentences()],
        }

    def _sections(self) -> tuple[SectionView, ...]:
        wizard, told = self.wizard, [*self.here, *self.objections]
        advice = wizard.preview.advice if wizard.preview else ()
        if self.step not in (Step.WORKERS, Step.MASTER):
            return ()
        role = Role.MASTER if self.step is Step.MASTER else Role.WORKER
        form, inputs = wizard.form(role), wizard.state.inputs(role)
        return form.sections(inputs, told, advice, with_items=self.has_rows)

    def _steps(self, sections: Sequence[SectionView]) -> list[StepLink]:
        visited = drafts.visited(self.wizard.draft)
        links = []
        for step in self.wizard.steps:
            told = [*self.all_problems, *self.wizard.objections]
            wrong = len(problems_of(step, told))
            tried = step in visited and (step is not self.step or self.checked)
            links.append(
                StepLink(
                    word=self._word(step),
                    value=step,
                    is_current=step is self.step,
                    is_done=step in visited and not wrong,
                    # Review shows the others' problems: counted there, they would count twice.
                    problems=wrong if tried and step is not Step.REVIEW else 0,
                    sections=[(s.title, f"#{s.id}", _amount(s)) for s in sections]
                    if step is self.step and self._shows_sections
                    else (),
                )
            )
        return links

    @property
    def _shows_sections(self) -> bool:
        """A master that follows the workers in everything has no sections to go to."""
        return self.step is not Step.MASTER or self.wizard.is_different

    def _worth_telling(self) -> list[Problem]:
        """Not what is merely still empty on pages that nobody has left yet."""
        visited = drafts.visited(self.wizard.draft)
        return [
            p
            for p in self.all_problems
            if p.value not in (None, "")
            or self.step is Step.REVIEW
            or (step_of(p) in visited and step_of(p) is not self.step)
            or (self.checked and step_of(p) is self.step)
        ]

    @property
    def _first_url(self) -> str:
        """The first field that is worth mending: the summary counts, the fields tell."""
        return next(filter(None, map(self.field_url, self._worth_telling())), "")

    def _sentences(self) -> list[tuple[str, Problem]]:
        framework = self.wizard.choices.framework
        sentences = by_half([(p.role, p.sentence) for p in self.told], framework)
        return list(zip(sentences, self.told, strict=True))

    def field_url(self, problem: Problem) -> str:
        """The field of ``problem``, on this page or on its own; empty where it has none."""
        if not problem.path:
            return ""
        step = step_of(problem)
        anchor = f"#{target_of(problem)}"
        if step is self.step:
            return anchor
        return f"{step_url(self.wizard, step, check='1')}{anchor}"

    def _lead(self) -> str:
        name = self.wizard.choices.name
        of = f"of {name} " if name else ""
        if self.step is Step.SETUP:
            return "Name, place and kind of the workload."
        if self.step is Step.WORKERS:
            has_step = Step.MASTER in self.wizard.steps
            follows = "follow" if self._leader.counts else "follows"
            rest = f". The {self._leader.title.lower()} {follows} in the next step."
            rest = rest if has_step else "."
            return f"What every worker {of}runs, and on what{rest}"
        if self.step is Step.MASTER:
            title = self._leader.title.lower()
            alike = f"{title} are" if self._leader.counts else f"{title} is"
            return f"Off: the {alike} set up like a worker. On: change only what differs."
        return "This is what will be submitted, with the source of each value."

    def _saved_at(self) -> str:
        moment = drafts.saved_at(self.wizard.draft)
        return f"{timezone.localtime(moment):%H:%M:%S}" if moment else ""

    def _unfinished(self) -> list[tuple[str, str, str, Any]]:
        """The person's other drafts, offered only on a page that is still empty."""
        if self.wizard.draft is not None:
            return []
        others = drafts.unfinished(owner=self.wizard.actor.user, besides=self.wizard.draft_id)
        return [
            (
                drafts.name_of(d) or "a draft without a name",
                reverse("draft-step", args=[d.pk, Step.SETUP]),
                reverse("draft-discard", args=[d.pk]),
                d.updated_at,
            )
            for d in others
        ]


def _amount(section: SectionView) -> str:
    return str(section.problems or "")


def capital_sentence(problem: Problem) -> str:
    return capital(problem.sentence)


def step_url(wizard: WizardContext, step: Step, **query: str) -> str:
    """Address of ``step`` of this draft."""
    address = reverse("draft-step", args=[wizard.draft_id, step])
    return f"{address}?{urlencode(query)}" if query else address


def target_of(problem: Problem) -> str:
    """Id of the control that a link to the problem leads to; empty where it has none."""
    if not problem.path:
        return ""
    head = problem.path.split(".")[0]
    if head in SETUP_FIELDS:
        return dom_id(setup_page.path_of(head))
    role = Role.MASTER if problem.role is Role.MASTER else Role.WORKER
    parts = problem.path.split(".")
    place = next((n for n, part in enumerate(parts) if part.isdigit()), len(parts))
    return dom_id(f"{role}.{'.'.join(parts[:place])}")
