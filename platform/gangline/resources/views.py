"""The pages of every resource: list, CSV, detail, create, edit, copy and delete."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views import View

from gangline.access.actor import Actor, actor_of
from gangline.access.grants import held_at, visible_scopes, who_can
from gangline.access.refusals import NotAllowed
from gangline.accounts.views import local_target
from gangline.audit.services import record_denied
from gangline.db.versioned import Versioned
from gangline.lib.problems import Refused
from gangline.scopes.models import ScopeKind
from gangline.scopes.selectors import tenant_scope
from gangline.tables.counts import capped
from gangline.tables.export import csv_response
from gangline.tables.pages import TablePage, with_address
from gangline.tables.paging import BadCursor, page
from gangline.tables.query import TableQuery, read

from . import services
from .forms import ResourceForm
from .models import TreeNode
from .registry import panels, resource_of, usages
from .resource import Resource
from .tables import filtered


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
            found = self.resource.rows(self.actor.user).filter(**{self.resource.lookup: pk}).first()
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
            if not self.resource.is_governed(verb):
                raise Http404
            permission, place = self.resource.permission(verb), self.resource.place(obj, verb)
            record_denied(
                actor=self.actor,
                action=f"{self.resource.key}.{verb}",
                object_type=self.resource.key,
                object_id=self.resource.id_of(obj),
                object_name=self.resource.name_of(obj),
                scope=place,
            )
            who = [user.username for user in who_can(permission, place)]
            raise NotAllowed(permission, place, who, is_audited=True)

    def may_create(self) -> bool:
        if "create" not in self.resource.verbs:
            return False
        if self.resource.own_path:
            return True
        kinds = list(ScopeKind)
        if issubclass(self.resource.model, TreeNode):
            # A node of the tree is made from above: a department's head makes no other department.
            kinds = kinds[: kinds.index(self.resource.model.scope_kind)]
        return held_at(self.actor.user, self.resource.permission("create"), kinds)

    @property
    def back(self) -> str:
        """Where the person came from, if the address says so."""
        return local_target(self.request, self.request.GET.get("next", ""))

    def context(self, **more: Any) -> dict[str, Any]:
        found = {"resource": self.resource, **more}
        if obj := more.get("object"):
            found["object_url"] = self.resource.url(obj)
        return found


def shown_once(
    request: HttpRequest, resource: Resource[Any], obj: Any, secret: str
) -> HttpResponse:
    """The page of a secret that has just been made."""
    context = {"resource": resource, "object": obj, "name": resource.name_of(obj)}
    facts = list(resource.facts_of(request, obj))
    context |= {"object_url": resource.url(obj), "secret": secret, "facts": facts}
    context["token_url"] = request.build_absolute_uri("/api/v1/token")
    return render(request, "resources/once.html", context)


class ListView(ResourceView):
    """The table: search, filters, order, columns and place in the address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        resource, user = self.resource, self.actor.user
        query = read(resource.table, request.GET, user)
        choices = resource.choices(user)
        rows = filtered(query, resource.rows(user), choices)
        try:
            found = page(
                rows,
                query.order,
                size=query.size,
                after=query.after,
                before=query.before,
                values=query.fetch,
            )
        except (BadCursor, ValidationError, ValueError):
            return redirect(query.url(request.path))
        resource.look_at(found.rows, user)
        table = TablePage(
            query=query,
            path=request.path,
            found=found,
            rows=[self._row(row, query) for row in found.rows],
            total=capped({"all": rows})["all"],
            choices=choices,
            export_path=reverse(f"{resource.key}-csv"),
            views_path=reverse("table-views", args=[resource.table.name]),
        )
        context = self.context(
            page=table,
            may_create=bool(resource.form) and self.may_create(),
            state="empty" if table.is_empty else "ready",
            whom_to_ask=self._whom_to_ask() if table.is_new else "",
            **resource.list_context(request),
        )
        return with_address(request, table, render(request, resource.list_template, context))

    def _whom_to_ask(self) -> str:
        """Why an empty list stays so for this person, and who may change that."""
        resource, user = self.resource, self.actor.user
        if not resource.form or "create" not in resource.verbs or self.may_create():
            return ""
        seen = visible_scopes(user, resource.permission("view"))
        # The closest of them: who may create there may be asked.
        scope = next((s for kind in reversed(ScopeKind) for s in seen.filter(kind=kind)[:1]), None)
        if scope is None:
            return ""
        permission = resource.permission("create")
        who = [one.username for one in who_can(permission, scope)]
        return NotAllowed(permission, scope, who).sentence

    def _row(self, row: Any, query: TableQuery[Any]) -> SafeString:
        return format_html(
            '<tr data-id="{0}" data-testid="row-{0}">{1}</tr>',
            self.resource.id_of(row),
            self.resource.table.tds(row, query.columns),
        )


