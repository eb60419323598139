"""The files that a workload left: their tab, their download, and the same by the API."""

import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from django.test import Client

from gangline.accounts.services import create_user, make_token
from gangline.audit.models import AuditEntry
from gangline.clusters.connections import driver_for
from gangline.drivers.local.driver import LocalDriver
from gangline.drivers.local.run_folder import RunFolder
from gangline.drivers.local.shim.files import PLAN_VERSION
from gangline.people.services import give
from tests.support.engine import new_workload
from tests.support.world import World
from workloads.models import Workload

pytestmark = pytest.mark.django_db
ODD = b"caf\xe9 & <b>.txt"


def client_of(world: World, person: str = "researcher-vision") -> Client:
    return world.client(person)


@pytest.fixture
def ran(world: World) -> tuple[Workload, Path]:
    """A workload, and the folder that its only replica started in."""
    workload = new_workload(
        name="digits",
        project=world.vision,
        owner=world.people["researcher-vision"],
        values={"image": "local://system", "command": "true"},
    )
    driver = driver_for(workload.cluster)
    assert isinstance(driver, LocalDriver)
    folder = RunFolder(driver.data_dir, str(workload.pk), 1)
    folder.prepare()
    work = folder.work("worker-0")
    (work / "results").mkdir(parents=True)
    (work / "results" / "model.pt").write_bytes(b"\0weights")
    (work / os.fsdecode(ODD)).write_bytes(b"odd")
    (work / "link").symlink_to("results")
    opened = [str(world_root(driver))]
    folder.write_plan(
        {"version": PLAN_VERSION, "replicas": [{"name": "worker-0", "opened": opened}]}
    )
    return workload, work


def world_root(driver: LocalDriver) -> Path:
    """A folder in which workloads may work."""
    examples = driver.options.examples_dir
    assert examples is not None
    return examples


def links(page: str) -> dict[str, str]:
    """Addresses by the words that lead there."""
    found = re.findall(r'<a [^>]*href="([^"]+)"[^>]*>(.*?)</a>', page, re.DOTALL)
    return {
        re.sub(r"<[^>]+>", "", words).strip(): url.replace("&amp;", "&") for url, words in found
    }


def test_a_person_finds_and_takes_what_a_program_left(
    world: World, ran: tuple[Workload, Path]
) -> None:
    workload, _ = ran
    client = client_of(world)
    page = client.get(f"/workloads/{workload.pk}/files").content.decode()
    page = client.get(links(page)["worker-0/"]).content.decode()
    assert "<b>.txt" not in page
    where = re.search(r'href="([^"]*/files/download[^"]*)"', page)
    assert where
    answer = client.get(where[1].replace("&amp;", "&"))
    assert answer.getvalue() == b"odd"
    page = client.get(links(page)["link"]).content.decode()
    address = re.search(r'href="([^"]*/files/download[^"]*)"', page)
    assert address
    answer = client.get(address[1].replace("&amp;", "&"))
    assert answer.getvalue() == b"\0weights"
    assert answer["Content-Length"] == "8"
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"] == 'attachment; filename="model.pt"'
    entry = AuditEntry.objects.get(
        action="workload.file_download", detail__file__endswith="model.pt"
    )
    assert (entry.object_name, entry.result) == ("digits", "ok")


def test_the_api_leads_from_folders_to_files(world: World, ran: tuple[Workload, Path]) -> None:
    workload, _ = ran
    token = make_token(user=world.people["researcher-vision"], name="tests", days=1).text
    client = Client(headers={"Authorization": f"Bearer {token}"})
    found = client.get(f"/api/v1/workloads/{workload.pk}/files").json()
    assert [place["key"] for place in found["places"]] == ["run", "work-0"]
    (pod,) = found["entries"]
    assert (pod["name"], pod["kind"], pod["size"]) == ("worker-0", "folder", None)
    entries = {one["name"]: one for one in client.get(pod["url"]).json()["entries"]}
    odd = entries["caf\\xe9 & <b>.txt"]
    assert unquote_to_bytes(odd["url"]).endswith(ODD)
    assert client.get(odd["url"]).getvalue() == b"odd"
    (model,) = client.get(entries["link"]["url"]).json()["entries"]
    assert client.get(model["url"]).getvalue() == b"\0weights"
    for query, code in {
        "path=../1": 400,
        "path=worker-0//x": 400,
        "place=elsewhere": 400,
        "place=work-9": 404,
        "attempt=0": 400,
        "attempt=7": 404,
        "path=worker-0/none": 409,
        "other=1": 400,
    }.items():
        answer = client.get(f"/api/v1/workloads/{workload.pk}/files?{query}")
        assert answer.status_code == code, query
    url = f"/api/v1/workloads/{workload.pk}/files/content"
    assert client.get(f"{url}?path=worker-0").status_code == 409
    assert AuditEntry.objects.filter(action="workload.file_download", result="failed").exists()


def test_who_may_read_logs_reads_the_run_folder_and_who_may_run_commands_the_rest(
    world: World, ran: tuple[Workload, Path]
) -> None:
    workload, _ = ran
    url = f"/workloads/{workload.pk}/files"
    file = f"{url}/download?path=worker-0/results/model.pt"
    world.people["engineer"] = create_user(username="engineer")
    give(actor=None, user=world.people["engineer"], role="ml_engineer", scope=world.vision.scope)
    expected = {
        "researcher-vision": (True, True, 200),
        "engineer": (True, False, 200),
        "viewer-vision": (False, False, 403),
        "stranger": (None, None, 404),
    }
    for person, (run, work, code) in expected.items():
        client = client_of(world, person)
        if run is None:
            assert client.get(url).status_code == 404
        else:
            page = client.get(url)
            assert page.status_code == 200
            assert ("worker-0/" in page.content.decode()) is run, person
            shown = client.get(f"{url}?place=work-0").content.decode()
            assert ("digits_ddp.py" in shown) is work, person
        assert client.get(file).status_code == code, person
        code_of_work = client.get(f"{url}/download?place=work-0&path=digits_ddp.py").status_code
        assert code_of_work == (200 if work else code if code != 200 else 403), person


def test_what_is_not_there_is_said_on_the_page(world: World, ran: tuple[Workload, Path]) -> None:
    workload, _ = ran
    client = client_of(world)
    url = f"/workloads/{workload.pk}/files"
    answer = client.get(f"{url}/download?path=worker-0/none", follow=True)
    assert answer.status_code == 200
    assert "It does not exist." in answer.content.decode()
    assert client.get(f"{url}?path=../up").status_code == 404
