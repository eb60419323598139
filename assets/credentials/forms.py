"""Forms of credentials: one with every type, of which one is chosen, and one for new values."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.forms.utils import ErrorDict

from assets import trials
from assets.credentials import store
from assets.credentials.types import (
    EXISTING,
    LONGEST,
    LONGEST_NAME,
    MOST_PAIRS,
    TYPES,
    CredentialType,
    GenericSecret,
)
from assets.models import Credential, PersonalCredential
from gangline.clusters.trial_forms import Tested
from gangline.clusters.trials import TEST
from gangline.drivers.trials.places import Failed, Place
from gangline.forms.bound import field_view
from gangline.forms.fields import FieldView, SectionView
from gangline.forms.models import SecretTextarea, fields_of
from gangline.lib.problems import Problem, Refused
from gangline.resources.forms import ResourceForm
from gangline.scopes.models import Scope
from gangline.scopes.selectors import tenant_scope

PAIRS = "keyValuePairs"
FIRST_PAIRS, MORE_PAIRS = 3, 3
EXISTING_HELP = (
    "On Kubernetes: the name of a Secret that you manage yourself in the namespace of each "
    "project. Gangline never reads, changes or deletes it. Leave the values empty; for a generic "
    "secret, name its keys."
)
MORE = "more-pairs"
"""The button that draws further pairs."""


class ValuesForm(Tested):
    """The values of the credential: fields of each type, ``password.user``."""

    offered: tuple[CredentialType, ...] = ()
    """The types that are drawn; one of them is chosen."""

    @property
    def chosen(self) -> CredentialType:
        raise NotImplementedError

    def add_values(self, offered: tuple[CredentialType, ...]) -> None:
        self.offered = offered
        given = str((self.data if self.is_bound else self.initial).get("pairs", ""))
        is_count = given.isdecimal() and len(given) <= len(str(MOST_PAIRS))
        self.pairs = min(int(given) if is_count else FIRST_PAIRS, MOST_PAIRS)
        for one in offered:
            self.fields.update(self._fields(one))

    def clean(self) -> dict[str, Any]:
        """The values of the chosen type are judged as a client's are."""
        cleaned = super().clean() or self.cleaned_data
        try:
            values = store.read(self.chosen, self._given(cleaned))
        except Refused as refused:
            self.refuse(refused.problems)
        else:
            cleaned["given"] = values.model_dump(by_alias=True)
        return cleaned

    def refuse(self, problems: list[Problem]) -> None:
        """A problem of the values stands at the field of the chosen type."""
        for one in problems:
            if one.path in self.fields:
                self.add_error(one.path, one.told)
                continue
            path = f"{self.chosen.key}.{one.path}"
            if one.path.partition(".")[0] == PAIRS and path not in self.fields:
                path = f"{self.chosen.key}.{PAIRS}.0.key"
            self.add_error(path if path in self.fields else None, one.told)

    def values(self) -> dict[str, Any]:
        return super().values() | {"given": self.cleaned_data["given"]}

    @property
    def can_test(self) -> bool:
        return any(one.pulls for one in self.offered)

    def to_try(self, scope: Scope) -> Place:
        given = self.cleaned_data.get("given")
        if given is not None:
            return trials.of_values(self.chosen, given)
        named = [self[name] for name in self._fields(self.chosen) if self[name].errors]
        said = f"{named[0].label}: {named[0].errors[0]}" if named else "Enter the values first."
        raise Failed("values", said=said)

    def pressed(self, button: str) -> bool:
        if button == TEST:
            return self.chosen.pulls and super().pressed(button)
        of_pairs = next((one for one in self.offered if one.model is GenericSecret), None)
        if button != MORE or of_pairs is None:
            return False
        self.pairs = min(self.pairs + MORE_PAIRS, MOST_PAIRS)
        self.fields.update(self._fields(of_pairs))
        self._errors = ErrorDict()
        return True

    def parts_of_types(self) -> Iterator[tuple[CredentialType, bool, list[Any], bool]]:
        """Each type, whether it is chosen, its fields, and whether they are pairs."""
        for one in self.offered:
            views = [field_view(self[name]) for name in self._fields(one)]
            is_pairs = one.model is GenericSecret
            lines: list[Any] = (
                _pairs(views) if is_pairs else [replace(view, required=True) for view in views]
            )
            yield one, one is self.chosen, lines, is_pairs

    def views(self) -> list[SectionView]:
        own = {name for one in self.offered for name in self._fields(one)} | {"kind"}
        visible = [n for n in self.fields if n not in own and not self[n].is_hidden]
        return [SectionView("s0", "", [field_view(self[n]) for n in visible])] if visible else []

    def _fields(self, one: CredentialType) -> dict[str, forms.Field]:
        made = fields_of(one.model)
        if one.model is GenericSecret:
            for number in range(self.pairs):
                made[f"{PAIRS}.{number}.key"] = forms.CharField(
                    label=f"Key {number + 1}", widget=forms.TextInput({"class": "mono"})
                )
                made[f"{PAIRS}.{number}.value"] = forms.CharField(
                    label=f"Value {number + 1}",
                    widget=SecretTextarea({"rows": 1, "class": "mono"}),
                )
        aliases = {name: str(info.alias or name) for name, info in one.model.model_fields.items()}
        for field in made.values():
            # Whether it is required depends on the type that is chosen; the values judge.
            field.required, field.initial = False, ""
            field.strip = False  # type: ignore[attr-defined]
            field.max_length = LONGEST  # type: ignore[attr-defined]
        return {f"{one.key}.{aliases.get(name, name)}": field for name, field in made.items()}

    def _given(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        prefix = f"{self.chosen.key}."
        given = {
            name.removeprefix(prefix): value.replace("\r\n", "\n")
            for name, value in cleaned.items()
            if name.startswith(prefix) and isinstance(value, str) and value
        }
        existing = {EXISTING: cleaned[EXISTING]} if cleaned.get(EXISTING) else {}
        given |= existing
        if self.chosen.model is not GenericSecret:
            return given
        self._rows = [
            n
            for n in range(self.pairs)
            if any(f"{PAIRS}.{n}.{part}" in given for part in ("key", "value"))
        ]
        pairs = [
            {part: given.get(f"{PAIRS}.{n}.{part}", "") for part in ("key", "value")}
            for n in self._rows
        ]
        if existing:
            pairs = [{part: text for part, text in pair.items() if text} for pair in pairs]
        return existing | ({PAIRS: pairs} if pairs else {})


class CredentialForm(ValuesForm):
    not_edited = frozenset({"scope"})
    copied = ("kind",)

    class Meta:
        model: type[Credential] = Credential
        fields: tuple[str, ...] = ("name", "description", "scope")

    @classmethod
    def copy_of(cls, obj: Credential) -> dict[str, Any]:
        """Values are typed anew; what of them is shown anyway is there."""
        found = super().copy_of(obj)
        keys = obj.shown.get("keys", ())
        found |= {"pairs": max(len(keys), FIRST_PAIRS), f"{obj.kind}.url": obj.shown.get("url")}
        found |= {f"{obj.kind}.{PAIRS}.{n}.key": key for n, key in enumerate(keys)}
        return found if obj.is_ours else {**found, EXISTING: obj.object_name}

    def prepare(self) -> None:
        if "scope" in self.fields:
            places = self.scopes()
            field = self.fields["scope"]
            field.queryset, field.empty_label = places, None  # type: ignore[attr-defined]
        if not self.is_edit:
            if "scope" in self.fields:
                self.fields[EXISTING] = forms.CharField(
                    label="Existing Secret",
                    required=False,
                    max_length=LONGEST_NAME,
                    help_text=EXISTING_HELP,
                    widget=forms.TextInput({"class": "mono"}),
                )
            self.fields["kind"] = forms.ChoiceField(
                label="Type", choices=[(t.key, t.label) for t in TYPES.values()]
            )
            self.add_values(tuple(TYPES.values()))

    def offer(self, kinds: Collection[str]) -> None:
        """Only these types."""
        fit = [one for one in self.offered if one.key in kinds]
        for one in self.offered:
            for name in () if one in fit else self._fields(one):
                del self.fields[name]
        self.offered = tuple(fit)
        choices = [(one.key, one.label) for one in fit]
        self.fields["kind"].choices = choices  # type: ignore[attr-defined]

    @property
    def chosen(self) -> CredentialType:
        text = self.data.get("kind") if self.is_bound else self.initial.get("kind")
        return TYPES.get(str(text), self.offered[0] if self.offered else TYPES["genericSecret"])

    def clean(self) -> dict[str, Any]:
        return forms.ModelForm.clean(self) or {} if self.is_edit else super().clean()

    def values(self) -> dict[str, Any]:
        if self.is_edit:
            return ResourceForm.values(self)
        return super().values() | {"kind": self.chosen.key}


class PersonalCredentialForm(CredentialForm):
    not_edited = frozenset()

    class Meta(CredentialForm.Meta):
        model = PersonalCredential
        fields = ("name", "description")

    def parts_of_types(self) -> Iterator[tuple[CredentialType, bool, list[Any], bool]]:
        """The same, each said for what one's own are of use for."""
        for one, *rest in super().parts_of_types():
            yield replace(one, text=one.own_text or one.text), *rest  # type: ignore[misc]

    def values(self) -> dict[str, Any]:
        return super().values() | ({} if self.is_edit else {"scope": tenant_scope()})


class RotationForm(ValuesForm):
    """New values in place of those that are there."""

    class Meta:
        model: type[Credential] = Credential
        fields: tuple[str, ...] = ()

    def prepare(self) -> None:
        self.add_values((self.instance.type,))
        if self.is_bound or self.chosen.model is not GenericSecret:
            return
        # What names a key goes on finding it.
        self.pairs = min(max(self.pairs, len(self.instance.keys)), MOST_PAIRS)
        self.fields.update(self._fields(self.chosen))
        for number, key in enumerate(self.instance.keys):
            self.fields[f"{self.chosen.key}.{PAIRS}.{number}.key"].initial = key

    @property
    def chosen(self) -> CredentialType:
        kind: CredentialType = self.instance.type
        return kind


def _pairs(views: list[FieldView]) -> list[tuple[FieldView, FieldView]]:
    return list(zip(views[::2], views[1::2], strict=True))


__all__ = ["CredentialForm", "PersonalCredentialForm", "RotationForm"]
