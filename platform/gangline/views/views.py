"""The saved views of a table, beside it."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from gangline.forms.bound import field_view
from gangline.resources.forms import ResourceForm
from gangline.resources.registry import get
from gangline.resources.services import Saved
from gangline.resources.views import CreateView
from gangline.tables import saved


class TableViews(CreateView):
    """Lists them, and saves the one that the address has."""

    resource = get("saved_view")

    def get(self, request: HttpRequest, table: str = "") -> HttpResponse:
        return self.page(self.form())

    def post(self, request: HttpRequest, table: str = "") -> HttpResponse:
        return super().post(request)

    def form(self, instance: Any = None, **kwargs: Any) -> ResourceForm:
        name = self.kwargs["table"]
        table = saved.table_of(name)
        if table is None:
            raise Http404
        given = {"table": name, "query": saved.text_of(table, self.request.GET)}
        data = self.request.POST.dict() | given if self.request.method == "POST" else None
        form: ResourceForm = self.resource.form_class(
            data, resource=self.resource, actor=self.actor, initial=given, **kwargs
        )
        return form

    def page(self, form: ResourceForm, *, status: int = 0, **more: Any) -> HttpResponse:
        name, text = self.kwargs["table"], form.initial["query"]
        page = reverse(saved.page_of(name))
        rows = self.resource.rows(self.actor.user).filter(table=name)
        context = self.context(
            fields=[field_view(form[one]) for one in ("name", "shared", "scope")],
            problems=form.problems(),
            back=f"{page}?{text}" if text else page,
            views=[
                (one, saved.address_of(one), self.resource.allows(self.actor.user, "edit", one))
                for one in rows
            ],
        )
        return render(self.request, "tables/views.html", context, status=status or 200)

    def done(self, saved_view: Saved[Any], sentence: str) -> HttpResponse:
        super().done(saved_view, sentence)
        return redirect(saved.address_of(saved_view.obj))
