"""The page of a cluster: what it offers, and how people bring more."""

from pathlib import Path

from gangline.drivers.local.runtimes import how_to_add
from tests.support.world import World


def test_the_page_tells_where_a_runtime_of_one_s_own_goes(world: World) -> None:
    client = world.client("researcher-vision")
    address = f"/clusters/{world.cluster.pk}/frameworks"
    assert "To add one" not in client.get(address).content.decode()
    world.cluster.facts["detail"] = {"moreRuntimes": how_to_add(Path("/srv/lab"))}
    world.cluster.save()
    page = client.get(address).content.decode()
    assert "put or link a virtual environment into /srv/lab/runtimes/&lt;name&gt;." in page
