"""Whether a template can run on what there is now, so that nobody presses "Run now" in vain."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from assets.kinds import kind_of_asset
from assets.layers import given_by, linked, request_of, ruled
from assets.models import Asset, Template
from assets.selectors.data import named_item
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.clusters.connections import facts_of
from gangline.clusters.models import Cluster
from gangline.drivers.facts import Facts
from gangline.organization.models import Project
from gangline.organization.selectors import visible_projects, with_scopes
from gangline.policies.effective import EffectivePolicy
from gangline.policies.engine import Request, resolve
from gangline.policies.models import Policy
from gangline.policies.selectors import effective_for
from gangline.scopes.selectors import scopes_to
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_AND_MASTER, WORKERS_ONLY
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import Value

LOCAL = "local://"
NO_PROJECT = "You cannot create workloads in any of the projects it is for."


def reason_against(
    template: Template, clusters: Iterable[Cluster], assets: Mapping[str, Asset] | None = None
) -> str:
    """Why none of `clusters` can run it, in a sentence.

    Empty when one can, and when one was not looked at yet.
    """
    image = _image(template, assets)
    reason = ""
    for cluster in clusters:
        facts = facts_of(cluster)
        reason = _why_not(template, image, facts) if facts.version else ""
        if not reason:
            return ""
    return reason


def _image(template: Template, assets: Mapping[str, Asset] | None) -> str:
    own = template.values.get("worker.image")
    if own is None and template.links:
        given = given_by(template, assets).get("worker.image")
        own = given.value if given else None
    return str(own or "")


def _why_not(template: Template, image: str, facts: Facts) -> str:
    offer = facts.offer(template.framework)
    if offer is None:
        return ""
    if not offer.available:
        return offer.why_not
    if image.startswith(LOCAL) and not facts.runtimes:
        return f"It uses {image}, a runtime of one machine."
    if image.startswith(LOCAL) and image not in offer.runtimes:
        known = FRAMEWORKS.get(template.framework)
        return f"{image} has no {known.label if known else template.framework}."
    return ""


@dataclass(frozen=True)
class _Question:
    """A template under a policy; both are told apart by their versions alone."""

    key: tuple[object, ...]
    template: Template = field(compare=False)
    policy: EffectivePolicy = field(compare=False)
    assets: Mapping[str, Asset] = field(compare=False)


def problems_under(
    template: Template, policy: EffectivePolicy, assets: Mapping[str, Asset] | None = None
) -> Sequence[Problem]:
    """What keeps the template, as it is, from being a workload under ``policy``."""
    assets = linked(template) if assets is None else assets
    versions = tuple(
        (pk, assets[pk].version if pk in assets else 0) for pk in sorted(template.links.values())
    )
    key = (template.pk, template.version, versions, policy.versions)
    return _problems(_Question(key, template, policy, assets))


@lru_cache(maxsize=1024)
def _problems(asked: _Question) -> Sequence[Problem]:
    given = given_by(asked.template, asked.assets)
    policy = ruled(asked.policy, asked.template, given)
    return tuple(resolve(request_of(asked.template, given), policy).problems)


def forbidden(problems: Iterable[Problem]) -> str:
    """The first rule that a value breaks; what is still empty can be filled in."""
    return next((p.sentence for p in problems if p.source and p.rule != "required"), "")


def missing(problems: Iterable[Problem]) -> str:
    """What has to be filled in, or put right, before it can run."""
    found = list(problems)
    if not found:
        return ""
    empty = [p.label or p.path for p in found if p.rule == "required"]
    names = ", ".join(dict.fromkeys(empty))
    return f"Still to fill in: {names}." if names else found[0].sentence


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What keeps a template from running as it is; false where nothing does."""

    sentence: str = ""
    is_to_fill: bool = False
    """Nothing is wrong: who uses it fills in the rest."""

    def __bool__(self) -> bool:
        return bool(self.sentence)


def reason_in(
    template: Template,
    project: Project,
    assets: Mapping[str, Asset] | None = None,
    policy: EffectivePolicy | None = None,
) -> WhyNot:
    """Why it cannot run in the project as it is: the cluster, the policy, what is missing."""
    if reason := reason_against(template, [project.cluster], assets):
        return WhyNot(reason)
    problems = problems_under(template, policy or effective_for(project), assets)
    if broken := forbidden(problems):
        return WhyNot(broken)
    to_fill = all(problem.rule == "required" for problem in problems)
    return WhyNot(missing(problems), is_to_fill=bool(problems) and to_fill)


def reasons(user: User, templates: Sequence[Template]) -> dict[Template, WhyNot]:
    """Why the person can run each in none of their projects; false where they can in one."""
    projects = _projects(user) if templates else []
    policies = {project.pk: effective_for(project) for _, project in projects}
    assets = linked(*templates)
    found = {}
    for template in templates:
        holds = [p for line, p in projects if template.scope_id in line]
        told = WhyNot()
        for project in holds:
            told = reason_in(template, project, assets, policies[project.pk])
            if not told:
                break
        found[template] = told if holds else WhyNot(NO_PROJECT)
    return found


def _projects(user: User) -> list[tuple[frozenset[int], Project]]:
    """Projects that take the person's workloads, with the ids of their scopes.

    Of those on one cluster under the same policies below the same scopes one will do.
    """
    rows = list(with_scopes(visible_projects(user, Permission.WORKLOAD_CREATE)).order_by("pk"))
    if len(rows) < 2:
        return [(frozenset(scope.pk for scope in scopes_to(p.scope)), p) for p in rows]
    ruling = set(Policy.objects.values_list("scope_id", flat=True))
    held = set(Template.objects.values_list("scope_id", flat=True).distinct())
    alike: dict[object, tuple[frozenset[int], Project]] = {}
    for project in rows:
        line = frozenset(scope.pk for scope in scopes_to(project.scope))
        key = (project.cluster_id, line & ruling, line & held)
        alike.setdefault(key, (line, project))
    return list(alike.values())


def asset_problems(
    asset: Asset, policy: EffectivePolicy, framework: str, role: Role = Role.WORKER
) -> list[Problem]:
    """The rules of ``policy`` that the values of the asset break."""
    kind = kind_of_asset(asset)
    values = {kind.item: [named_item(asset)]} if kind.item else asset.values
    given = {f"{role}.{path}": Value(value) for path, value in values.items()}
    is_master = role is Role.MASTER
    request = Request(
        framework=framework,
        configuration=WORKERS_AND_MASTER if is_master else WORKERS_ONLY,
        master="differences",
        given=given,
    )
    return [
        problem
        for problem in resolve(request, policy).problems
        if problem.source and problem.role is role and _is_about(values, problem.path)
    ]


def _is_about(values: Mapping[str, object], path: str) -> bool:
    return any(path == one or path.startswith(f"{one}.") for one in values)
