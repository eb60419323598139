"""What limits a token or a key: addresses, looking only, and parts of the API."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from gangline.accounts.areas import AREAS, MAKES_KEYS, OPEN, area_of
from gangline.accounts.models import ApiToken
from gangline.accounts.services import make_token
from gangline.api.addresses import addresses
from gangline.resources.services import make
from tests.support.world import World

pytestmark = pytest.mark.django_db
WHO = "researcher-vision"


def token(world: World, **limits: Any) -> str:
    made = make_token(user=world.people[WHO], name="limited", days=1, **limits)
    return made.text


def asks(text: str, path: str, method: str = "GET", address: str = "192.0.2.7") -> int:
    headers = {"Authorization": f"Bearer {text}"}
    answer = Client().generic(
        method, path, b"{}", "application/json", headers=headers, REMOTE_ADDR=address
    )
    return answer.status_code


def test_every_address_is_in_one_area_or_is_named_beside_them() -> None:
    begins = [*MAKES_KEYS, *OPEN, *(one for area in AREAS.values() for one in area.begins)]
    assert len(begins) == len({*begins})
    nowhere = [
        path
        for path in addresses()
        if area_of(path) is None
        and "shel" not in path
        and not path.removeprefix("/api/v1/").startswith(MAKES_KEYS)
    ]
    assert nowhere == ["/v1/k8s/auth/oauth/apptoken"]


def test_a_token_of_an_area_opens_that_alone(world: World) -> None:
    text = token(world, areas="workloads,policies")
    found = {
        path: asks(text, path)
        for path in (
            "/api/v1/workloads", "/api/v2/policy", "/api/v1/me", "/api/v1/org-unit/projects",
            "/api/v1/asset/environment", "/api/v1/workload-templates", "/v1/k8s/setting",
            f"/v1/k8s/clusters/{world.cluster.pk}/projects",
        )
    }  # fmt: skip
    assert [path for path, code in found.items() if code == 200] == [*found][:3]
    assert {*found.values()} == {200, 403}
    assert asks(token(world, areas="organization"), [*found][-1]) == 200


@pytest.mark.parametrize(
    "path", ["/api/v1/access-keys", "/api/v1/user-applications", "/api/v1/me/password"]
)
def test_a_limited_token_makes_no_key_without_limits(world: World, path: str) -> None:
    assert asks(token(world, areas=",".join(AREAS)), path, "POST") == 403
    assert asks(token(world), path, "POST") == 400


def test_a_token_is_good_from_its_addresses_and_for_what_it_is(world: World) -> None:
    text = token(world, addresses="192.0.2.0/24, 10.0.0.0/8", is_read_only=True)
    path = "/api/v1/workloads"
    assert (asks(text, path), asks(text, path, address="198.51.100.1")) == (200, 401)
    assert asks(text, path, address="::ffff:10.1.2.3") == 200
    assert asks(text, "/api/v1/workloads/batch", "POST") == 403


@pytest.mark.parametrize("limits", [{"areas": "workloads,moon"}, {"addresses": "10.0.0.0/33"}])
def test_limits_are_checked_when_the_token_is_made(world: World, limits: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as error:
        token(world, **limits)
    assert [*error.value.error_dict] == [*limits]
    assert not ApiToken.objects.exists()


def test_the_page_makes_a_limited_token(world: World) -> None:
    client = world.client(WHO)
    form = {"name": "ci", "days": "7", "areas": ["workloads", "assets"], "addresses": "x"}
    refused = client.post("/account/tokens/new", form)
    assert (refused.status_code, ApiToken.objects.count()) == (422, 0)
    answer = client.post("/account/tokens/new", form | {"addresses": "10.0.0.0/8"})
    assert answer.status_code == 200
    made = ApiToken.objects.get()
    assert (made.areas, made.addresses, made.is_read_only) == (
        "workloads,assets",
        "10.0.0.0/8",
        False,
    )
    assert "for Workloads, Assets" in client.get("/account/tokens").content.decode()


def test_keys_have_areas_in_the_api(world: World) -> None:
    client = Client(headers=world.headers(WHO))

    def create(**values: Any) -> Any:
        return client.post("/api/v1/access-keys", {"name": "own", **values}, "application/json")

    assert create(areas=["moon"]).status_code == 400
    assert create(areas="workloads").status_code == 400
    made = create(areas=["workloads"])
    assert (made.status_code, made.json()["areas"]) == (201, ["workloads"])
    body = {"grantType": "client_credentials", "clientID": made.json()["clientId"],
            "clientSecret": made.json()["clientSecret"]}  # fmt: skip
    text = Client().post("/api/v1/token", body, "application/json").json()["accessToken"]
    assert (asks(text, "/api/v1/workloads"), asks(text, "/api/v1/clusters")) == (200, 403)


def test_keys_have_areas_on_their_form(world: World) -> None:
    client = world.client("administrator")
    account = make("service_account", name="ci", areas="workloads")
    page = client.get(f"/service-accounts/{account.pk}/edit").content.decode()
    assert page.count("checked") == 2  # enabled, workloads
    sent = {"name": "ci", "enabled": "on", "areas": ["policies"]}
    assert client.post(f"/service-accounts/{account.pk}/edit", sent).status_code == 302
    account.refresh_from_db()
    assert account.areas == "policies"
