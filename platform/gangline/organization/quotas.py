"""Quotas as parts of departments and projects: read, compared with the department, stored."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Prefetch
from django.utils.translation import ngettext

from gangline.access.actor import Actor
from gangline.access.grants import can
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed
from gangline.clusters.models import Cluster, NodePool
from gangline.db.locks import locked
from gangline.lib.problems import Problem, Refused, under
from gangline.lib.sizes import bytes_in_words
from gangline.resources.services import problems_of
from gangline.scopes.models import Scope
from gangline.settings.catalogue import CPU_QUOTA, LIMIT_TO_DEPARTMENT
from gangline.settings.values import value_of
from gangline.spec.words import plain_number

from . import usage
from .models import RESOURCES, Department, Project, Quota

Node = Department | Project
READ_WITH = (
    Prefetch("scope__quotas", to_attr="read_quotas"),
    Prefetch("cluster__pools", to_attr="read_pools"),
)
"""What `quotas_of` reads, for many of them at once: as lists, which cost half of managers."""
UNITS = {"gpus": "GPUs", "cpus": "CPUs", "memory": "of memory"}


def limits_to_department() -> bool:
    """Whether the quotas of projects may not exceed their department's together."""
    return value_of(LIMIT_TO_DEPARTMENT)


def shows_cpus(quota: Quota) -> bool:
    """Whether the quota of CPU cores is shown: always where there is one."""
    return value_of(CPU_QUOTA) or (quota.cpus, quota.cpus_limit) != (None, None)


def pools_of(cluster: Cluster) -> list[NodePool]:
    """The default pool first."""
    rows = cluster.read_pools if hasattr(cluster, "read_pools") else cluster.pools.all()
    return sorted(rows, key=lambda pool: (not pool.is_default, pool.name))


def quotas_of(node: Node) -> list[Quota]:
    """One quota for each node pool: as stored, or what a new department or project has."""
    stored = {one.node_pool_id: one for one in _stored(node.scope)} if node.pk else {}
    found = []
    for pool in pools_of(node.cluster):
        quota = stored.get(pool.pk) or new_quota(node, pool)
        quota.node_pool = pool
        found.append(quota)
    return found


def _stored(scope: Scope) -> Iterable[Quota]:
    return scope.read_quotas if hasattr(scope, "read_quotas") else scope.quotas.all()


def new_quota(node: Node, pool: NodePool) -> Quota:
    """A project begins with no GPU of its own, a department with whatever there is."""
    gpus = Decimal(0) if isinstance(node, Project) else None
    scope = {"scope_id": node.scope_id} if node.pk else {}
    return Quota(node_pool=pool, gpus=gpus, **scope)


def stored_quotas(cluster: Cluster) -> dict[tuple[int, int], Quota]:
    """What is stored for a cluster, by the ids of scope and node pool."""
    rows = Quota.objects.filter(node_pool__cluster=cluster)
    return {(one.scope_id, one.node_pool_id): one for one in rows}


def snapshot(node: Node) -> dict[str, Any]:
    """What of the quotas is versioned and audited: pool → what differs from a new one."""
    found = {}
    for one in node.scope.quotas.select_related("node_pool").order_by("node_pool__name"):
        fresh = new_quota(node, one.node_pool)
        found[one.node_pool.name] = {
            name: _as_json(getattr(one, name))
            for name in Quota.VALUES
            if getattr(one, name) != getattr(fresh, name)
        }
    return {pool: values for pool, values in found.items() if values}


def save(node: Node, rows: Sequence[Mapping[str, Any]], *, actor: Actor | None) -> None:
    """Store quotas, each with its ``node_pool`` and some of `Quota.VALUES`.

    Raises Refused with paths ``quotas.<number>.<field>``, or NotAllowed; the caller undoes what was
    stored.
    """
    # Two projects that take of one department come one after the other.
    department = node.department if isinstance(node, Project) else node
    list(locked(Department.objects.filter(pk=department.pk)))
    known = {one.node_pool_id: one for one in quotas_of(node)}
    problems: list[Problem] = []
    claims: dict[tuple[int, str], tuple[int, Any]] = {}
    named: set[int] = set()
    for number, row in enumerate(rows):
        quota = known[row["node_pool"].pk]
        if quota.node_pool_id in named:
            params = {"pool": quota.node_pool.name}
            problems.append(Problem("twice:pool", f"quotas.{number}.node_pool", params))
            continue
        named.add(quota.node_pool_id)
        before = {name: getattr(quota, name) for name in Quota.VALUES}
        for name in set(Quota.VALUES) & row.keys():
            setattr(quota, name, row[name])
        try:
            quota.full_clean(exclude=["scope"])
        except ValidationError as error:
            problems += under(f"quotas.{number}", problems_of(error))
            continue
        differing = {name for name in Quota.VALUES if before[name] != getattr(quota, name)}
        if differing:
            _need(node, actor)
        claims |= {
            (quota.node_pool_id, one): (number, before[one]) for one in differing & set(RESOURCES)
        }
        quota.save()
    Quota.objects.bulk_create(one for one in known.values() if one._state.adding and not problems)
    if not problems and limits_to_department():
        problems = list(_over_assigned(node, claims))
    if problems:
        raise Refused(problems)


