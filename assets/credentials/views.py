"""The page that gives a credential new values."""

from typing import Any

from django.http import Http404, HttpResponse

from assets.credentials.forms import RotationForm
from gangline.resources.forms import ResourceForm
from gangline.resources.views import EditView


class RotateView(EditView):
    """As editing, with the fields of the values alone. Those of others are not ours to replace."""

    def object(self, pk: Any) -> Any:
        found = super().object(pk)
        if not found.is_ours:
            raise Http404
        return found

    def form(self, instance: Any = None, **kwargs: Any) -> ResourceForm:
        data = self.request.POST if self.request.method == "POST" else None
        return RotationForm(
            data, resource=self.resource, actor=self.actor, instance=instance, **kwargs
        )

    def page(self, form: ResourceForm, *, status: int = 200, **more: Any) -> HttpResponse:
        return super().page(form, status=status, rotates=True, **more)
