"""Queries of every step, and that Review's curl asks for the same workload as Create."""

import json
import re

import pytest

from tests.support.api import ApiClient
from tests.support.forms import Filler
from tests.support.queries import query_budget
from tests.support.world import World
from workloads.models import Workload


@pytest.mark.parametrize("step", ["setup", "workers", "master", "review"])
def test_a_step_keeps_its_query_budget(filler: Filler, step: str) -> None:
    filler.ready()
    filler.get(step)
    with query_budget(f"form {step}"):
        assert filler.client.get(filler.url(step)).status_code == 200


def test_saving_keeps_its_query_budget(filler: Filler) -> None:
    filler.ready()
    page = filler.get("workers").page
    changes = {"worker.args": "--x"}
    with query_budget("form save"):
        assert filler.post("workers", changes, go="autosave", page=page).status == 200


def test_the_page_of_templates_keeps_its_query_budget(filler: Filler) -> None:
    filler.client.get("/templates")  # what a process reads once
    with query_budget("templates"):
        assert filler.client.get("/templates").status_code == 200


def test_reviews_curl_asks_for_the_same_workload(filler: Filler, world: World) -> None:
    filler.ready()
    filler.post("workers", {"worker.args": "--x 'it''s'", "worker.numWorkers": "2"})
    filler.post("master", {"master.different": "on", "master.compute.cpuCoreRequest": "0.25"})
    page = filler.get("review").page
    curl = next(e.text for e in page.one(data_testid="as-curl").inside if e.tag == "pre")
    assert "Bearer $TOKEN" in curl
    key = re.search(r'-H "Idempotency-Key: ([0-9a-f]{32})"', curl)
    assert key
    body = json.loads(re.search(r"-d '(.*)'$", curl, re.DOTALL)[1].replace("'\\''", "'"))  # type: ignore[index]
    filler.post("review", go="create")
    client = ApiClient(world, "researcher-vision")
    sent = {**body, "name": "by-api"}
    answer = client.post("workloads/distributed", sent, Idempotency_Key=key[1])
    assert answer.status_code == 202, answer.content
    again = client.post("workloads/distributed", sent, Idempotency_Key=key[1])
    assert again.json()["workloadId"] == answer.json()["workloadId"]
    by_form, by_api = (
        {
            path: entry["value"]
            for path, entry in Workload.objects.get(name=name).attempts.get().effective.items()
        }
        for name in ("digits", "by-api")
    )
    assert by_form == by_api
