"""Pages beside those of the resources: invitations, roles, questions, one's own account."""

from operator import attrgetter
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from gangline.access.actor import actor_of
from gangline.access.grants import explain, held_anywhere, rules_of, visible_scopes
from gangline.access.permissions import Permission
from gangline.access.roles import ROLES
from gangline.accounts import services as accounts
from gangline.accounts import ways
from gangline.accounts.forms import OwnPasswordForm
from gangline.accounts.models import User
from gangline.audit import actions
from gangline.audit.services import record
from gangline.forms.bound import summary
from gangline.resources.registry import get
from gangline.resources.services import Saved
from gangline.resources.views import CreateView
from gangline.scopes.models import Scope
from gangline.web.confirm import Question, ask

from . import services
from .resources import Users, actor_user, rules_panel
from .selectors import matrix


class InviteView(CreateView):
    """A new user, and the link that lets them in: it is shown this once."""

    resource = get("user")

    def done(self, saved: Saved[Any], sentence: str) -> HttpResponse:
        return _link_page(self.request, saved.obj, is_new=True)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def user_link(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Another link for somebody who lost theirs or their password."""
    user = _user(request, uid)
    if request.method == "POST":
        return _link_page(request, user)
    return _ask(
        request,
        user,
        title=f"Create a sign-in link for {user.username}?",
        text=(
            "They use it to choose a new password. It works once, within 72 hours, and replaces "
            "earlier links."
        ),
        verb="Create link",
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def user_activate(request: HttpRequest, uid: UUID) -> HttpResponse:
    user = _user(request, uid)
    if request.method != "POST":
        return _ask(
            request,
            user,
            title=f"Activate {user.username}?",
            text="They can sign in again, with the access rules that they have now.",
            verb="Activate",
        )
    services.reactivate(user, actor=actor_of(request, "form"))
    messages.success(request, f"{user.username} is active again.")
    return redirect(get("user").url(user))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def user_sign_out(request: HttpRequest, uid: UUID) -> HttpResponse:
    user = _user(request, uid)
    if request.method != "POST":
        return _ask(
            request,
            user,
            title=f"Sign {user.username} out everywhere?",
            text="Every browser session ends. API tokens keep working.",
            verb="Sign out",
        )
    services.sign_out(user, actor=actor_of(request, "form"))
    messages.success(request, f"{user.username} is signed out.")
    return redirect(get("user").url(user))


def _user(request: HttpRequest, uid: UUID) -> User:
    found = get("user").visible(actor_user(request)).filter(uid=uid).first()
    if not isinstance(found, User):
        raise Http404
    return found


def _ask(request: HttpRequest, user: User, *, title: str, text: str, verb: str) -> HttpResponse:
    url = get("user").url(user)
    return ask(
        request,
        Question(
            title=title,
            text=text,
            verb=verb,
            action=request.path,
            cancel_url=url,
            crumbs=(("Users", get("user").list_url()), (user.username, url)),
        ),
    )


def _link_page(request: HttpRequest, user: User, *, is_new: bool = False) -> HttpResponse:
    path = services.invite_link(user, actor=actor_of(request, "form"), is_new=is_new)
    context = {
        "person": user,
        "url": get("user").url(user),
        "link": request.build_absolute_uri(path),
        "has_role": rules_of(user).exists(),
    }
    answer = render(request, "people/link.html", context)
    answer["Cache-Control"] = "no-store"
    return answer


@login_required
@require_safe
def role_detail(request: HttpRequest, key: str) -> HttpResponse:
    """What a built-in role allows."""
    role = ROLES.get(key)
    if role is None or Permission.ROLE_VIEW not in held_anywhere(actor_user(request)):
        raise Http404
    context = {
        "role": role,
        "panel": {"rows": list(matrix(role.permissions, role.own_only))},
        "rules_url": f"{get('access_rule').list_url()}?role={key}",
    }
    return render(request, "people/role.html", context)


class CheckForm(forms.Form):
    """May somebody do something somewhere?"""

    user = forms.ModelChoiceField(
        User.objects.none(), label="Who", empty_label="Choose a user or a service account"
    )
    permission = forms.ChoiceField(label="May")
    scope = forms.ModelChoiceField(
        Scope.objects.none(), label="Where", empty_label="Choose a place"
    )

    def __init__(self, asker: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        accounts = get("service_account").visible(asker).values("user")
        others = User.objects.filter(Q(pk=asker.pk) | Q(pk__in=accounts))
        people = get("user").visible(asker) | others
        self.fields["user"].queryset = people.order_by("username")  # type: ignore[attr-defined]
        self.fields["permission"].choices = [  # type: ignore[attr-defined]
            ("", "Choose what"),
            *((one.value, one.action) for one in Permission),
        ]
        places = visible_scopes(asker, Permission.ACCESS_RULE_VIEW)
        field = self.fields["scope"]
        field.queryset = places.order_by("kind", "name")  # type: ignore[attr-defined]
        field.label_from_instance = attrgetter("title")  # type: ignore[attr-defined]


@login_required
@require_safe
def access_check(request: HttpRequest) -> HttpResponse:
    """May dana delete workloads in vision, and by which rules?"""
    asker = actor_user(request)
    if Permission.ACCESS_RULE_VIEW not in held_anywhere(asker):
        raise Http404
    form = CheckForm(asker, request.GET if request.GET else None)
    context: dict[str, Any] = {"form": form, "problems": []}
    if request.GET and form.is_valid():
        user, scope = form.cleaned_data["user"], form.cleaned_data["scope"]
        permission = Permission(form.cleaned_data["permission"])
        reasons = explain(user, permission, scope)
        visible = set(get("access_rule").visible(asker).values_list("pk", flat=True))
        context |= {
            "person": user,
            "action": permission.action,
            "place": scope.label,
            "allowed": any(not one.own_only for one in reasons),
            "own_only": bool(reasons),
            "reasons": [
                {
                    "role": one.role.label,
                    "group": one.rule.group,
                    "place": one.rule.scope.label,
                    "own_only": one.own_only,
                    "url": get("access_rule").url(one.rule) if one.rule.pk in visible else "",
                }
                for one in reasons
            ],
        }
    elif request.GET:
        context["problems"] = summary(form)
    status = 422 if context["problems"] else 200
    return render(request, "people/check.html", context, status=status)


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("full_name", "email")

    def _get_validation_exclusions(self) -> set[str]:
        found: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return found - {"folded_email"}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """One's own name and address, groups and access rules."""
    user = actor_user(request)
    stored = User.objects.get(pk=user.pk)
    form = AccountForm(request.POST if request.method == "POST" else None, instance=stored)
    if request.method == "POST" and form.is_valid():
        changed = form.changed_data
        with transaction.atomic():
            form.save()
            if changed:
                _record_own(request, user, f"{Users.key}.edit", {"fields": changed})
        messages.success(request, "Your account was saved.")
        return redirect("account")
    context = {
        "form": form,
        "problems": summary(form) if form.is_bound else [],
        "panel": rules_panel(request, rules_of(user)),
        "groups": user.member_of.order_by("name"),
        "has_password": user.has_usable_password(),
        "connections": ways.connections(user),
    }
    return render(request, "people/account.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own_password(request: HttpRequest) -> HttpResponse:
    """Another password; every other session of the person ends with it."""
    user = actor_user(request)
    form = OwnPasswordForm(request, user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            accounts.set_password(user, form.cleaned_data["new_password1"])
            _record_own(request, user, actions.PASSWORD_CHANGE)
        update_session_auth_hash(request, user)
        messages.success(request, "Your password was changed.")
        return redirect("account")
    context = {
        "form": form,
        "problems": summary(form) if form.is_bound else [],
        "is_temporary": user.password_is_temporary,
    }
    return render(request, "people/password.html", context, status=422 if form.errors else 200)


def _record_own(
    request: HttpRequest, user: User, action: str, detail: dict[str, Any] | None = None
) -> None:
    record(
        actor=actor_of(request, "form"),
        action=action,
        object_type="user",
        object_id=str(user.uid),
        object_name=user.username,
        detail=detail or {},
    )
