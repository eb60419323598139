"""Testing what is stored, from its own page."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from assets import trials
from gangline.resources.resource import Panel
from gangline.resources.views import DetailView

OUTCOME = "gangline_outcome"


class TestView(DetailView):
    """The page again, with how the test went."""

    def get(self, request: HttpRequest, pk: Any, tab: str = "") -> HttpResponse:
        return redirect(self.resource.url(self.object(pk)))

    def post(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("edit", obj)
        if not trials.can_be_tested(obj):
            raise Http404
        outcome = trials.stored(self.actor, self.resource, obj)
        setattr(request, OUTCOME, outcome)
        return super().get(request, pk)


def panel_of(resource: Any) -> Panel:
    """The button on the page of an object, for who may change it."""

    def context(request: HttpRequest, obj: Any) -> dict[str, Any] | None:
        if not trials.can_be_tested(obj):
            return None
        return {"url": resource.url(obj, trials.TEST), "outcome": getattr(request, OUTCOME, None)}

    return Panel(
        title="Connection",
        template="assets/connection.html",
        context=context,
        allowed=lambda user, obj: resource.allows(user, "edit", obj),
    )
