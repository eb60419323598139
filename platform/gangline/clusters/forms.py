"""Forms of clusters and node pools. What an engine asks for comes from its declared models."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django import forms

from gangline.db.clock import db_now
from gangline.drivers.base import NO_FACTS
from gangline.drivers.kind import Admission, ClusterKind, Way
from gangline.drivers.registry import DRIVERS
from gangline.forms.bound import field_view, summary
from gangline.forms.fields import FieldView, SectionView
from gangline.forms.models import fields_of, model_of
from gangline.lib.problems import Problem
from gangline.resources.forms import ResourceForm

from .connections import facts_of, site
from .models import Cluster, NetworkTopology, NodePool

LONGEST_DESCRIPTION = 400
_SECRET = re.compile(r"-----|://\S*[@?#]|apiVersion")
"""What a description holds by mistake: a key, a kubeconfig, an address with something in it."""


def connectable() -> list[ClusterKind]:
    """The kinds of clusters that a person can connect."""
    return [kind for kind in DRIVERS.values() if kind.credential is not None]


class CredentialForm(forms.Form):
    """How Gangline signs in, as the credential model of ``kind`` declares it."""

    def __init__(self, *args: Any, kind: ClusterKind, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.ways: Sequence[Way] = kind.ways()
        self.admission = Admission()
        self.fields.update(
            fields_of(self.model, choices={"way": [(w.value, w.title) for w in self.ways]})
        )

    @property
    def model(self) -> Any:
        if self.kind.credential is None:
            raise ValueError(f"{self.kind.key} takes no credential")
        return self.kind.credential

    def clean(self) -> dict[str, Any]:
        """Everything that is wrong at once; nothing is stored here."""
        cleaned = super().clean() or self.cleaned_data
        given, problems = model_of(self.model, cleaned)
        if given is not None:
            self.admission = self.kind.admit(given, site(), db_now())
            problems = list(self.admission.problems)
        self.refuse(problems)
        return cleaned

    def refuse(self, problems: Sequence[Problem]) -> None:
        """A problem with the way that was chosen stands at its first field."""
        for one in problems:
            path = one.path
            if path == "way":
                path = next(iter(self._names(str(self.data.get("way", "")))), path)
            self.add_error(path if path in self.fields else None, one.told)

    def parts(self) -> Mapping[str, Any]:
        """What is stored with the cluster. Asks the cluster which one it is."""
        access = self.admission.access
        return {"access": access, "uid": self.kind.uid(access, site())}

    def views(self) -> list[tuple[Way, bool, list[FieldView]]]:
        """The ways, which one is chosen, and the fields of each; nothing secret among them."""
        if self.is_bound:
            self.data = presentable(self.kind, self.data, self.fields)
        chosen = str(self["way"].value() or "")
        if chosen not in [way.value for way in self.ways]:
            chosen = self.ways[0].value
        return [(way, way.value == chosen, self._of(way.value)) for way in self.ways]

    def _of(self, way: str) -> list[FieldView]:
        found = []
        for name in self._names(way):
            extra = self.model.model_fields[name].json_schema_extra or {}
            view = field_view(self[name])
            # Other ways do without it: the credential as a whole is judged, not each field.
            found.append(replace(view, required=True) if extra.get("needed") else view)
            if extra.get("file"):
                found.append(field_view(self["file"]))
        return found

    def _names(self, way: str) -> list[str]:
        fields = self.model.model_fields.items()
        return [name for name, f in fields if (f.json_schema_extra or {}).get("part") == way]


class ClusterForm(ResourceForm):
    """A cluster's settings; a new one with its credential."""

    class Meta:
        model = Cluster
        fields = ("name", "description", "when_unreachable")

    def prepare(self) -> None:
        kinds = connectable()
        self.kind = self.instance.engine if self.is_edit else kinds[0]
        self.credential: CredentialForm | None = None
        self.later: SectionView | None = None
        """What an administrator may leave as it is, after how Gangline signs in."""
        self.kinds: list[tuple[ClusterKind, bool]] = []
        """Those to choose from, and which one is chosen: `form.kind` is a field in templates."""
        if not self.is_edit:
            del self.fields["when_unreachable"]
            chosen = str(self.data.get("kind") or self.initial.get("kind") or "")
            self.kind = next((kind for kind in kinds if kind.key == chosen), kinds[0])
            self.kinds = [(kind, kind is self.kind) for kind in kinds]
            self.fields["kind"] = forms.ChoiceField(
                choices=[(kind.key, kind.label) for kind in kinds],
                initial=self.kind.key,
                required=False,
                widget=forms.HiddenInput,
            )
            data, files = (self.data, self.files) if self.is_bound else (None, None)
            self.credential = CredentialForm(data, files, kind=self.kind)
        facts = facts_of(self.instance) if self.is_edit else NO_FACTS
        model = self.kind.connection
        choices = {name: self.kind.options(name, facts) for name in model.model_fields}
        made = fields_of(
            model,
            choices={
                name: [(one.value, f"{one.title} – {one.note}" if one.note else one.title)
                       for one in options]
                for name, options in choices.items() if options
            },
        )  # fmt: skip
        stored = model.model_validate(self.instance.config)
        for name, field in made.items():
            field.initial = getattr(stored, name)
            blocked = {
                o.value for o in choices[name] if not o.is_there and o.value != field.initial
            }
            field.widget.blocked = blocked
            extra: dict[str, Any] = model.model_fields[name].json_schema_extra or {}  # type: ignore[assignment]
            if self.is_edit and (told := extra.get("changed")):
                field.help_text = f"{field.help_text} {told}"
        self.fields.update(made)
        self.sections = (("Cluster", ("name", "description", "when_unreachable")),)
        extras: dict[str, Any] = {
            n: f.json_schema_extra or {} for n, f in model.model_fields.items()
        }
        titles = {name: str(extra.get("section", "Scheduling")) for name, extra in extras.items()}
        for title in dict.fromkeys(titles.values()):
            if names := tuple(n for n in made if titles[n] == title):
                self.sections += ((title, names),)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        given, problems = model_of(self.kind.connection, cleaned)
        if given is not None:
            names = set(self.fields)
            stored = given.model_dump(mode="json", by_alias=True, include=names)
            cleaned["config"] = {**self.instance.config, **stored}
        self.refuse(problems)
        return cleaned

    def is_valid(self) -> bool:
        own = super().is_valid()
        both = self.credential is None or self.credential.is_valid()
        return own and both

    def problems(self) -> list[dict[str, str]]:
        return super().problems() + (summary(self.credential) if self.credential else [])

    def refuse(self, problems: Sequence[Problem]) -> None:
        """A problem of the credential stands at its field."""
        own = self.credential.fields if self.credential is not None else {}
        for one in problems:
            if one.path in own and self.credential is not None:
                self.credential.refuse([one])
            else:
                super().refuse([one])

    def values(self) -> dict[str, Any]:
        values = super().values() | {"config": self.cleaned_data["config"]}
        return values if self.is_edit else values | {"kind": self.kind.key}

    def parts(self) -> Mapping[str, Any]:
        return self.credential.parts() if self.credential is not None else {}

    def views(self) -> list[SectionView]:
        """Of a new one only what nobody can leave as it is; `later` has the rest."""
        if self.is_bound:
            self.data = presentable(self.kind, self.data, self.fields)
        sections = super().views()
        if self.is_edit:
            return sections
        own, *others = sections
        known = self.kind.connection.model_fields
        first: dict[str, list[FieldView]] = {}
        rest = []
        for section, field in ((one, field) for one in others for field in one.fields):
            extra: dict[str, Any] = known[field.path].json_schema_extra or {}  # type: ignore[assignment]
            if extra.get("comes_first"):
                first.setdefault(section.id, []).append(field)
            else:
                changed = field.text != str(known[field.path].default)
                rest.append(replace(field, is_advanced=True, is_set=changed))
        self.later = SectionView("later", "", rest)
        return [own, *(replace(o, fields=first[o.id]) for o in others if o.id in first)]


