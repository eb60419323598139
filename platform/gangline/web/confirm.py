"""The question before harm: a whole page, which scripts show as a dialog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest
from django.template.response import TemplateResponse


@dataclass(frozen=True, slots=True)
class Question:
    """Title is the question, text the consequence, verb the button."""

    title: str
    text: str
    verb: str
    action: str
    cancel_url: str
    is_harmful: bool = False
    hidden: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    items: Sequence[str] = ()
    """What it is about where that is more than one, by name; ``more`` are not named."""
    more: int = 0
    crumbs: Sequence[tuple[str, str]] = ()
    """The way to the page: words and addresses."""

    def fields(self) -> list[tuple[str, str]]:
        """The hidden fields, one pair per value."""
        return [
            (name, value)
            for name, values in self.hidden.items()
            for value in ([values] if isinstance(values, str) else values)
        ]


def ask(request: HttpRequest, question: Question) -> TemplateResponse:
    """The page that asks; its form posts to `question.action`."""
    return TemplateResponse(request, "components/confirm_page.html", {"question": question})
