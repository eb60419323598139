"""The pages of every resource: list, CSV, detail, create, edit, copy and delete."""

from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.forms.models import model_to_dict
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views import View

from gangline.access.actor import Actor, actor_of
from gangline.access.grants import visible_scopes, who_can
from gangline.access.refusals import NotAllowed
from gangline.audit.services import record_denied
from gangline.lib.problems import Refused
from gangline.scopes.selectors import tenant_scope

from . import services
from .export import csv_response
from .forms import ResourceForm
from .models import Versioned
from .registry import panels, usages
from .resource import Resource
from .tables import headers, read

PAGE_SIZE = 50


class ResourceView(LoginRequiredMixin, View):
    """What the pages share: the resource, the actor, the object that the person may see."""

    resource: ClassVar[Resource[Any]]
    actor: Actor

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return self.handle_no_permission()
        self.actor = actor_of(request, "form")
        return super().dispatch(request, *args, **kwargs)

    def object(self, pk: Any) -> Any:
        try:
            found = self.resource.rows(self.actor.user).filter(pk=pk).first()
        except (ValueError, ValidationError, OverflowError):
            found = None
        if found is None:
            raise Http404
        return found

    def need(self, verb: str, obj: Any) -> None:
        """Raise NotAllowed unless the person may do it to the object."""
        if verb not in self.resource.verbs:
            raise Http404
        if not self.resource.allows(self.actor.user, verb, obj):
            permission, place = self.resource.permission(verb), self.resource.place(obj, verb)
            record_denied(
                actor=self.actor,
                action=f"{self.resource.key}.{verb}",
                object_type=self.resource.key,
                object_id=self.resource.id_of(obj),
                object_name=self.resource.name_of(obj),
                scope=place,
            )
            raise NotAllowed(permission, place, [u.username for u in who_can(permission, place)])

    def may_create(self) -> bool:
        if "create" not in self.resource.verbs:
            return False
        return visible_scopes(self.actor.user, self.resource.permission("create")).exists()

    def context(self, **more: Any) -> dict[str, Any]:
        found = {"resource": self.resource, **more}
        if obj := more.get("object"):
            found["object_url"] = self.resource.url(obj)
        return found


class ListView(ResourceView):
    """The table: search, filters, sort and pages in the address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        resource = self.resource
        listing = read(resource.table, resource.rows(self.actor.user), request.GET)
        paginator = Paginator(listing.rows, PAGE_SIZE)
        page = paginator.get_page(request.GET.get("page"))
        context = self.context(
            listing=listing,
            headers=headers(resource.table, request, listing.sort),
            rows=[(resource.id_of(row), resource.table.tds(row)) for row in page.object_list],
            page=page,
            filters=[
                (one, [(v, w, v in listing.given.get(one.name, ())) for v, w in choices])
                for one in resource.table.filters
                if one.label and one.choices and (choices := one.choices(self.actor.user))
            ],
            may_create=self.may_create(),
            state="ready" if page.object_list else "filtered" if listing.is_narrowed else "empty",
            previous_url=self._page_url(page.previous_page_number()) if page.has_previous() else "",
            next_url=self._page_url(page.next_page_number()) if page.has_next() else "",
            csv_url=f"{resource.list_url()}.csv?{request.GET.urlencode()}",
        )
        return render(request, self.resource.list_template, context)

    def _page_url(self, number: int) -> str:
        asked = self.request.GET.copy()
        asked["page"] = str(number)
        return f"?{asked.urlencode()}"


class CsvView(ResourceView):
    """All rows of the list, streamed."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        listing = read(self.resource.table, self.resource.rows(self.actor.user), request.GET)
        return csv_response(self.resource, listing.rows)


class DetailView(ResourceView):
    """What an object is, what belongs to it, what uses it."""

    def get(self, request: HttpRequest, pk: Any, tab: str = "") -> HttpResponse:
        resource, user = self.resource, self.actor.user
        obj = self.object(pk)
        tabs, shown = [""], []
        for panel in panels(resource):
            if panel.allowed is not None and not panel.allowed(user, obj):
                continue
            if panel.tab not in tabs:
                tabs.append(panel.tab)
            if panel.tab.lower() == tab:
                context = panel.context(request, obj)
                if context is not None:
                    shown.append((panel, context))
        if tab and tab not in [one.lower() for one in tabs]:
            raise Http404
        return render(
            request,
            resource.detail_template,
            self.context(
                **resource.detail_context(request, obj),
                object=obj,
                tab=tab,
                name=resource.name_of(obj),
                facts=list(resource.facts_of(request, obj)) if not tab else [],
                panels=shown,
                tabs=[
                    (one or "Overview", self._tab_url(obj, one), one.lower() == tab) for one in tabs
                ]
                if len(tabs) > 1
                else [],
                may={verb: resource.allows(user, verb, obj) for verb in resource.verbs},
                actions=[
                    (action, action.url(obj))
                    for action in resource.actions
                    if resource.allows(user, action.verb, obj)
                    and (action.shown is None or action.shown(obj))
                ],
                edit_url=resource.url(obj, "edit") if "edit" in resource.verbs else "",
                delete_url=resource.url(obj, "delete") if "delete" in resource.verbs else "",
                copy_url=resource.url(obj, "copy") if resource.can_copy else "",
                usages=usages(obj, user) if not tab else [],
            ),
        )

    def _tab_url(self, obj: Any, tab: str) -> str:
        url = self.resource.url(obj)
        return f"{url}/{tab.lower()}" if tab else url


