"""A data source that is deleted while a policy that imposes it is saved: one of the two is told."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import connection, transaction

from assets.models import Asset
from gangline.policies import services as policies
from gangline.policies.document import InvalidPolicy
from gangline.policies.models import Policy
from gangline.resources.registry import get
from gangline.resources.services import delete, make
from tests.support.world import make_world

pytestmark = pytest.mark.postgres


@pytest.mark.django_db(transaction=True)
def test_no_policy_imposes_what_is_deleted_meanwhile() -> None:
    world = make_world()
    item = {"server": "nfs", "path": "/x", "mountPath": "/x"}
    source = make(
        "nfs",
        scope=world.vision.scope,
        name="sets",
        values={"storage.nfs": [{"name": "x", **item}]},
    )
    is_deleted, is_asked = Event(), Event()

    def save() -> bool:
        assert is_deleted.wait(20)
        is_asked.set()
        try:
            policies.save(
                actor=None, scope=world.vision.scope, text=f"imposedAssets: [{source.pk}]"
            )
        except InvalidPolicy:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(save)
        with transaction.atomic():
            delete(get("nfs"), actor=None, obj=source)
            is_deleted.set()
            assert is_asked.wait(20)
            # Where the database lets it read, it reads what is not deleted yet.
            with pytest.raises(TimeoutError):
                saving.result(timeout=0.5)
        assert saving.result(20) is False
    assert not Asset.objects.exists()
    assert not Policy.objects.filter(scope=world.vision.scope).exists()
