"""Nodes follow the probe, each in its pool."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gangline.clusters import nodes
from gangline.clusters.models import Node
from gangline.drivers.facts import NodeFact
from gangline.lib.problems import Refused
from gangline.resources.registry import get
from gangline.resources.services import delete, make
from tests.support.world import World


def facts(count: int) -> list[NodeFact]:
    return [
        NodeFact(f"n{number}", "Ready", {"gpu": "a100" if number % 2 else "none"}, cpu=8.0)
        for number in range(count)
    ]


def test_many_nodes_are_written_in_few_statements_and_only_when_they_differ(world: World) -> None:
    found = facts(2_000)
    with CaptureQueriesContext(
        connection,
    ) as first:
        assert nodes.store(world.cluster, found) == 2_000
    assert len(first) < 40
    with CaptureQueriesContext(connection) as again:
        assert nodes.store(world.cluster, found) == 0
    assert len(again) == 1
    found[7] = replace(found[7], status="NotReady")
    assert nodes.store(world.cluster, found[:-1]) == 2
    assert Node.objects.get(name="n7").status == "NotReady"
    assert Node.objects.count() == 1_999


def test_a_node_is_in_the_first_pool_whose_label_it_has(world: World) -> None:
    nodes.store(world.cluster, facts(4))
    assert {one.pool.name for one in Node.objects.all() if one.pool} == {"default"}
    pool = make(
        "node_pool", cluster=world.cluster, name="a100", label_key="gpu", label_value="a100"
    )
    assert sorted(pool.nodes.values_list("name", flat=True)) == ["n1", "n3"]
    nodes.store(world.cluster, facts(6))
    assert pool.nodes.count() == 3
    delete(get("node_pool"), actor=None, obj=pool)
    assert {one.pool.name for one in Node.objects.all() if one.pool} == {"default"}


def test_a_pool_has_a_topology_of_its_own_cluster_only(world: World) -> None:
    elsewhere = make("cluster", name="far", kind="kubernetes")
    other = make("network_topology", cluster=elsewhere, name="t", levels=["rack"])
    values: dict[str, Any] = {
        "cluster": world.cluster,
        "name": "p",
        "label_key": "a",
        "label_value": "b",
    }
    with pytest.raises(Refused) as refused:
        make("node_pool", **values, network_topology=other)
    assert [one.path for one in refused.value.problems] == ["network_topology_id"]
    own = make("network_topology", cluster=world.cluster, name="t", levels=["rack"])
    assert make("node_pool", **values, network_topology=own).network_topology == own
    assert own.phase == "Creating"
    world.cluster.facts = {"detail": {"nodes": {"labels": ["rack", "zone"]}}}
    assert own.phase == "Ready"
