"""Create pressed many times at the same moment makes one workload (AC-F19)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID

import pytest
from django.db import connection

from gangline.access.actor import Actor
from tests.support.forms import Filler
from tests.support.world import make_world
from workloads.models import Workload
from workloads.wizard import creation
from workloads.wizard.drafts import AlreadySubmitted

pytestmark = pytest.mark.postgres

PRESSES = 6


@pytest.mark.django_db(transaction=True)
def test_create_at_the_same_moment_makes_one_workload() -> None:
    world = make_world()
    filler = Filler(world)
    filler.ready()
    actor = Actor(user=world.people["researcher-vision"], channel="form")
    barrier = Barrier(PRESSES)

    def press(_: int) -> UUID:
        barrier.wait(20)
        try:
            return creation.create(actor=actor, draft_id=filler.draft).pk
        except AlreadySubmitted as done:
            return done.workload_id
        finally:
            connection.close()

    with ThreadPoolExecutor(PRESSES) as pool:
        made = set(pool.map(press, range(PRESSES)))
    assert made == {Workload.objects.get().pk}
