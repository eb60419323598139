"""Everything known about one draft while one request is answered: read once, asked often."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import prefetch_related_objects

from assets.layers import given_by, layered, ruled
from gangline.access.actor import Actor
from gangline.clusters.connections import driver_for
from gangline.clusters.selectors import levels_of
from gangline.drivers.base import NO_FACTS, Driver
from gangline.drivers.facts import Choice, FieldNote
from gangline.drivers.kind import Unconnectable
from gangline.forms.fields import Offer
from gangline.lib.texts import as_uuid
from gangline.policies.document import fields_of
from gangline.policies.effective import EffectivePolicy, effective_policy
from gangline.policies.engine import Request, Resolution, inherited_values, resolve
from gangline.policies.selectors import effective_for
from gangline.settings.catalogue import MASTER, TOLERATIONS, TOPOLOGY
from gangline.settings.values import value_of
from gangline.spec.frameworks import WORKERS_ONLY
from gangline.spec.problems import Problem, Role
from gangline.spec.slurm import SCRIPT, VALUES
from gangline.spec.sources import YOU, Value, Values
from gangline.spec.workload import INTERACTIVE, SPEC
from gangline.spec_forms.posted import Inherited
from gangline.spec_forms.said import said
from gangline.spec_forms.spec_form import RoleForm
from workloads.models import Draft, Workload
from workloads.services import submission
from workloads.services.admission import Standing
from workloads.wizard.body import body_of
from workloads.wizard.choices import Choices
from workloads.wizard.credentials import Choosable
from workloads.wizard.galleries import DATA, Galleries, with_typed
from workloads.wizard.last_dry_run import LastDryRun, last_dry_run
from workloads.wizard.state import CONFIGURATION, FRAMEWORK, PROJECT, TEMPLATE, DraftState
from workloads.wizard.steps import Step, steps_for
from workloads.wizard.written import strange_problems, text_of

LAUNCHER = "launcher"
SWITCHED_OFF = "Switched off by your administrator."
NO_PROJECT = "A workload belongs to a project, and you cannot create workloads in any."

_OF_SETUP = {"choices", "policy", "policy_here", "_of_template", "credentials", "offers"}
_OF_SETUP |= {"_driver", "_node_pools", "_switched_off"}
_OF_ASSETS = {"galleries", "_worker_assets"}
"""What a context knows that hangs on Set-up alone, and on the chosen assets too."""


@dataclass(frozen=True)
class WizardContext:
    """One draft, one person, one moment. Everything that costs a query is computed once."""

    actor: Actor
    draft_id: uuid.UUID
    state: DraftState
    draft: Draft | None = None

    def after_saving(self, state: DraftState, draft: Draft) -> "WizardContext":
        """The context with what is stored now; what nobody changed is not asked again in vain."""
        now = WizardContext(self.actor, self.draft_id, state, draft)
        if state.setup == self.state.setup:
            now._take(self, _OF_SETUP)
            if state.assets == self.state.assets and state.different == self.state.different:
                now._take(self, _OF_ASSETS)
                is_same = now._telling == self._telling
                if is_same and now._image(Role.WORKER) == self._image(Role.WORKER):
                    now._take(self, {"worker_form"})
        return now

    def _take(self, other: "WizardContext", names: set[str]) -> None:
        """What ``other`` has found out already."""
        self.__dict__.update({name: vars(other)[name] for name in names & vars(other).keys()})

    @cached_property
    def choices(self) -> Choices:
        return Choices(self.actor.user, self.state)

    @cached_property
    def policy(self) -> EffectivePolicy:
        """What holds in the project, and what the chosen template fixes."""
        template = self.choices.template
        whole = self.policy_here
        return ruled(whole, template, self._of_template) if template else whole

    @cached_property
    def policy_here(self) -> EffectivePolicy:
        project = self.choices.project
        return effective_for(project) if project else effective_policy([])

    @cached_property
    def _of_template(self) -> Values:
        """What the chosen template gives, over those assets that it links."""
        template = self.choices.template
        return given_by(template) if template else {}

    @property
    def configuration(self) -> str:
        return self.choices.configuration

    @property
    def has_master(self) -> bool:
        return self.configuration != WORKERS_ONLY

    @property
    def steps(self) -> tuple[Step, ...]:
        """The master has one where it may be set up, and always where it says something itself."""
        offers = self.is_different or (self.has_master and value_of(MASTER))
        return steps_for(has_master=offers)

    @cached_property
    def started_from(self) -> tuple[str, str] | None:
        """What the draft was filled in from, and its name."""
        if template := self.choices.template:
            return "Template", template.name
        key = as_uuid(self.state.copied_from)
        names = Workload.objects.filter(pk=key).values_list("name", flat=True) if key else ()
        return next((("Copied from", name) for name in names), None)

    @cached_property
    def offers(self) -> Mapping[str, Sequence[Offer]]:
        """Values that the cluster itself offers: its runtimes stand where elsewhere images do."""
        facts = self.choices.facts
        runtimes = [
            Offer(r.reference, r.title, r.detail, *self._fit(r.available, r.reason, r.frameworks))
            for r in (facts.runtimes if facts else ())
        ]
        return {"image": runtimes} if runtimes else {}

    def _fit(self, available: bool, reason: str, frameworks: Sequence[str]) -> tuple[bool, str]:
        framework = self.choices.framework
        if available and frameworks and framework not in frameworks:
            return False, f"{framework} is not installed in this runtime."
        return available, reason

    @cached_property
    def galleries(self) -> Galleries:
        choices = self.choices
        return Galleries(
            self.actor.user,
            choices.project,
            self.policy,
            choices.framework,
            self.state.assets,
            self.offers,
            self._driver.unsupported if self._driver else {},
            self._cut_off,
        )

    @property
    def _cut_off(self) -> str:
        cluster = self.choices.cluster
        is_there = cluster is None or cluster.health != "Unreachable"
        return "" if is_there else (f"Cluster {cluster.name} is not responding.")  # type: ignore[union-attr]

    @cached_property
    def worker_form(self) -> RoleForm:
        return self._form(Role.WORKER, {})

    @cached_property
    def master_form(self) -> RoleForm:
        workers = {} if self.state.is_own else self.worker_form.said(self.state.worker).values
        return self._form(Role.MASTER, workers)

    @cached_property
    def assets(self) -> Values:
        """The values of the chosen assets, over those of the chosen template (S3a)."""
        master = self.galleries.values(Role.MASTER)
        typed = with_typed(master, self.worker_form, self.state.worker)
        return layered({**self.galleries.values(Role.WORKER), **typed}, self._of_template)

    @cached_property
    def _worker_assets(self) -> Values:
        return layered(self.galleries.values(Role.WORKER), self._of_template)

    @cached_property
    def _node_pools(self) -> list[str]:
        cluster = self.choices.cluster
        if cluster is None or self._driver is None or "nodePools" in self._driver.unsupported:
            return []
        # The verdict asks for them twice more.
        prefetch_related_objects([cluster], "pools")
        return sorted(pool.name for pool in cluster.pools.all())

    @cached_property
    def _launcher(self) -> str:
        """What starts the ranks, typed or as it stands; it is the workers' to say."""
        if typed := self.state.worker.scalars.get(LAUNCHER):
            return typed.text
        request = Request(framework=self.choices.framework, assets=self._worker_assets)
        standing = inherited_values(request, Role.WORKER, self.policy).get(LAUNCHER)
        return str(standing.value or "") if standing else ""

    def form(self, role: Role) -> RoleForm:
        return self.worker_form if role is Role.WORKER else self.master_form

    def _form(self, role: Role, given: Values) -> RoleForm:
        assets = self._worker_assets if role is Role.WORKER else self.assets
        request = Request(
            framework=self.choices.framework, given={**self._telling, **given}, assets=assets
        )
        driver, facts = self._driver, self.choices.facts
        notes = (
            driver.field_notes(
                framework=self.choices.framework,
                role=role,
                has_own_master=self.has_master and bool(self.state.different),
                launcher=self._launcher,
                facts=self.choices.facts or NO_FACTS,
            )
            if driver
            else {}
        )
        pools = [Choice(name) for name in self._node_pools]
        notes = {**notes, "nodePools": FieldNote(choices={"name": pools})}
        volumes = [Choice(str(one.pk), one.name) for one in self.galleries.volumes]
        notes["storage.dataVolume"] = FieldNote(choices={"id": volumes})
        image = self._image(role)
        return RoleForm(
            role=role,
            policy=self.policy,
            standing=inherited_values(request, role, self.policy),
            framework=self.choices.framework,
            offers=self.offers,
            unsupported={
                **self.credentials.unsupported,
                **self._switched_off,
                **(driver.unsupported if driver else {}),
            },
            notes=self.credentials.notes(notes, image),
            makers=self.credentials.makers(role),
            galleries=self.galleries.fields(role),
            has_switches=True,
            suggestions=self._suggestions(facts.detail.get("suggestions", {}) if facts else {}),
        )

    def _suggestions(self, seen: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """What a probe has seen, and above it the levels of the cluster's network topologies."""
        cluster = self.choices.cluster
        path = "podAffinity.key"
        if cluster is None or path in self._switched_off:
            return seen
        return {**seen, path: list(dict.fromkeys([*levels_of(cluster), *seen.get(path, ())]))}

    @cached_property
    def _telling(self) -> Values:
        """What is typed and decides what others inherit: lines of the person's own script, a
        session, and fields from which a policy computes defaults."""
        found: dict[str, Value] = {}
        own = {Role.WORKER: {SCRIPT, VALUES, INTERACTIVE}, Role.MASTER: set()}
        for role, paths in own.items():
            paths |= {r.computed.value.field for r in self.policy.half(role).values() if r.computed}
            fields = [spec for spec in fields_of(SPEC, role).values() if spec.path in paths]
            found |= said(role, fields, self.state.inputs(role), Inherited()).values
        return found

    @cached_property
    def credentials(self) -> Choosable:
        cluster = self.choices.cluster
        takes_others = cluster is not None and cluster.engine.keeps_secrets
        project = self.choices.project
        return Choosable(self.actor.user, project.scope if project else None, takes_others)

    def _image(self, role: Role) -> str:
        """The image as it is typed."""
        inputs = self.state.master if role is Role.MASTER else self.state.worker
        typed = inputs.scalars.get("image")
        return typed.text if typed else ""

    @cached_property
    def _switched_off(self) -> Mapping[str, str]:
        """Fields that the administrator took out of the form, with the reason."""
        fields = {TOLERATIONS: ("tolerations",), TOPOLOGY: ("podAffinity.key", "podAffinity.type")}
        return {
            path: SWITCHED_OFF
            for setting, paths in fields.items()
            if not value_of(setting)
            for path in paths
        }

    @cached_property
    def _driver(self) -> Driver | None:
        """Who knows the chosen cluster; an unknown kind is told by the checks."""
        try:
            return driver_for(self.choices.cluster) if self.choices.cluster else None
        except Unconnectable:
            return None

    @cached_property
    def is_different(self) -> bool:
        """Whether the master says something of its own: the toggle, or a rule that forces it."""
        return self.has_master and bool(self.state.different or self.forced)

    @property
    def forced(self) -> list[Problem]:
        """Rules for the master that the workers' values break: it then needs its own set-up."""
        return self._as_workers.master_forced if self.has_master else []

    @cached_property
    def _as_workers(self) -> Resolution:
        """What the values come to while the master is as the workers."""
        return resolve(self._request(with_master=False), self.policy)

    @cached_property
    def request(self) -> submission.SubmissionRequest | None:
        """What Create would send; None without a project."""
        return self._request(self.is_different) if self.choices.project else None

    def _request(self, with_master: bool) -> submission.SubmissionRequest:
        worker = self.worker_form.said(self.state.worker)
        values, problems = dict(worker.values), list(worker.problems)
        if with_master:
            master = self.master_form.said(self.state.master)
            values |= master.values
            problems += master.problems
        problems += self.galleries.problems(Role.WORKER)
        if with_master and f"{Role.MASTER}.{DATA}" in self.state.assets:
            problems += self.galleries.problems(Role.MASTER)
        choices, template = self.choices, self.choices.template
        chosen = self.state.setup.get(FRAMEWORK)
        if chosen and chosen.text == choices.framework and chosen.source != YOU:
            values[f"{Role.WORKER}.{FRAMEWORK}"] = Value(choices.framework, chosen.source)
        return submission.SubmissionRequest(
            name=choices.name,
            project_id=choices.project.pk if choices.project else "",
            cluster_id=choices.cluster.pk if choices.cluster else "",
            framework=choices.framework,
            configuration=self.configuration,
            master=self._master_mode if with_master else "same",
            given=values,
            assets=self.assets,
            template_id=template.pk if template else None,
            copied_from=as_uuid(self.state.copied_from),
            problems=tuple(problems),
        )

    @property
    def _master_mode(self) -> str:
        return "own" if self.state.is_own else "differences"

    @cached_property
    def judged(self) -> submission.Preview | None:
        """The verdict on what the form says."""
        request, project = self.request, self.choices.project
        if request is None or project is None:
            return None
        place = submission.Place(project, project.cluster, ())
        return submission.preview(
            actor=self.actor,
            request=request,
            place=place,
            policy=self.policy,
            standing=self.standing,
            resolution=None if self.is_different else self._as_workers,
        )

    @cached_property
    def preview(self) -> submission.Preview | None:
        """The verdict on the draft, with what its YAML says beyond the form."""
        if self.judged is None or not self.strange:
            return self.judged
        return replace(self.judged, problems=[*self.judged.problems, *self.strange])

    @cached_property
    def body(self) -> dict[str, Any]:
        """What the API would have to be sent."""
        if self.request is None or self.judged is None:
            return {}
        return body_of(self.request, self.judged, is_different=self.is_different)

    @cached_property
    def yaml(self) -> str:
        """The same as text, as far as it can be read."""
        return text_of(self.state.written, self.body)

    @cached_property
    def strange(self) -> list[Problem]:
        """Problems with what only the YAML says."""
        written = self.state.written
        if not (written and written.is_strange and self.judged and self.request):
            return []
        return strange_problems(self.actor, self.yaml, self.judged, self.request)

    @cached_property
    def standing(self) -> Standing | None:
        """What others hold of the chosen cluster."""
        return Standing(self.choices.project.cluster) if self.choices.project else None

    @cached_property
    def last_dry_run(self) -> LastDryRun | None:
        """What the cluster said to this draft last."""
        preview, request = self.preview, self.request
        return last_dry_run(self.draft, preview, request) if preview and request else None

    @property
    def objections(self) -> Sequence[Problem]:
        """The cluster's own, as far as they still hold. They keep nobody from creating it."""
        return self.last_dry_run.last_dry_run.problems if self.last_dry_run else ()

    @cached_property
    def problems(self) -> list[Problem]:
        """Everything that keeps the draft from being created."""
        if self.preview is None:
            accepted = "a project in which you may create workloads"
            return [
                Problem.of(Role.WORKLOAD, PROJECT, "required", accepted=accepted, label="Project")
            ]
        return [self.as_typed(problem) for problem in self.preview.problems]

    def as_typed(self, problem: Problem) -> Problem:
        """A number with a unit as the two controls hold it, not as the spec reads it."""
        inputs = self.state.master if problem.role is Role.MASTER else self.state.worker
        typed = inputs.scalars.get(problem.path)
        if typed is None or not typed.unit or problem.value in (None, ""):
            return problem
        is_number = typed.text.strip()[:1].isdigit()
        return problem.at(value=f"{typed.text} {typed.unit}" if is_number else typed.text)

    def setup_problems(self, posted: Mapping[str, str]) -> list[Problem]:
        """What was posted in Set-up and cannot be, though something else can stand in for it."""
        found: list[Problem] = []
        wrong = self.choices.configuration_problem
        if wrong and f"{Role.WORKLOAD}.{CONFIGURATION}" in posted:
            found.append(wrong)
        wanted = self.state.text(TEMPLATE)
        if wanted and self.choices.template is None:
            found.append(
                Problem.of(
                    Role.WORKLOAD, TEMPLATE, "options:template", value=wanted,
                    accepted="a template of this project", label="Template",
                )
            )  # fmt: skip
        return found
