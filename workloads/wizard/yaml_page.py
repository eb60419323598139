"""The draft as YAML: the same draft as the form, on a page of its own beside every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.urls import reverse

from gangline.forms.fields import SectionView
from gangline.lib import yaml_text
from gangline.spec.problems import Problem
from workloads.wizard import drafts
from workloads.wizard.context import WizardContext
from workloads.wizard.pages import StepPage
from workloads.wizard.steps import Step
from workloads.wizard.written import line_of

LEAST_ROWS, MOST_ROWS = 16, 40


def yaml_url(wizard: WizardContext, step: Step) -> str:
    """Address of the text, from which ``step`` is the way back to the form."""
    return reverse("draft-yaml", args=[wizard.draft_id, step])


@dataclass(frozen=True, slots=True)
class Marked:
    """One line of the text and what is wrong there."""

    number: int
    text: str
    sentences: Sequence[str]


@dataclass(frozen=True)
class YamlPage(StepPage):
    """``posted``: the text as it was just sent, where it is not what the draft holds."""

    posted: str | None = None

    @property
    def _version(self) -> int:
        return drafts.version_of(self.wizard.draft, drafts.WHOLE)

    @property
    def text(self) -> str:
        written = self.wizard.state.written
        return self.posted or (written.unread if written else "") or self.wizard.yaml

    @cached_property
    def _read(self) -> yaml_text.YamlDocument | yaml_text.UnreadableYaml:
        try:
            return yaml_text.read(self.text)
        except yaml_text.UnreadableYaml as error:
            return error

    @property
    def is_readable(self) -> bool:
        return isinstance(self._read, yaml_text.YamlDocument)

    @property
    def here(self) -> list[Problem]:
        return []

    def _sections(self) -> tuple[SectionView, ...]:
        return ()

    def _own(self) -> Mapping[str, Any]:
        return {
            "title": "Workload as YAML",
            "lead": (
                "The whole workload in the format of the API. Changes here also appear in the form."
            ),
            "yaml": self.text,
            "rows": min(max(self.text.count("\n") + 2, LEAST_ROWS), MOST_ROWS),
            "marked": self.marked,
            "is_readable": self.is_readable,
        }

    @property
    def marked(self) -> list[Marked]:
        """The lines with problems, in order."""
        document = self._read
        said: dict[int, list[str]] = {}
        if isinstance(document, yaml_text.UnreadableYaml):
            hint = f" {document.suggestion}" if document.suggestion else ""
            said[document.line] = [f"{document.message[0].upper()}{document.message[1:]}.{hint}"]
        else:
            for problem in [*self.wizard.problems, *self.wizard.objections]:
                if problem.path:
                    said.setdefault(line_of(document, problem), []).append(problem.sentence)
        lines = self.text.split("\n")
        return [Marked(n, lines[n - 1][:200], said[n]) for n in sorted(said) if n <= len(lines)]
