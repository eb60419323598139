"""Every address that the published client uses for distributed training is there, and no other."""

import re
from pathlib import Path

import pytest
from django.test import Client

from gangline.api.addresses import addresses
from tests.support.api import ApiClient

WANTED = Path(__file__).with_name("addresses_of_clients.txt").read_text().splitlines()
"""Priority, path and methods: P0 without which the client cannot work, P1 a usable product."""
_PARAMETER = re.compile(r"\{[^}]*\}")


def test_every_address_of_clients_is_there_with_its_methods() -> None:
    there = {_PARAMETER.sub("{}", path): methods for path, methods in addresses().items()}
    missing = []
    for line in WANTED:
        priority, path, methods = line.split()
        known = there.get(_PARAMETER.sub("{}", path), ())
        missing += [f"{priority} {m} {path}" for m in methods.split(",") if m not in known]
    assert missing == []


@pytest.mark.django_db
def test_what_is_not_there_answers_404_with_what_is(researcher: ApiClient) -> None:
    answer = researcher.get("workloads/inferences")
    assert answer.status_code == 404
    assert answer.json()["code"] == 404
    assert "POST /api/v1/workloads/distributed" in answer.json()["available"]
    assert all(" /api/v1/workloads" in one for one in answer.json()["available"])


@pytest.mark.parametrize("path", ["/api/", "/api/v7/x", "/v1/k8s/none", "/api/" + "a/" * 500])
def test_a_stranger_gets_the_same_list_for_any_address(path: str) -> None:
    answer = Client().post(path)
    assert answer.status_code == 404
    assert 0 < len(answer.json()["available"]) <= 40


@pytest.mark.django_db
def test_a_method_that_is_not_there_is_answered_with_those_that_are(researcher: ApiClient) -> None:
    answer = researcher.request("PUT", "workloads/distributed")
    assert answer.status_code == 405
    assert "POST" in answer.headers["Allow"]
