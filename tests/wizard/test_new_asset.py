"""Environments and compute resources made within the form."""

from assets.models import Asset
from gangline.people.services import give
from tests.support.forms import Filler, Page
from tests.support.world import IMAGE, World
from workloads.models import Attempt

NEW = "new:worker.environment"


def _send(filler: Filler, address: str, **texts: str) -> tuple[int, str, Page]:
    answer = filler.client.post(address, texts)
    return answer.status_code, answer.headers.get("Location", ""), Page(answer.content.decode())


def test_made_in_the_form_it_comes_back_chosen_and_nothing_is_lost(
    filler: Filler, world: World
) -> None:
    filler.post("setup", {"workload.name": "digits"})
    opened = filler.post("workers", {"worker.command": "python train.py"}, go=NEW)
    assert opened.status == 303
    page = Page(filler.client.get(opened.location).content.decode())
    assert not page.has(data_testid="f-description")

    status, _, page = _send(filler, opened.location, name="pytorch-dt")
    assert status == 422
    assert page.has(id="f-worker-image-e")
    assert not Asset.objects.exists()

    status, back, _ = _send(
        filler, opened.location, **{"name": "pytorch-dt", "worker.image": IMAGE}
    )
    assert status == 303
    made = Asset.objects.get()
    assert made.scope == world.vision.scope
    assert made.values == {"image": IMAGE}
    assert back == f"{filler.url('workers')}#f-worker-environment~asset"
    page = filler.get("workers").page
    assert page.value("worker.environment~asset") == str(made.pk)
    assert page.value("worker.command") == "python train.py"

    opened = filler.post("workers", go="new:worker.compute")
    _send(filler, opened.location, **{"name": "small", "worker.compute.cpuCoreRequest": "0.25"})
    filler.post("workers")
    filler.post("review", go="create")
    attempt = Attempt.objects.get()
    assert attempt.value("worker.image") == IMAGE
    assert attempt.value("worker.compute.cpuCoreRequest") == 0.25


def test_without_the_permission_there_is_no_button_and_no_way(world: World) -> None:
    give(actor=None, user=world.people["stranger"], role="l2_researcher", scope=world.vision.scope)
    filler = Filler(world, "stranger")
    filler.post("setup", {"workload.name": "digits"})
    assert not filler.get("workers").page.has(value=NEW)
    address = f"{filler.url('workers')}?new=worker.environment"
    status, _, _ = _send(filler, address, **{"name": "mine", "worker.image": IMAGE})
    assert status == 403
    assert not Asset.objects.exists()
