"""Set-up: how it is read from a post and how it is drawn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.http import QueryDict

from assets.layers import linked
from assets.models import Asset, Template
from assets.selectors.fitness import forbidden, problems_under, reason_against
from gangline.clusters.models import Cluster
from gangline.drivers.facts import FrameworkOffer
from gangline.forms.fields import Card, FieldView, Option
from gangline.organization import quotas, usage
from gangline.policies.effective import EffectivePolicy
from gangline.policies.rules import FieldRule
from gangline.spec.frameworks import CONFIGURATIONS, FRAMEWORKS, WORKERS_AND_MASTER
from gangline.spec.problems import Problem, Role
from gangline.spec.types import LONGEST_NAME
from gangline.spec.words import plain_number
from gangline.spec_forms import limits
from workloads.services.admission import Standing
from workloads.services.room import room_in_words
from workloads.wizard.choices import Choices
from workloads.wizard.galleries import scopes_of, used_at
from workloads.wizard.prefill import with_template
from workloads.wizard.state import (
    CLUSTER,
    CONFIGURATION,
    FRAMEWORK,
    NAME,
    PROJECT,
    SETUP_FIELDS,
    TEMPLATE,
    DraftState,
)

_ALIKE = "All replicas are alike; worker 0 leads."


def _leader(framework: str) -> str:
    """What the master is in the words of the framework's own documentation."""
    known = FRAMEWORKS[framework]
    word = known.leader.word
    if known.launches:
        return f"The master is the {word}: it starts the ranks and does not train."
    if known.leader.counts:
        return f"The {known.leader.title.lower()} may have their own set-up."
    if word != "master":
        return f"The master is the {word}; it may have its own set-up."
    return "One master leads; it may have its own set-up."


def _quota(gpus: Decimal | None, held: float) -> str:
    """What a project may have of GPUs and has: ``1 of 2 GPUs used``."""
    if gpus is None:
        return f"{_gpus(held)} used, no limit"
    return f"{plain_number(float(held))} of {_gpus(float(gpus))} used"


def _gpus(number: float) -> str:
    return f"{plain_number(float(number))} GPU{'' if number == 1 else 's'}"


def _version(name: str, offer: FrameworkOffer | None) -> tuple[str, ...]:
    """``PyTorch 1.13``; some versions carry their own name already."""
    if offer is None or not offer.available or not offer.version:
        return ()
    bare = offer.version[:1].isdigit()
    return (f"{FRAMEWORKS[name].label} {offer.version}" if bare else offer.version,)


def path_of(field: str) -> str:
    """The qualified path, hence the name of the control, of a field of Set-up."""
    return f"{Role.WORKER if field == FRAMEWORK else Role.WORKLOAD}.{field}"


def read(data: QueryDict, stored: DraftState, shown: Choices) -> DraftState:
    """``stored`` with what was posted. ``shown`` is what the page offered: a control that still
    holds the choice that stood there without being said says nothing."""
    standing = _standing(shown)
    state = stored
    for field in SETUP_FIELDS:
        name = path_of(field)
        if field == TEMPLATE or name not in data:
            continue
        text = data.get(name, "")
        if field not in stored.setup and text == standing.get(field, ""):
            continue
        state = state.with_setup(field, text)
    return _read_template(data.get(path_of(TEMPLATE)), state, shown)


def _standing(shown: Choices) -> dict[str, str]:
    return {
        CLUSTER: str(shown.cluster.pk) if shown.cluster else "",
        PROJECT: str(shown.project.pk) if shown.project else "",
        FRAMEWORK: shown.framework,
        CONFIGURATION: shown.configuration,
    }


def _read_template(wanted: str | None, state: DraftState, shown: Choices) -> DraftState:
    if wanted is None or wanted == state.text(TEMPLATE):
        return state
    if not wanted:
        return with_template(state, None)
    now = Choices(shown.user, state)
    template = next((t for t in now.templates if str(t.pk) == wanted), None)
    return with_template(state, template) if template else state.with_setup(TEMPLATE, wanted)


