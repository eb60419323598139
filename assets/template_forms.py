"""The form of a template: the workload form's own fields, and what may be done with each."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

from django import forms
from django.http import Http404, QueryDict
from django.utils.module_loading import import_string

from assets.credentials.within import MakesCredentials, chosen
from assets.layers import Mode, field_at, values_of
from assets.models import Asset, Template
from assets.template_checks import LINKABLE, template_problems
from assets.templates import half_title, starts
from gangline.access.refusals import NotVisible
from gangline.forms.bound import field_view
from gangline.forms.fields import FieldView, Option, SectionView, dom_id
from gangline.policies.effective import EffectivePolicy, effective_policy
from gangline.policies.rules import FieldRule, Sourced
from gangline.resources.forms import ResourceForm
from gangline.resources.registry import get
from gangline.scopes.models import Scope
from gangline.spec.frameworks import CONFIGURATIONS, FRAMEWORKS, WORKERS_ONLY
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import ItemSource, Value, asset_source
from gangline.spec_forms.form_actions import EDITS, FormAction, edited, settled
from gangline.spec_forms.raw import RoleInputs
from gangline.spec_forms.said import typed_values
from gangline.spec_forms.spec_form import RoleForm
from gangline.spec_forms.words import in_words

MODE = "~mode"
"""Ends the name of the control that says what may be done with a field."""
APPLY, UNLINK = "apply", "unlink"
ROLES = (Role.WORKER, Role.MASTER)
_FIRST = ("Environment", "Compute")
"""Titles of the sections with which a blank one begins."""
_MODE_WORDS = {"": "Can be changed", Mode.FIXED: "Fixed", Mode.ASK: "Required"}


class TemplateForm(MakesCredentials):
    not_edited = frozenset({"scope"})
    copied = ("values", "links", "modes", "master")
    sections: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("", ("name", "description", "scope")),
        ("Workload", ("framework", "configuration", "different")),
    )
    framework = forms.ChoiceField(
        choices=[(name, known.label) for name, known in FRAMEWORKS.items()], initial="PyTorch"
    )
    configuration = forms.ChoiceField(choices=list(CONFIGURATIONS.items()))
    different = forms.BooleanField(required=False)

    class Meta:
        model = Template
        fields: ClassVar[tuple[str, ...]] = (
            "name", "description", "scope", "framework", "configuration",
        )  # fmt: skip

    def __init__(self, *args: Any, initial: Mapping[str, Any] | None = None, **more: Any) -> None:
        given = dict(initial or {})
        for name, start in starts.items():
            if given.get(name):
                try:
                    given |= import_string(start)(more["actor"].user, str(given[name]))
                except NotVisible:
                    raise Http404 from None
        super().__init__(*args, initial=given, **more)

    def prepare(self) -> None:
        places = self.scopes()
        field = self.fields["scope"]
        field.queryset, field.empty_label = places, None  # type: ignore[attr-defined]
        self.initial.setdefault("different", self._begun("master") == Template.Master.DIFFERENCES)
        self.fields["framework"].widget.attrs["data-applies"] = ""
        leader = half_title(Role.MASTER, self.text("framework")).lower()
        self.fields["different"].label = f"Different set-up for the {leader}"
        for role in ROLES:
            for kind in LINKABLE:
                self.fields[f"{role}.{kind.key}"] = self._link(role, kind.key, kind.label)
        self._read()

    def _begun(self, name: str) -> Any:
        """What the form begins with."""
        return self.initial.get(name) or getattr(self.instance, name)

    def _link(self, role: Role, key: str, label: str) -> forms.ChoiceField:
        rows = get(key).visible(self.actor.user).select_related("scope").order_by("name")
        assets = [(str(row.pk), f"{row.name} ({row.scope.title})") for row in rows]
        return forms.ChoiceField(
            choices=[("", "None"), *assets],
            required=False,
            label=label,
            initial=self._begun("links").get(f"{role}.{key}", ""),
            help_text="The template follows its later changes.",
        )

    # What was said

    def _read(self) -> None:
        values, modes = self._begun("values"), self._begun("modes")
        stored = dict(zip(ROLES, typed_values(values), strict=True))
        self.inputs: dict[Role, RoleInputs] = {}
        self.modes: dict[str, str] = dict(modes)
        for role in ROLES:
            part = self.part(role)
            self.inputs[role] = (
                part.read(self.posted, stored[role]).inputs if self.is_bound else stored[role]
            )
            for spec in part.fields if self.is_bound else ():
                path = f"{role}.{spec.path}"
                if path + MODE in self.posted:
                    mode = self.posted.get(path + MODE, "")
                    self.modes = {k: v for k, v in self.modes.items() if k != path}
                    self.modes |= {path: mode} if mode else {}
        self.found: Sequence[Problem] = self._judged() if self.is_bound else ()

    def text(self, name: str) -> str:
        """What stands in a field of the form's own, right or wrong."""
        return str(self[name].value() or "")

    @property
    def posted(self) -> QueryDict:
        if not isinstance(self.data, QueryDict):
            raise TypeError("a form of a template is posted by a browser")
        return self.data

    @cached_property
    def links(self) -> dict[str, Asset]:
        """The assets that it links, by ``<role>.<kind>``."""
        found = {}
        for role in self._roles:
            for kind in LINKABLE:
                name = f"{role}.{kind.key}"
                wanted = self.text(name)
                if wanted in [value for value, _ in self.fields[name].choices[1:]]:  # type: ignore[attr-defined]
                    found[name] = get(kind.key).model.objects.get(pk=wanted)
        return found

    @cached_property
    def _roles(self) -> tuple[Role, ...]:
        alone = self.text("configuration") == WORKERS_ONLY or not self["different"].value()
        return (Role.WORKER,) if alone else ROLES

    def part(self, role: Role) -> RoleForm:
        return self._parts[role]

    @cached_property
    def _parts(self) -> Mapping[Role, RoleForm]:
        return {role: self._part(role) for role in ROLES}

    def _part(self, role: Role) -> RoleForm:
        bare = effective_policy([])
        standing: dict[str, Value] = {}
        rules: dict[str, FieldRule] = dict(bare.half(role))
        framework = self.text("framework")
        for name, asset in self.links.items():
            if not name.startswith(f"{role}."):
                continue
            source = asset_source(asset.pk, asset.name)
            for qualified, value in values_of(asset.values, role, framework, source).items():
                path = qualified.partition(".")[2]
                spec = field_at(qualified)
                if spec is None:
                    continue
                if spec.is_by_item:
                    items = tuple(ItemSource(i[spec.item_key], source) for i in value.value)
                    standing[path] = replace(value, items=items)
                else:
                    rules[path] = replace(rules[path], fixed=Sourced(value.value, asset.name))
        own = MappingProxyType(rules)
        policy = (
            EffectivePolicy(own, bare.master)
            if role is Role.WORKER
            else EffectivePolicy(bare.worker, own)
        )
        return RoleForm(
            role=role,
            policy=policy,
            standing=standing,
            framework=framework,
            notes=self.with_choices(),
            makers=self.makers(role),
        )

    @cached_property
    def spec(self) -> dict[str, Any]:
        """Its own values, by qualified path."""
        found: dict[str, Any] = {}
        for role in self._roles:
            said = self.part(role).said(self.inputs[role])
            found |= {path: value.value for path, value in said.values.items()}
        linked = {path for path in found if self._is_linked(path)}
        return {path: value for path, value in found.items() if path not in linked}

    def _is_linked(self, qualified: str) -> bool:
        role, _, path = qualified.partition(".")
        rule = self.part(Role(role)).policy.rule(Role(role), path)
        return rule.fixed is not None

    def _wanted(self) -> Template:
        """The template as the form has it, for judging: a copy that is not stored."""
        made: Template = copy(self.instance)
        for name, value in self.values().items():
            if name != "scope" or value is not None:
                setattr(made, name, value)
        return made

    def _judged(self) -> list[Problem]:
        self.full_clean()
        given = [p for r in self._roles for p in self.part(r).said(self.inputs[r]).problems]
        unread = {p.field_id for p in given}
        made = self._wanted()
        judged = [p for p in template_problems(made) if p.field_id not in unread]
        # What the form has a field of its own for, it says there.
        own = {"workload.framework", "workload.configuration"}
        for problem in judged:
            if problem.field_id in own and problem.path not in self.errors:
                self.add_error(problem.path, problem.told)
            elif problem.field_id in self.fields and problem.field_id not in self.errors:
                self.add_error(problem.field_id, problem.told)
        return [
            *given,
            *(p for p in judged if p.field_id not in own and p.field_id not in self.fields),
        ]

    def is_valid(self) -> bool:
        return super().is_valid() and not self.found

    def pressed(self, text: str) -> bool:
        form_action = FormAction.of(text)
        if form_action.verb == APPLY:
            self.nothing_is_wrong()
            return True
        if form_action.verb == UNLINK and form_action.what in self.links:
            self._unlink(form_action.what)
            return True
        if form_action.verb not in EDITS or form_action.role not in self._roles:
            return super().pressed(text)
        role = Role(form_action.role)
        inputs, self.focus = edited(self.part(role), self.inputs[role], form_action)
        self.inputs[role] = settled(inputs)
        self.nothing_is_wrong()
        return True

    @property
    def where(self) -> Scope | None:
        if self.is_edit:
            return self.instance.scope  # type: ignore[no-any-return]
        wanted = self.text("scope")
        places = self.fields["scope"].queryset  # type: ignore[attr-defined]
        here = places.filter(pk=int(wanted)) if wanted.isdecimal() else places
        return here.first()  # type: ignore[no-any-return]

    def take(self, role: Role, path: str, made: Any) -> str:
        self.inputs[role] = chosen(self.inputs[role], path, made)
        self.__dict__.pop("_parts", None)
        return dom_id(f"{role}.{path}")

    def nothing_is_wrong(self) -> None:
        """Nothing was sent yet, so nothing is wrong yet."""
        self.found, self._errors = (), type(self.errors)()

    def _unlink(self, name: str) -> None:
        """The values of the linked asset become the template's own."""
        role = Role(name.partition(".")[0])
        asset = self.links[name]
        taken = typed_values({f"{role}.{p}": v for p, v in asset.values.items()})
        mine = taken[ROLES.index(role)]
        self.inputs[role] = mine.under(self.inputs[role])
        data = self.posted.copy()
        data[name] = ""
        self.data = data
        for cached in ("links", "_parts", "spec"):
            self.__dict__.pop(cached, None)
        self.nothing_is_wrong()
        self.focus = dom_id(name)

    def values(self) -> dict[str, Any]:
        own = super().values()
        alone = own.get("configuration") == WORKERS_ONLY
        different = bool(self.cleaned_data.get("different")) and not alone
        master = Template.Master
        kept = {f"{role}." for role in self._roles}
        return {
            **own,
            "master": master.NONE if alone else master.DIFFERENCES if different else master.SAME,
            "values": self.spec,
            "links": {name: str(asset.pk) for name, asset in self.links.items()},
            "modes": {p: m for p, m in self.modes.items() if p.startswith(tuple(kept))},
        }

    # What is drawn

    def differences(self, stored: ResourceForm) -> list[tuple[str, str, str]]:
        before: Mapping[str, Any] = stored.instance.values
        found = super().differences(stored)
        for path in sorted({*before, *self.spec}):
            spec = field_at(path)
            if spec is not None and before.get(path) != self.spec.get(path):
                words = in_words(spec, before.get(path)), in_words(spec, self.spec.get(path))
                found.append((spec.label, *words))
        return found

    def problems(self) -> list[dict[str, str]]:
        return super().problems() + [
            {"text": p.sentence, "target": dom_id(p.field_id)} for p in self.found
        ]

    def views(self) -> list[SectionView]:
        links = {f"{role}.{kind.key}" for role in ROLES for kind in LINKABLE}
        shown = [
            replace(one, fields=[self._applying(f) for f in one.fields if f.path not in links])
            for one in super().views()
        ]
        found = [one for one in shown if one.fields]
        for role in self._roles:
            found += [self._of_role(role, one) for one in self._sections(role)]
        if not any(one.held for one in found):
            # A blank one begins with what every workload has.
            found = [replace(one, held=None) if one.title in _FIRST else one for one in found]
        return found

    def _applying(self, view: FieldView) -> FieldView:
        return replace(
            view, applies=view.path in ("scope", "framework", "configuration", "different")
        )

    def _sections(self, role: Role) -> Sequence[SectionView]:
        galleries = {}
        for kind in LINKABLE:
            name = f"{role}.{kind.key}"
            view = replace(field_view(self[name]), applies=True, roomy=True)
            if name in self.links:
                view = replace(
                    view,
                    add=f"{UNLINK}:{name}",
                    add_label="Copy its values instead",
                    add_icon="copy",
                )
            galleries[kind.section] = view
        part = replace(self.part(role), galleries=galleries)
        return part.sections(self.inputs[role], self.found)

    def _of_role(self, role: Role, section: SectionView) -> SectionView:
        title = section.title
        if role is Role.MASTER:
            title = f"{half_title(role, self.text('framework'))}: {title.lower()}"
        fields = [self._with_mode(f) for f in section.fields]
        return replace(section, title=title, fields=fields, held=self._held(fields))

    def _held(self, fields: Sequence[FieldView]) -> int:
        """How many hold a value, link an asset or have a rule for those who use the template."""
        holding = {*self.spec, *self.links, *(path for path, mode in self.modes.items() if mode)}
        return sum(f.path in holding or bool(f.items) for f in fields)

    def _with_mode(self, view: FieldView) -> FieldView:
        if field_at(view.path) is None:
            return view
        now = self.modes.get(view.path, "")
        options = tuple(Option(m, word, m == now) for m, word in _MODE_WORDS.items())
        # The lock has nothing more to tell here: the field says which asset it follows.
        return replace(view, modes=options, lock="", is_set=view.is_set or bool(now))
