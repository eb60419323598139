"""The published client, unmodified, against a running server.

A resource that the client knows is one `Row`: what it sends to create, list, edit and delete.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import runai
from runai import models
from runai.api_client import ApiClient, AsyncApiClient
from runai.configuration import Configuration
from runai.exceptions import ConflictException, NotFoundException
from runai.runai_client import RunaiClient

from tests.support.web_server import WebServer, web_server


@dataclass(frozen=True, kw_only=True)
class Row:
    """``make`` … ``remove``: methods of ``api``, which is a path of properties of the client."""

    api: str
    new: Callable[[WebServer], Any]
    """The body of the creation."""
    make: str
    listed: str
    envelope: str = ""
    one: str
    remove: str
    edit: str = ""
    change: Any = None
    """The body of the edit."""
    changed: Mapping[str, Any] = field(default_factory=dict)
    """What the object holds afterwards."""
    secret: str = ""
    """Field of the answer to the creation that is in no other answer."""
    renew: str = ""
    """Method that makes another secret."""
    names: tuple[str, ...] = ("name",)
    """Fields of the answer to the creation that the list shows as they were."""


IAM = "authentication_and_authorization"
ROWS = {
    "department": Row(
        api="organizations.departments",
        new=lambda site: {"name": "by-client", "clusterId": site.cluster},
        make="create_department",
        listed="get_departments",
        envelope="departments",
        one="get_department",
        edit="update_department",
        change={"name": "by-client", "description": "Changed"},
        changed={"description": "Changed"},
        remove="delete_department",
    ),
    "service account": Row(
        api=f"{IAM}.service_accounts",
        new=lambda site: models.ServiceAccountCreationRequest(name="by-client"),
        make="create_service_account",
        listed="get_service_accounts",
        one="get_service_account_by_id",
        edit="update_service_account_by_id",
        change=models.ServiceAccountPatchRequest(enabled=False),
        changed={"enabled": False},
        remove="delete_service_account_by_id",
        secret="clientSecret",
        renew="regenerate_service_account_secret",
    ),
    "application": Row(
        api=f"{IAM}.applications",
        new=lambda site: models.ApplicationCreationRequest(name="by-client-2"),
        make="create_application",
        listed="get_applications",
        one="get_application_by_id",
        edit="update_application_by_id",
        change=models.ApplicationPatchRequest(enabled=False),
        changed={"enabled": False},
        remove="delete_application_by_id",
        secret="secret",
        renew="regenerate_application_secret",
    ),
    "access key": Row(
        api=f"{IAM}.access_keys",
        new=lambda site: models.AccessKeyCreationRequest1(name="by-client"),
        make="create_access_key1",
        listed="get_access_keys",
        envelope="accessKeys",
        one="get_access_key_by_id1",
        remove="delete_access_key_by_id",
        secret="clientSecret",
        renew="regenerate_access_key_secret",
    ),
    "user": Row(
        api=f"{IAM}.users",
        new=lambda site: models.UserCreationRequest1(email="by-client@example.com"),
        make="create_user",
        listed="get_users",
        one="get_user_by_id",
        remove="delete_user_by_id",
        secret="tempPassword",
        renew="reset_user_password",
        names=("username",),
    ),
    "access rule": Row(
        api=f"{IAM}.access_rules",
        new=lambda site: models.AccessRuleCreationFields(
            subjectId="stranger",
            subjectType=models.SubjectType.USER,
            roleId=9,
            scopeId=site.cluster,
            scopeType=models.ScopeType.CLUSTER,
        ),
        make="create_access_rule",
        listed="get_access_rules",
        envelope="accessRules",
        one="get_access_rule",
        remove="delete_access_rule",
        names=("subjectId", "roleName", "scopeId", "scopeType", "clusterId", "createdBy"),
    ),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with web_server(tmp_path_factory.mktemp("runapy")) as server:
        yield server


def client_of(site: WebServer, client_id: str, secret: str) -> RunaiClient:
    """As its documentation says, but that it does not try again what is refused."""
    return RunaiClient(
        ApiClient(
            Configuration(
                client_id=client_id,
                client_secret=secret,
                runai_base_url=f"{site.url}/",
                retry_enabled=False,
            )
        )
    )


@pytest.fixture(scope="module")
def client(site: WebServer) -> Iterator[RunaiClient]:
    with client_of(site, site.client_id, site.client_secret) as made:
        yield made


def api_of(client: RunaiClient, path: str) -> Any:
    found: Any = client
    for step in path.split("."):
        found = getattr(found, step)
    return found


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_create_list_edit_delete(site: WebServer, client: RunaiClient, row: Row) -> None:
    api = api_of(client, row.api)
    made = getattr(api, row.make)(row.new(site))
    assert made.status_code == 201
    key = made.data["id"]
    assert row.secret == "" or made.data[row.secret]

    listed = getattr(api, row.listed)().data
    (shown,) = [
        one for one in (listed[row.envelope] if row.envelope else listed) if one["id"] == key
    ]
    assert [shown[name] for name in row.names] == [made.data[name] for name in row.names]
    assert row.secret == "" or row.secret not in shown
    with pytest.raises(ConflictException):
        getattr(api, row.make)(row.new(site))

    if row.renew:
        another = getattr(api, row.renew)(key).data[row.secret]
        assert another != made.data[row.secret]
    if row.edit:
        getattr(api, row.edit)(key, row.change)
        found = getattr(api, row.one)(key).data
        assert {name: found[name] for name in row.changed} == row.changed

    assert getattr(api, row.remove)(key).status_code in (202, 204)
    with pytest.raises(NotFoundException):
        getattr(api, row.one)(key)


def test_roles_are_read_and_named_in_own_rules(client: RunaiClient) -> None:
    iam = client.authentication_and_authorization
    roles = {one["name"]: one["id"] for one in iam.roles.get_roles_v1().data}
    (own,) = iam.me.get_me_access_rules().data["accessRules"]["accessRules"]
    assert own["roleId"] == roles["System administrator"] == 1
    assert models.RoleV1.from_dict(iam.roles.get_role_v1(1).data) is not None
    assert all(models.Permission.from_dict(p) for p in iam.permissions.get_permissions().data)


def test_a_service_account_signs_in_until_it_is_disabled(
    site: WebServer, client: RunaiClient
) -> None:
    accounts = client.authentication_and_authorization.service_accounts
    made = accounts.create_service_account(
        models.ServiceAccountCreationRequest(name="nightly")
    ).data
    own = client_of(site, made["clientId"], made["clientSecret"])
    assert own.organizations.departments.get_departments().data["departments"] == []
    accounts.update_service_account_by_id(
        made["id"], models.ServiceAccountPatchRequest(enabled=False)
    )
    with pytest.raises(runai.exceptions.UnauthorizedException):
        own.organizations.departments.get_departments()
    with pytest.raises(ValueError, match="'code': 400"):
        client_of(site, made["clientId"], made["clientSecret"])


def test_wrong_credentials_are_told_at_once(site: WebServer) -> None:
    with pytest.raises(ValueError, match="'code': 400"):
        client_of(site, site.client_id, "wrong")


# The client's own `__del__` makes a coroutine that nothing awaits.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_the_asynchronous_client_creates(site: WebServer) -> None:
    """It wraps the body in a JSON string."""
    own = Configuration(
        client_id=site.client_id, client_secret=site.client_secret, runai_base_url=site.url
    )
    async with RunaiClient(AsyncApiClient(own)) as client:
        accounts = client.authentication_and_authorization.service_accounts
        made = await accounts.create_service_account({"name": "asynchronous"})
        assert made.data["clientSecret"]
