"""The pages below Settings: a tab per category, and the environment."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import get_text_list, slugify
from django.views.decorators.http import require_http_methods, require_safe

from gangline.access.actor import actor_of
from gangline.access.grants import held_everywhere
from gangline.access.permissions import Permission
from gangline.db.once import forget
from gangline.forms.bound import summary
from gangline.lib.problems import Refused
from gangline.settings.catalogue import categories

from . import services
from .environment import environment
from .forms import SettingsForm

ENVIRONMENT = "Environment"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: HttpRequest, category: str = "") -> HttpResponse:
    """The settings of one category: what holds, where it comes from, what else could be."""
    actor = actor_of(request, "form")
    services.need(actor, Permission.SETTING_VIEW)
    known = {slugify(name): name for name in categories()}
    name = known.get(category or next(iter(known)))
    if name is None:
        raise Http404
    may_edit = held_everywhere(actor.user, Permission.SETTING_EDIT)
    if request.method != "POST":
        return _page(request, name, SettingsForm(name, may_edit=may_edit))
    services.need(actor, Permission.SETTING_EDIT)
    form = SettingsForm(name, request.POST, may_edit=may_edit)
    if not form.is_valid():
        return _page(request, name, form, status=422)
    try:
        changed = services.change(actor, form.wanted())
    except Refused as refused:
        form.refuse(refused.problems)
        return _page(request, name, form, status=422)
    except services.Changed as changed_meanwhile:
        forget()
        again = SettingsForm(name, request.POST, may_edit=may_edit)
        stale = [one for one in again.rows() if one.setting.key in changed_meanwhile.keys]
        return _page(request, name, again, stale=stale, status=409)
    labels = get_text_list([one.label for one in changed], "and")
    messages.success(request, f"Saved: {labels}." if labels else "Nothing was changed.")
    return redirect(_url(name))


@login_required
@require_safe
def environment_page(request: HttpRequest) -> HttpResponse:
    """What the operator decides when the server starts; read-only."""
    services.need(actor_of(request, "form"), Permission.SETTING_VIEW)
    search = request.GET.get("q", "").strip()[:100]
    context = {"groups": environment(search), "search": search, "tabs": _tabs(ENVIRONMENT)}
    return render(request, "administration/environment.html", context)


def _page(
    request: HttpRequest, name: str, form: SettingsForm, *, status: int = 200, **more: Any
) -> HttpResponse:
    context = {
        "category": name,
        "rows": form.rows(),
        "may_edit": any(not field.disabled for field in form.fields.values()),
        "problems": summary(form) if form.is_bound else [],
        "tabs": _tabs(name),
        **more,
    }
    return render(request, "administration/settings.html", context, status=status)


def _tabs(current: str) -> list[tuple[str, str, bool]]:
    return [
        *((name, _url(name), name == current) for name in categories()),
        (ENVIRONMENT, reverse("environment"), current == ENVIRONMENT),
    ]


def _url(name: str) -> str:
    return reverse("settings-category", args=[slugify(name)])
