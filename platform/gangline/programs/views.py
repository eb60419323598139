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
                title=f"Create a new secret for {obj.name}?",
                text=(
                    "Programs that use the current secret are signed out immediately and need the "
                    "new one."
                ),
                verb="Create new secret",
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