class CsvView(ResourceView):
    """All rows of the list, streamed."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        query = read(self.resource.table, request.GET, self.actor.user)
        user, resource = self.actor.user, self.resource
        rows = filtered(query, resource.rows(user), resource.choices(user))
        return csv_response(request, query, rows)


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
                facts=list(self._facts(obj)) if not tab else [],
                panels=shown,
                tabs=[
                    (one or "Overview", self._tab_url(obj, one), one.lower() == tab) for one in tabs
                ]
                if len(tabs) > 1
                else [],
                may={
                    verb: resource.allows(user, verb, obj)
                    and not (verb == "delete" and resource.kept_because(obj))
                    for verb in resource.verbs
                },
                actions=[
                    (action, action.url(obj))
                    for action in resource.actions
                    if resource.offers(user, action, obj)
                ],
                edit_url=resource.url(obj, "edit") if "edit" in resource.verbs else "",
                delete_url=resource.url(obj, "delete") if "delete" in resource.verbs else "",
                copy_url=resource.url(obj, "copy") if resource.can_copy else "",
                usages=usages(obj, user) if resource.names_users and not tab else [],
            ),
        )

    def _facts(self, obj: Any) -> Iterator[tuple[str, Any]]:
        """Objects that the person may see as links to their pages."""
        for label, value in self.resource.facts_of(self.request, obj):
            other = resource_of(value) if isinstance(value, Model) else None
            if other and other.visible(self.actor.user).filter(pk=value.pk).exists():
                link = format_html('<a href="{}">{}</a>', other.url(value), other.name_of(value))
                yield label, link
            else:
                yield label, value

    def _tab_url(self, obj: Any, tab: str) -> str:
        url = self.resource.url(obj)
        return f"{url}/{tab.lower()}" if tab else url


class FormView(ResourceView):
    """Create, edit and copy: what was typed stays, problems stand beside their fields."""

    def page(self, form: ResourceForm, *, status: int = 0, **more: Any) -> HttpResponse:
        sections, problems, redrawn = form.views(), form.problems(), form.redrawn
        if redrawn.told:
            messages.success(self.request, redrawn.told)
        context = self.context(
            form=form, sections=sections, problems=problems, back=self.back, **more
        )
        template = redrawn.template or self.resource.form_template
        return render(self.request, template, context, status=status or redrawn.status)

    def form(self, instance: Any = None, **kwargs: Any) -> ResourceForm:
        data = self.request.POST if self.request.method == "POST" else None
        files = self.request.FILES if data is not None else None
        form: ResourceForm = self.resource.form_class(
            data, files, resource=self.resource, actor=self.actor, instance=instance, **kwargs
        )
        return form

    def done(self, saved: services.Saved[Any], sentence: str) -> HttpResponse:
        if secret := self.resource.shown_once(saved.obj):
            return shown_once(self.request, self.resource, saved.obj, secret)
        messages.success(self.request, f"{sentence} {saved.notice}".strip())
        return redirect(self.back or self.resource.url(saved.obj))


class CreateView(FormView):
    def get(self, request: HttpRequest) -> HttpResponse:
        self._refuse_strangers()
        given = {name: value for name, value in request.GET.items() if name != "next"}
        return self.page(self.form(initial=given))

    def post(self, request: HttpRequest) -> HttpResponse:
        self._refuse_strangers()
        form = self.form()
        if form.pressed(request.POST.get("_go", "")):
            return self.page(form)
        if form.is_valid():
            try:
                saved = services.create(
                    self.resource, actor=self.actor, values=form.values(), parts=form.parts()
                )
            except Refused as refused:
                form.refuse(refused.problems)
            except NotAllowed as refusal:
                form.add_error(None, refusal.sentence)
                return self.page(form, status=403)
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
        if form.pressed(request.POST.get("_go", "")):
            return self.page(form, object=obj)
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
        except NotAllowed as refusal:
            form.add_error(None, refusal.sentence)
            return self.page(form, status=403, object=obj)
        except services.Conflict as conflict:
            return self._conflict(form, conflict.current)
        if not saved.changes:
            messages.info(request, "Nothing was changed.")
            return redirect(self.resource.url(saved.obj))
        return self.done(saved, f"{self.resource.name_of(saved.obj)} was saved.")

    def _conflict(self, form: ResourceForm, current: Any) -> HttpResponse:
        """The form as it was typed, beside what is stored now; saving again overwrites that."""
        stored = self.resource.form_class(
            resource=self.resource, actor=self.actor, instance=current
        )
        differences = form.differences(stored)
        posted = self.request.POST.copy()
        posted["version"] = str(current.version) if isinstance(current, Versioned) else ""
        form.data = posted
        return self.page(
            form, status=409, object=current, conflict=current, differences=differences
        )


class CopyView(CreateView):
    """A new object that begins with the values of another."""

    def get(self, request: HttpRequest, pk: Any) -> HttpResponse:  # type: ignore[override]
        obj = self.object(pk)
        self._refuse_strangers()
        initial = self.resource.form_class.copy_of(obj)
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
        messages.success(request, f"{name} {self.resource.deleted_word}.")
        return redirect(self.back or self.resource.list_url())

    def _ask(self, obj: Any, *, status: int = 200, found: Any = None, **more: Any) -> HttpResponse:
        used = usages(obj, self.actor.user, blocking=True) if found is None else found
        context = self.context(object=obj, name=self.resource.name_of(obj), usages=used, **more)
        return render(self.request, self.resource.delete_template, context, status=status)
