"""Testing what is stored, from its own page."""

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from gangline.drivers.trials.places import Outcome
from gangline.resources.resource import Panel
from gangline.resources.views import DetailView

from . import trials

OUTCOME = "gangline_outcome"


class TestView(DetailView):
    """The page again, with how the test went."""

    def outcome(self, obj: Any) -> Outcome | None:
        """Test the object; None: there is nothing to reach for it."""
        raise NotImplementedError

    def get(self, request: HttpRequest, pk: Any, tab: str = "") -> HttpResponse:
        return redirect(self.resource.url(self.object(pk)))

    def post(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("edit", obj)
        outcome = self.outcome(obj)
        if outcome is None:
            raise Http404
        setattr(request, OUTCOME, outcome)
        return super().get(request, pk)


def panel_of(resource: Any, can_be_tested: Callable[[Any], bool]) -> Panel:
    """The button on the page of an object, for who may change it."""

    def context(request: HttpRequest, obj: Any) -> dict[str, Any] | None:
        if not can_be_tested(obj):
            return None
        return {"url": resource.url(obj, trials.TEST), "outcome": getattr(request, OUTCOME, None)}

    return Panel(
        title="Connection",
        template="assets/connection.html",
        context=context,
        allowed=lambda user, obj: resource.allows(user, "edit", obj),
    )
