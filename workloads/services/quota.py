"""Quotas as the walk counts them, and as a sentence beside what is to be submitted."""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal

from gangline.clusters.models import Cluster
from gangline.organization import quotas
from gangline.organization.models import Department, Project, Quota
from workloads.services.slots import RESOURCES, Need
from workloads.services.walk import Gang, Share

Amounts = Mapping[str, float]


class Shares:
    """The shares of a cluster's projects and departments, each one object for a whole walk."""

    def __init__(self, cluster: Cluster, quotas_instead: Iterable[Quota] = ()) -> None:
        self._cluster = cluster
        self._pools = quotas.pools_of(cluster)
        self._stored = quotas.stored_quotas(cluster)
        self._stored |= {(one.scope_id, one.node_pool_id): one for one in quotas_instead}
        self._projects: dict[int, tuple[Share, Share]] = {}
        self._departments: dict[int, Share] = {}

    def gang(
        self, project_id: int, need: Need, priority: int = 0, *, is_preemptible: bool = True
    ) -> Gang:
        if not self._projects:
            rows = self._cluster.projects.select_related("department")
            # A walk may ask for thousands: of the many columns it needs names and places.
            own = ("name", "scope_id", "cluster_id", "department__name", "department__scope_id")
            for row in rows.only(*own):
                self._projects[row.pk] = self._of(row), self._department(row.department)
        project, department = self._projects[project_id]
        return Gang(need, project, department, priority=priority, is_preemptible=is_preemptible)

    def _department(self, row: Department) -> Share:
        if row.pk not in self._departments:
            self._departments[row.pk] = self._of(row)
        return self._departments[row.pk]

    def quotas_of(self, node: Project | Department) -> list[Quota]:
        """As `quotas.quotas_of`, from what was read for all of the cluster."""
        return [
            self._stored.get((node.scope_id, pool.pk)) or quotas.new_quota(node, pool)
            for pool in self._pools
        ]

    def _of(self, node: Project | Department) -> Share:
        # Only the default node pool hands out slots.
        quota = next(iter(self.quotas_of(node)), None)
        return share_of(quota, f"{node.scope_kind} {node.name}")


def share_of(quota: Quota | None, name: str) -> Share:
    if quota is None:
        return Share(name)
    return Share(
        name,
        quota={one: _number(quota.amount(one)) for one in RESOURCES},
        ceiling={one: _number(quota.ceiling(one)) for one in RESOURCES},
        rank=quota.rank,
        weight=quota.share,
    )


def _number(value: Decimal | None) -> float:
    return math.inf if value is None else float(value)
