"""Objects that are kept on a cluster: applied, looked at again, removed; a conflict is shown."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from gangline.clusters import objects
from gangline.clusters.models import Cluster, ClusterObject
from gangline.db import clock
from gangline.drivers.base import Kept, KeptObject
from gangline.drivers.kubernetes import kept
from gangline.drivers.kubernetes.client import Answer
from gangline.lib.problems import Problem
from gangline.resources.services import make
from tests.drivers.kubernetes.scripted import ScriptedClient
from tests.support.kinds import declare
from tests.support.world import World

QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "gl-1", "labels": {"owner": "us"}},
    "spec": {"weight": 1},
}
WANTED = KeptObject("Queue", "", "gl-1", QUEUE)


class Server:
    """An API server that holds queues, behind the driver's own code."""

    def __init__(self) -> None:
        self.there: dict[str, Any] = {}
        self.refuses = 0
        self.client = ScriptedClient(self.say)

    def say(self, method: str, path: str, query: Mapping[str, Any]) -> Answer:
        name = path.rsplit("/", 1)[1]
        if self.refuses:
            return Answer(self.refuses, {"message": "no"})
        if method == "PATCH":
            assert query["force"] == "false"
            self.there[name] = {"metadata": {"uid": "u", "labels": {"owner": "us"}}}
        elif name not in self.there:
            return Answer(404, {"message": "not found"})
        elif method == "DELETE":
            return Answer(200, self.there.pop(name))
        return Answer(200, self.there[name])

    def apply(self, wanted: KeptObject) -> Kept:
        return kept.apply(self.client, wanted)

    def remove(self, wanted: KeptObject) -> Kept:
        return kept.remove(self.client, wanted)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def lab(world: World, server: Server) -> Cluster:
    declare("objects", lambda connection: server)
    made: Cluster = make("cluster", name="lab", kind="objects")
    return made


def later(monkeypatch: pytest.MonkeyPatch, ahead: timedelta) -> None:
    now = clock.db_now()
    monkeypatch.setattr(objects, "db_now", lambda: now + ahead)


def test_what_is_wanted_comes_back_after_somebody_deleted_it(
    lab: Cluster, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = objects.want(lab, ("project", "1"), QUEUE)
    assert objects.reconcile_due() == 1
    row.refresh_from_db()
    assert (row.state, row.applied_hash) == ("ok", row.wanted_hash)
    assert objects.reconcile_due() == 0
    server.there.clear()
    later(monkeypatch, timedelta(minutes=11))
    assert objects.reconcile_due() == 1
    assert "gl-1" in server.there


@pytest.mark.parametrize(
    ("status", "state"), [(409, "conflict"), (403, "forbidden"), (500, "failed")]
)
def test_a_refusal_is_shown_and_tried_again(
    lab: Cluster, server: Server, status: int, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.refuses = status
    row = objects.want(lab, ("project", "1"), QUEUE)
    objects.reconcile_due()
    row.refresh_from_db()
    assert (row.state, row.applied_hash) == (state, "")
    assert (row.problem or {})["code"] == state
    server.refuses = 0
    later(monkeypatch, timedelta(minutes=1))
    objects.reconcile_due()
    row.refresh_from_db()
    assert row.state == "ok"


@pytest.mark.parametrize("point", ["before", "after"])
def test_who_dies_around_the_effect_leaves_it_to_the_next(
    lab: Cluster, server: Server, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = objects.want(lab, ("project", "1"), QUEUE)
    really = server.apply

    def killed(wanted: KeptObject) -> Kept:
        if point == "after":
            really(wanted)
        raise SystemExit

    monkeypatch.setattr(server, "apply", killed)
    with pytest.raises(SystemExit):
        objects.reconcile_due()
    monkeypatch.setattr(server, "apply", really)
    assert objects.reconcile_due() == 0, "nobody knows yet that its process is gone"
    later(monkeypatch, objects.HELD + timedelta(seconds=1))
    assert objects.reconcile_due() == 1
    row.refresh_from_db()
    assert (row.state, row.applied_hash, list(server.there)) == ("ok", row.wanted_hash, ["gl-1"])


def test_what_is_not_wanted_goes_and_its_row_with_it(
    lab: Cluster, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.want(lab, ("project", "1"), QUEUE)
    objects.reconcile_due()
    objects.unwant(ClusterObject.objects.filter(owner_type="project", owner_id="1"))
    objects.reconcile_due()
    assert not server.there
    later(monkeypatch, timedelta(minutes=1))
    objects.reconcile_due()
    assert not ClusterObject.objects.exists()


def test_an_object_of_somebody_else_is_left_alone(server: Server) -> None:
    server.there["gl-1"] = {"metadata": {"uid": "u", "labels": {}}}
    assert server.remove(WANTED).state == "gone"
    assert "gl-1" in server.there


_LINES = ("b3BlbnNzaC1rZXktdjE", "AAAABG5vbmUAAAA")
PEM = "\n".join(("-----BEGIN PRIVATE KEY-----", *_LINES, "-----END PRIVATE KEY-----", ""))


@pytest.mark.parametrize(
    ("secrets", "said", "kept"),
    [
        (["hunter2-hunter2"], "bad value hunter2-hunter2!", "bad value [redacted]!"),
        (["hunter2-hunter2", "hunter2"], "hunter2-hunter2 hunter2", "[redacted] [redacted]"),
        (["hunter2", "hunter2-hunter2"], "hunter2-hunter2 hunter2", "[redacted] [redacted]"),
        (["a"], "a bad value at data", "a bad value at data"),
        ([PEM], f"cannot read {PEM}", "cannot read [redacted]"),
        ([PEM], f"cannot read {json.dumps(PEM)}", 'cannot read "[redacted]"'),
        ([PEM], "at line b3BlbnNzaC1rZXktdjE of it", "at line [redacted] of it"),
    ],
)
def test_what_a_cluster_repeats_of_a_secret_is_redacted(
    lab: Cluster, server: Server, monkeypatch: pytest.MonkeyPatch,
    secrets: list[str], said: str, kept: str,
) -> None:  # fmt: skip
    told = Kept("failed", Problem("unreachable", "", {"said": said}))
    monkeypatch.setattr(server, "apply", lambda wanted: told)
    objects.fill_with("redacted", lambda row: objects.Filled(row.wanted, tuple(secrets)))
    row = objects.want(lab, ("redacted", "1"), QUEUE)
    objects.reconcile_due()
    row.refresh_from_db()
    assert (row.problem or {})["params"] == {"said": kept}
    assert kept in row.why
