"""Saved views of a table: who sees which, and the pages that save and delete them."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods, require_POST

from gangline.access.actor import actor_of
from gangline.access.grants import visible_scopes
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.scopes.models import Scope, ScopeKind
from gangline.tables.models import SavedView, SharedWith

_NOT_SAVED = ("after", "before", "up", "down", "view")
_INPUT = {"class": "input"}
_pages: dict[str, str] = {}


def register(table: str, page: str) -> None:
    """The page called ``page`` shows ``table``; called in ``AppConfig.ready``."""
    _pages[table] = page


def visible(user: User, table: str) -> QuerySet[SavedView]:
    """One's own, those for everyone and those of projects that one sees."""
    scopes = visible_scopes(user, Permission.PROJECT_VIEW)
    shared = Q(shared=SharedWith.EVERYONE) | Q(shared=SharedWith.PROJECT, scope__in=scopes)
    return SavedView.objects.filter(Q(owner=user) | shared, table=table)


class _ProjectField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    def label_from_instance(self, obj: Scope) -> str:
        return obj.name


class SavedViewForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Name and audience; what it shows comes from the address of the page."""

    scope = _ProjectField(
        Scope.objects.none(),
        required=False,
        label="Project",
        empty_label="–",
        widget=forms.Select(attrs=_INPUT),
    )

    class Meta:
        model = SavedView
        fields = ("name", "shared", "scope")
        widgets = {"name": forms.TextInput(_INPUT), "shared": forms.Select(attrs=_INPUT)}

    def __init__(self, user: User, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        seen = visible_scopes(user, Permission.PROJECT_VIEW).filter(kind=ScopeKind.PROJECT)
        cast(_ProjectField, self.fields["scope"]).queryset = seen.order_by("name")

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if not name.isprintable():
            raise ValidationError("Use visible characters.", code="characters")
        return name

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        if found.get("shared") == SharedWith.PROJECT:
            if found.get("scope") is None and "scope" not in self.errors:
                self.add_error("scope", ValidationError("Choose the project.", code="required"))
        else:
            found["scope"] = None
        return found


@login_required
@require_http_methods(["GET", "POST"])
def views_page(request: HttpRequest, table: str) -> HttpResponse:
    """The saved views of a table, and a form that saves the one that the address has."""
    if table not in _pages:
        raise Http404
    user = actor_of(request, "form").user
    page, text = reverse(_pages[table]), _text(request.GET)
    view = SavedView(table=table, owner=user, query=text)
    form = SavedViewForm(user, request.POST or None, instance=view)
    if request.method == "POST" and form.is_valid() and _save(form):
        messages.success(request, f"View {view.name} is saved.")
        return redirect(address_of(view))
    context = {
        "form": form,
        "back": f"{page}?{text}" if text else page,
        "views": [(one, address_of(one)) for one in visible(user, table).select_related("scope")],
        "user_id": user.pk,
    }
    return render(request, "tables/views.html", context, status=422 if form.errors else 200)


def _save(form: SavedViewForm) -> bool:
    """Whether it is stored; else the form says why."""
    try:
        with transaction.atomic():
            form.save()
    except IntegrityError:
        taken = ValidationError("You already have a view with this name.", code="unique")
        form.add_error("name", taken)
        return False
    return True


@login_required
@require_POST
def view_delete(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Only its owner deletes a view."""
    user = actor_of(request, "form").user
    view = get_object_or_404(SavedView, pk=view_id, owner=user)
    view.delete()
    messages.success(request, f"View {view.name} is deleted.")
    return redirect(_pages[view.table]) if view.table in _pages else redirect("home")


def address_of(view: SavedView) -> str:
    """The page that shows it; it names the view, so that the page knows which it is."""
    query = QueryDict(view.query, mutable=True)
    query["view"] = str(view.pk)
    return f"{reverse(_pages[view.table])}?{query.urlencode(safe=',')}"


def _text(address: QueryDict) -> str:
    query = address.copy()
    for name in list(query):
        if name in _NOT_SAVED or not any(query.getlist(name)):
            del query[name]
    return query.urlencode(safe=",")[:2000]


urlpatterns = [
    path("views/<slug:table>", views_page, name="table-views"),
    path("views/<uuid:view_id>/delete", view_delete, name="view-delete"),
]
