"""Replacing the secret of a service account or an access key."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_variables

from gangline.resources.views import ResourceView, shown_once
from gangline.web.confirm import Question, ask

from .services import renew_secret


class RenewView(ResourceView):
    """Asks, and shows the new secret in the answer."""

    def get(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("edit", obj)
        return ask(
            request,
            Question(
                title=f"Make a new secret for {obj.name}?",
                text="Programs with the secret of now are signed out at once and need the new one.",
                verb="Make a new secret",
                action=request.path,
                cancel_url=self.resource.url(obj),
                is_harmful=True,
            ),
        )

    @sensitive_variables("secret")
    def post(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("edit", obj)
        secret = renew_secret(self.resource, actor=self.actor, obj=obj)
        return shown_once(request, self.resource, self.object(pk), secret)