def _over_assigned(
    node: Node, claims: Mapping[tuple[int, str], tuple[int, Any]]
) -> Iterator[Problem]:
    """Of each change that gives away more than the department has, or had: a problem there."""
    for one in balances(node):
        number, before = claims.get((one.pool.pk, one.resource), (None, None))
        if number is None or one.excess <= 0:
            continue
        if isinstance(node, Project) and before is not None and one.asked < before:
            continue  # less than before, if still too much
        params = {"balance": one.sentence, "value": str(one.asked), "accepted": str(one.left)}
        yield Problem("department_quota", f"quotas.{number}.{one.resource}", params)


@dataclass(frozen=True, slots=True)
class Balance:
    """How much of one resource of a department its projects have together."""

    department: str
    pool: NodePool
    resource: str
    quota: Decimal
    given: Decimal
    """To other projects."""
    asked: Decimal = Decimal(0)
    """For this one."""
    of_projects: bool = False
    """Seen from the department: ``given`` is everything."""

    @property
    def left(self) -> Decimal:
        return self.quota - self.given

    @property
    def excess(self) -> Decimal:
        return self.asked - self.left

    @property
    def sentence(self) -> str:
        unit = UNITS[self.resource]
        many = "much" if self._is_size else "many"
        if self.of_projects:
            return (
                f"Its projects have {self._number(self.given)} {unit} together:"
                f" {self._number(-self.left)} too {many}."
            )
        left = self._number(max(self.left, Decimal(0)))
        text = (
            f"Department {self.department}: {self._number(self.given)} of"
            f" {self._number(self.quota)} {unit} assigned, {left} left."
        )
        if self.excess > 0:
            makes = self._number(self.asked)
            text += f" This one needs {makes}: {self._number(self.excess)} too {many}."
        return text

    @property
    def _is_size(self) -> bool:
        return self.resource == "memory"

    def _number(self, value: Decimal) -> str:
        return bytes_in_words(int(value)) if self._is_size else plain_number(float(value))


def balances(node: Node, asked: Mapping[int, Mapping[str, Any]] | None = None) -> Iterator[Balance]:
    """What is given of each quota of a department that is not unlimited, and what is left.

    Of a project, ``asked`` (node pool → resource → amount) takes the place of what is stored.
    """
    is_project = isinstance(node, Project)
    department = node.department if isinstance(node, Project) else node
    if is_project and asked is None:
        asked = {
            one.node_pool_id: {name: one.amount(name) for name in RESOURCES}
            for one in quotas_of(node)
        }
    others = department.projects.exclude(pk=node.pk) if is_project else department.projects.all()
    given: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
    for one in Quota.objects.filter(
        scope__in=others.values("scope"), node_pool__cluster=department.cluster_id
    ):
        for resource in RESOURCES:
            given[one.node_pool_id, resource] += one.amount(resource) or 0
    for quota in quotas_of(department):
        pool = quota.node_pool
        for resource in RESOURCES:
            if (whole := quota.amount(resource)) is not None:
                yield Balance(
                    department=department.name,
                    pool=pool,
                    resource=resource,
                    quota=whole,
                    given=given[pool.pk, resource],
                    asked=Decimal((asked or {}).get(pool.pk, {}).get(resource) or 0),
                    of_projects=not is_project,
                )


def totals(quotas: Iterable[Quota]) -> dict[str, Decimal | None]:
    """The quotas of all pools together; None: unlimited in one of them."""
    found: dict[str, Decimal | None] = {}
    rows = list(quotas)
    for resource in RESOURCES:
        amounts = [one.amount(resource) for one in rows]
        some = [one for one in amounts if one is not None]
        found[resource] = sum(some, Decimal(0)) if len(some) == len(amounts) else None
    return found


def gpus_of(projects: Sequence[Project]) -> dict[int, Decimal | None]:
    """The GPU quota of each project, all pools together, by its id; None: unlimited."""
    found: dict[int, Decimal | None] = {one.scope_id: Decimal(0) for one in projects}
    for scope, gpus in Quota.objects.filter(scope__in=found).values_list("scope_id", "gpus"):
        before = found[scope]
        found[scope] = None if gpus is None or before is None else before + gpus
    return {one.pk: found[one.scope_id] for one in projects}


def _need(node: Node, actor: Actor | None) -> None:
    above = node.scope.parent or node.scope
    if actor is not None and not can(actor.user, Permission.QUOTA_EDIT, above):
        raise NotAllowed(Permission.QUOTA_EDIT, above)


def _as_json(value: Any) -> Any:
    return plain_number(float(value)) if isinstance(value, Decimal) else value


def notice(node: Node) -> str:
    """What a new quota brings with it: who is over it now, and what is given away twice."""
    before = getattr(node, "quotas_before", None)
    parts = []
    if before is not None:
        over = usage.over_quota(node, quotas_of(node)) - usage.over_quota(node, before)
        if over:
            count = len(over)
            becomes = ngettext("workload becomes", "workloads become", count)
            parts.append(f"{count} running {becomes} over quota.")
    parts += [one.sentence for one in balances(node) if one.excess > 0]
    return " ".join(parts)
