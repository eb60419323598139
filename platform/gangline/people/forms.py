"""Forms of users, groups, roles and access rules."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.contrib.auth.hashers import make_password
from django.db.models import Q

from gangline.access.grants import held_permissions, rules_of, visible_scopes
from gangline.access.models import AccessRule, CustomRole, Group
from gangline.access.permissions import Permission
from gangline.access.roles import Role
from gangline.accounts.models import User
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope

from .selectors import MatrixRow, all_roles, matrix


def _givable_roles(user: User) -> Iterator[Role]:
    """Roles that the person could give in one place at least."""
    own = Scope.objects.filter(pk__in=rules_of(user).values("scope"))
    held = [
        permissions
        for scope in own
        if Permission.ACCESS_RULE_CREATE in (permissions := held_permissions(user, scope))
    ]
    for role in all_roles():
        if any(role.all <= permissions for permissions in held):
            yield role


def _offer_roles(form: ResourceForm, *, empty: str) -> None:
    """Let ``role`` and ``scope`` be chosen among what the actor could give."""
    user = form.actor.user
    scopes = visible_scopes(user, Permission.ACCESS_RULE_CREATE)
    field = form.fields["scope"]
    field.label = "Where"
    field.queryset = scopes.order_by("kind", "name")  # type: ignore[attr-defined]
    field.empty_label = "Choose a place"  # type: ignore[attr-defined]
    form.fields["role"].choices = [  # type: ignore[attr-defined]
        ("", empty),
        *((role.key, role.label) for role in _givable_roles(user)),
    ]


class UserForm(ResourceForm):
    """An invitation with the first role; later, the person's name and groups."""

    role = forms.ChoiceField(
        required=False,
        help_text=("Without a role they can sign in but see nothing. You can add more later."),
    )
    scope = forms.ModelChoiceField(Scope.objects.none(), required=False)
    groups = forms.ModelMultipleChoiceField(
        Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
    )

    sections = (
        ("", ("username", "full_name", "email")),
        ("First role", ("role", "scope")),
    )

    class Meta:
        model = User
        fields = ("username", "full_name", "email")

    def prepare(self) -> None:
        local = Group.objects.filter(source=Group.Source.LOCAL).order_by("name")
        field = self.fields["groups"]
        field.queryset = local  # type: ignore[attr-defined]
        if self.is_edit:
            self.initial["groups"] = list(self.instance.memberships.values_list("group", flat=True))
        if not local.exists():
            del self.fields["groups"]
        if self.is_edit:
            del self.fields["role"], self.fields["scope"]
        else:
            _offer_roles(self, empty="No role yet")

    def clean(self) -> dict[str, Any] | None:
        found = super().clean()
        pair = {name: self.cleaned_data.get(name) for name in ("role", "scope")}
        for name, value in pair.items():
            if not value and any(pair.values()) and name not in self.errors:
                words = (
                    "Choose the role too." if name == "role" else ("Choose where the role applies.")
                )
                self.add_error(name, forms.ValidationError(words, "required"))
        return found

    def values(self) -> dict[str, Any]:
        found = super().values()
        return found if self.is_edit else found | {"password": make_password(None)}

    def parts(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        if self.cleaned_data.get("role"):
            found["rule"] = {name: self.cleaned_data[name] for name in ("role", "scope")}
        if "groups" in self.cleaned_data:
            others = Group.objects.none()
            if self.is_edit:
                others = self.instance.member_of.exclude(source=Group.Source.LOCAL)
            found["groups"] = [*self.cleaned_data["groups"], *others]
        return found


class GroupForm(ResourceForm):
    members = forms.ModelMultipleChoiceField(
        User.objects.none(),
        to_field_name="uid",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    class Meta:
        model = Group
        fields = ("name", "description")

    def prepare(self) -> None:
        field = self.fields["members"]
        people = Q(is_active=True, kind=User.Kind.PERSON)
        if self.is_edit:
            people |= Q(memberships__group=self.instance)
            self.initial["members"] = list(self.instance.members.values_list("uid", flat=True))
        users = User.objects.filter(people).distinct().order_by("username")
        field.queryset = users  # type: ignore[attr-defined]
        if self.instance.source != Group.Source.LOCAL:
            field.disabled = True

    def parts(self) -> Mapping[str, Any]:
        return {"members": list(self.cleaned_data["members"])}


class RoleForm(ResourceForm):
    permissions = forms.MultipleChoiceField(
        choices=[(one.value, one.action) for one in Permission],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one permission."},
    )

    sections = (("", ("name", "description")),)

    class Meta:
        model = CustomRole
        fields = ("name", "description", "permissions")

    def views(self) -> Any:
        # The permissions are drawn as a matrix.
        return super().views()[:1]

    def matrix(self) -> Iterator[MatrixRow]:
        return matrix(self["permissions"].value() or ())


class AccessRuleForm(ResourceForm):
    """Who, which role, where: what the actor could not give is not offered."""

    subject = forms.ChoiceField(label="Who")
    role = forms.ChoiceField()

    field_order = ("subject", "role", "scope")

    class Meta:
        model = AccessRule
        fields = ("role", "scope")

    def prepare(self) -> None:
        people = User.objects.filter(is_active=True).order_by("kind", "username")
        self.fields["subject"].choices = [  # type: ignore[attr-defined]
            ("", "Choose a user or a group"),
            *(
                (f"user:{pk}", f"{name} (service account)" if kind == "service" else name)
                for pk, name, kind in people.values_list("uid", "username", "kind")
            ),
            *(
                (f"group:{pk}", f"{name} (group)")
                for pk, name in Group.objects.order_by("name").values_list("pk", "name")
            ),
        ]
        _offer_roles(self, empty="Choose a role")

    def values(self) -> dict[str, Any]:
        kind, _, pk = self.cleaned_data["subject"].partition(":")
        found = super().values()
        if kind == "group":
            return found | {"group": Group.objects.filter(pk=pk).first()}
        return found | {"user": User.objects.filter(uid=pk).first()}