@dataclass(frozen=True)
class SetupPage:
    """The fields of Set-up as they are drawn."""

    choices: Choices
    framework_rule: FieldRule
    problems: Sequence[Problem] = ()
    standing: Standing | None = None
    """Of the chosen cluster."""
    policy: EffectivePolicy | None = None
    """Of the chosen project."""

    @property
    def cluster(self) -> FieldView:
        cards = tuple(self._cluster_card(c) for c in self.choices.clusters)
        return self._cards(CLUSTER, "Cluster", cards)

    def _cards(self, field: str, label: str, cards: tuple[Card, ...], **more: object) -> FieldView:
        """A gallery; where nothing can be chosen but what is chosen, a plain line."""
        control = "only" if len(cards) == 1 and cards[0].checked else "cards"
        return self._view(field, label, control=control, cards=cards, **more)

    def _cluster_card(self, cluster: Cluster) -> Card:
        chosen = self.choices.cluster
        known = self.standing
        fact = room_in_words(known if known and known.cluster == cluster else Standing(cluster))
        if cluster.health == "Unreachable":
            since = f" since {cluster.health_since:%H:%M}" if cluster.health_since else ""
            fact = f"No contact{since}; it will start when contact returns."
        return Card(
            value=str(cluster.pk),
            title=cluster.name,
            facts=(fact,) if fact else (),
            checked=chosen is not None and chosen.pk == cluster.pk,
        )

    @property
    def project(self) -> FieldView:
        chosen = self.choices.project
        projects = self.choices.projects_here
        held, granted = usage.held(projects), quotas.gpus_of(projects)
        options = tuple(
            Option(
                str(p.pk),
                f"{p.name} – {_quota(granted[p.pk], held[p.pk].gpus)}",
                chosen is not None and p.pk == chosen.pk,
            )
            for p in projects
        )
        return self._view(PROJECT, "Project", control="select", options=options)

    @property
    def framework(self) -> FieldView:
        # What can be chosen comes first; each half keeps the order of the spec.
        there = [
            name
            for name, known in FRAMEWORKS.items()
            if not known.runs_script
            or name in self.choices.frameworks_here
            or name == self.choices.framework
        ]
        names = sorted(there, key=lambda name: bool(self.choices.framework_reason(name)))
        cards = tuple(self._framework_card(name) for name in names)
        lock = "limited" if limits.is_limited(self.framework_rule) else ""
        return self._cards(FRAMEWORK, "Framework", cards, lock=lock)

    def _framework_card(self, name: str) -> Card:
        rule = self.framework_rule
        reason = self.choices.framework_card(name)
        allowed = {str(o.value) for o in rule.options.value} if rule.options else None
        denied = (allowed is not None and name not in allowed) or bool(
            rule.fixed and rule.fixed.value != name
        )
        offer = self.choices.frameworks_here.get(name)
        return Card(
            value=name,
            title=FRAMEWORKS[name].label,
            facts=_version(name, offer),
            checked=name == self.choices.framework,
            blocked=bool(reason) or denied,
            reason=reason or ("Not allowed by policy." if denied else ""),
            by_policy=denied and not reason,
            explain=path_of(FRAMEWORK) if reason or denied else "",
        )

    @property
    def configuration(self) -> FieldView:
        leader = _leader(self.choices.framework)
        cards = tuple(
            Card(
                value=name,
                title=FRAMEWORKS[self.choices.framework].roles_in_words(name),
                facts=(leader if name == WORKERS_AND_MASTER else _ALIKE,),
                checked=name == self.choices.configuration,
                blocked=bool(self.choices.configuration_reason(name)),
                reason=self.choices.configuration_reason(name),
            )
            for name in CONFIGURATIONS
        )
        return self._cards(CONFIGURATION, "Configuration", cards)

    @property
    def template(self) -> FieldView:
        chosen = self.choices.template
        scratch = Card(
            value="",
            title="Start from scratch",
            facts=("Only the defaults",),
            checked=chosen is None,
        )
        templates = self.choices.templates
        assets = linked(*templates)
        cards = (scratch, *(self._template_card(t, chosen, assets) for t in templates))
        return self._cards(TEMPLATE, "Template", cards, scopes=scopes_of(templates))

    def _template_card(
        self, template: Template, chosen: Template | None, assets: Mapping[str, Asset]
    ) -> Card:
        cluster, policy = self.choices.cluster, self.policy
        unfit = reason_against(template, [cluster] if cluster else [], assets)
        ruled_out = forbidden(problems_under(template, policy, assets)) if policy else ""
        reason = unfit or ruled_out
        is_chosen = chosen is not None and chosen.pk == template.pk
        return Card(
            value=str(template.pk),
            title=template.name,
            facts=(template.description,) if template.description else (),
            chip=template.scope.title,
            checked=is_chosen,
            blocked=bool(reason) and not is_chosen,
            reason=reason,
            by_policy=bool(ruled_out) and not unfit,
            used=template.used_count,
            used_at=used_at(template),
        )

    @property
    def name(self) -> FieldView:
        help_ = (
            f"1 to {LONGEST_NAME} lowercase letters, digits or “-”; starts with a letter and ends "
            "with a letter or digit."
        )
        return self._view(
            NAME,
            "Name",
            text=self.choices.name,
            help=help_,
            required=True,
            mono=True,
        )

    def _view(self, field: str, label: str, *, control: str = "text", **more: object) -> FieldView:
        path = path_of(field)
        errors = tuple(p.sentence for p in self._about(field))
        return FieldView(
            path=path,
            name=path,
            label=label,
            control=control,
            errors=errors,
            **more,  # type: ignore[arg-type]
        )

    def _about(self, field: str) -> Iterable[Problem]:
        return (p for p in self.problems if p.path.split(".")[0] == field)