def presentable(kind: ClusterKind, data: Any, names: Any) -> Any:
    """``data`` with only what may be sent back: people paste secrets into any field."""
    kept = data.copy()
    for name in names:
        if name not in kept:
            continue
        if name == "description":
            kept[name] = "" if _SECRET.search(kept[name]) else kept[name][:LONGEST_DESCRIPTION]
        else:
            kept[name] = kind.presentable(name, kept[name])
    return kept


class OfClusterForm(ResourceForm):
    """Of what one cluster holds: which one, and its name, are chosen once."""

    not_edited = frozenset({"cluster"})

    def prepare(self) -> None:
        self.clusters = self.places(Cluster.objects.order_by("name"))
        self.fields["cluster"].queryset = self.clusters  # type: ignore[attr-defined]
        if self.is_edit:
            self.fields["name"].disabled = True
        elif self.clusters.count() == 1:
            self.initial.setdefault("cluster", self.clusters.get().pk)


class NodePoolForm(OfClusterForm):
    class Meta:
        model = NodePool
        fields = ("cluster", "name", "label_key", "label_value", "network_topology", "description")

    def prepare(self) -> None:
        super().prepare()
        known = NetworkTopology.objects.filter(cluster__in=self.clusters)
        known = known.order_by("cluster", "name")
        field: Any = self.fields["network_topology"]
        field.queryset = known.filter(cluster=self.instance.cluster) if self.is_edit else known
        field.empty_label = "None"


class Lines(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = (line.strip() for line in (super().to_python(value) or "").splitlines())
        return [line for line in lines if line]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(self.prepare_value(initial)) != self.to_python(data))


class NetworkTopologyForm(OfClusterForm):
    levels = Lines(help_text=str(NetworkTopology._meta.get_field("levels").help_text))

    class Meta:
        model = NetworkTopology
        fields = ("cluster", "name", "levels", "description")
