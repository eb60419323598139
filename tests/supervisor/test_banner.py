"""What the terminal shows at a start."""

import pytest

from gangline.accounts.services import create_user
from gangline.supervisor import banner


@pytest.mark.django_db
def test_every_sign_in_link_tells_how_long_it_works() -> None:
    for name in ("administrator", "researcher"):
        create_user(username=name)
    links = [line for line in banner.text().splitlines() if "/enter/" in line]
    assert [line.split("http")[0].split()[-1] for line in links] == ["administrator", "researcher"]
    assert all(line.endswith("  (once, 15 minutes)") for line in links)