class FormView(ResourceView):
    """Create, edit and copy: what was typed stays, problems stand beside their fields."""

    def page(self, form: ResourceForm, *, status: int = 200, **more: Any) -> HttpResponse:
        sections, problems = form.views(), form.problems()
        context = self.context(form=form, sections=sections, problems=problems, **more)
        return render(self.request, self.resource.form_template, context, status=status)

    def form(self, instance: Any = None, **kwargs: Any) -> ResourceForm:
        data = self.request.POST if self.request.method == "POST" else None
        files = self.request.FILES if data is not None else None
        form: ResourceForm = self.resource.form_class(
            data, files, resource=self.resource, actor=self.actor, instance=instance, **kwargs
        )
        return form

    def done(self, saved: services.Saved[Any], sentence: str) -> HttpResponse:
        messages.success(self.request, f"{sentence} {saved.notice}".strip())
        return redirect(self.resource.url(saved.obj))


class CreateView(FormView):
    def get(self, request: HttpRequest) -> HttpResponse:
        self._refuse_strangers()
        given = {name: value for name, value in request.GET.items() if name != "next"}
        return self.page(self.form(initial=given))

    def post(self, request: HttpRequest) -> HttpResponse:
        self._refuse_strangers()
        form = self.form()
        if form.is_valid():
            try:
                saved = services.create(
                    self.resource, actor=self.actor, values=form.values(), parts=form.parts()
                )
            except Refused as refused:
                form.refuse(refused.problems)
            else:
                return self.done(saved, f"{self.resource.name_of(saved.obj)} was created.")
        return self.page(form, status=422)

    def _refuse_strangers(self) -> None:
        if not self.may_create():
            permission = self.resource.permission("create")
            raise NotAllowed(permission, tenant_scope(), [])


class EditView(FormView):
    def get(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("edit", obj)
        return self.page(self.form(obj), object=obj)

    def post(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("edit", obj)
        form = self.form(obj)
        if not form.is_valid():
            return self.page(form, status=422, object=obj)
        try:
            saved = services.update(
                self.resource,
                actor=self.actor,
                obj=obj,
                values=form.values(),
                parts=form.parts(),
                version=form.cleaned_data.get("version") or 0,
            )
        except Refused as refused:
            form.refuse(refused.problems)
            return self.page(form, status=422, object=obj)
        except services.Conflict as conflict:
            return self._conflict(form, conflict.current)
        if not saved.changes:
            messages.info(request, "Nothing was changed.")
            return redirect(self.resource.url(saved.obj))
        return self.done(saved, f"{self.resource.name_of(saved.obj)} was saved.")

    def _conflict(self, form: ResourceForm, current: Any) -> HttpResponse:
        """The form as it was typed, beside what is stored now; saving again overwrites that."""
        stored = model_to_dict(current)
        differences = [
            (bound.label, stored.get(bound.name), bound.value())
            for bound in form
            if bound.name in stored
            and str(stored.get(bound.name) or "") != str(bound.value() or "")
        ]
        form.data = form.data.copy()
        form.data["version"] = str(current.version) if isinstance(current, Versioned) else ""
        return self.page(
            form, status=409, object=current, conflict=current, differences=differences
        )


class CopyView(CreateView):
    """A new object that begins with the values of another."""

    def get(self, request: HttpRequest, pk: Any) -> HttpResponse:  # type: ignore[override]
        obj = self.object(pk)
        self._refuse_strangers()
        fields = self.resource.form_class._meta.fields
        initial = model_to_dict(obj, fields=fields) | {"name": f"{obj.name}-copy"}
        return self.page(self.form(initial=initial), copied=obj)

    def post(self, request: HttpRequest, pk: Any) -> HttpResponse:  # type: ignore[override]
        return super().post(request)


class DeleteView(ResourceView):
    """The question, with what uses the object in place of a button where there is anything."""

    def get(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("delete", obj)
        return self._ask(obj)

    def post(self, request: HttpRequest, pk: Any) -> HttpResponse:
        obj = self.object(pk)
        self.need("delete", obj)
        name = self.resource.name_of(obj)
        if self.resource.confirm_by_name and request.POST.get("name", "").strip() != name:
            return self._ask(obj, status=422, wrong_name=request.POST.get("name", ""))
        try:
            services.delete(self.resource, actor=self.actor, obj=obj)
        except services.InUse as used:
            return self._ask(obj, status=409, found=used.usages)
        except Refused as refused:
            return self._ask(obj, status=409, refused=refused.problems)
        messages.success(request, f"{name} was deleted.")
        return redirect(self.resource.list_url())

    def _ask(self, obj: Any, *, status: int = 200, found: Any = None, **more: Any) -> HttpResponse:
        used = usages(obj, self.actor.user) if found is None else found
        context = self.context(object=obj, name=self.resource.name_of(obj), usages=used, **more)
        return render(self.request, self.resource.delete_template, context, status=status)
