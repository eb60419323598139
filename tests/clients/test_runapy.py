"""The published client, unmodified, against a running server.

A resource that the client knows is one `Row`: what it sends to create, list, edit and delete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from gangline.access.permissions import ENTITIES
from gangline.people.wire import RESOURCE_TYPES
from tests.support.web_server import WebServer, web_server

if TYPE_CHECKING:
    import runai
    from runai.runai_client import RunaiClient


class _Lazily:
    """The client, loaded when it is used: that takes seconds, which collecting saves.

    Not `LazyLoader`: pytest asks whatever a test module holds for `_mock_name`.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(import_module("runai"), name)


if not TYPE_CHECKING:
    runai = _Lazily()


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
    read: str
    """Model of the client that takes what is listed."""
    key: str = "id"
    edit: str = ""
    change: Callable[[], Any] = dict
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
        read="DepartmentForList",
        make="create_department",
        listed="get_departments",
        envelope="departments",
        one="get_department",
        edit="update_department",
        change=lambda: {"name": "by-client", "description": "Changed"},
        changed={"description": "Changed"},
        remove="delete_department",
    ),
    "project": Row(
        api="organizations.projects",
        new=lambda site: runai.models.ProjectCreationRequest(
            name="by-client",
            clusterId=site.cluster,
            resources=[
                runai.models.ResourcesNullable(
                    gpu=runai.models.NonNullResource(deserved=0, limit=2)
                )
            ],
        ),
        read="DepartmentForList",
        make="create_project",
        listed="get_projects",
        envelope="projects",
        one="get_project",
        edit="update_project",
        change=lambda: runai.models.ProjectUpdateRequest(description="Changed", resources=[]),
        changed={"description": "Changed"},
        remove="delete_project",
        names=("name", "clusterId", "parentId", "requestedNamespace", "resources"),
    ),
    "node pool": Row(
        api="organizations.node_pools",
        new=lambda site: runai.models.NodepoolCreateFields(
            name="by-client", labelKey="pool", labelValue="a", clusterId=site.cluster
        ),
        read="Nodepool",
        make="create_nodepool",
        listed="get_nodepools",
        envelope="nodepools",
        one="get_nodepool",
        edit="update_nodepool",
        change=lambda: runai.models.NodepoolUpdateFields(labelKey="pool", labelValue="b"),
        changed={"labelKey": "pool", "labelValue": "b"},
        remove="delete_nodepool",
    ),
    "cluster": Row(
        api="organizations.clusters",
        new=lambda site: runai.models.ClusterCreationRequest(name="by-client", version="2.22"),
        read="DisplayedCluster",
        make="create_cluster",
        key="uuid",
        listed="get_clusters",
        one="get_cluster_by_uuid",
        edit="update_cluster",
        change=lambda: runai.models.ClusterUpdateRequest(name="renamed"),
        changed={"name": "renamed"},
        remove="delete_cluster",
    ),
    "service account": Row(
        api=f"{IAM}.service_accounts",
        new=lambda site: runai.models.ServiceAccountCreationRequest(name="by-client"),
        read="ServiceAccount",
        make="create_service_account",
        listed="get_service_accounts",
        one="get_service_account_by_id",
        edit="update_service_account_by_id",
        change=lambda: runai.models.ServiceAccountPatchRequest(enabled=False),
        changed={"enabled": False},
        remove="delete_service_account_by_id",
        secret="clientSecret",
        renew="regenerate_service_account_secret",
    ),
    "application": Row(
        api=f"{IAM}.applications",
        new=lambda site: runai.models.ApplicationCreationRequest(name="by-client-2"),
        read="Application",
        make="create_application",
        listed="get_applications",
        one="get_application_by_id",
        edit="update_application_by_id",
        change=lambda: runai.models.ApplicationPatchRequest(enabled=False),
        changed={"enabled": False},
        remove="delete_application_by_id",
        secret="secret",
        renew="regenerate_application_secret",
    ),
    "access key": Row(
        api=f"{IAM}.access_keys",
        new=lambda site: runai.models.AccessKeyCreationRequest1(name="by-client"),
        read="AccessKey1",
        make="create_access_key1",
        listed="get_access_keys",
        envelope="accessKeys",
        one="get_access_key_by_id1",
        remove="delete_access_key_by_id",
        secret="clientSecret",
        renew="regenerate_access_key_secret",
    ),
    "user application": Row(
        api=f"{IAM}.user_applications",
        new=lambda site: runai.models.UserAppCreationRequest(name="by-client-3"),
        read="UserApp",
        make="create_user_application",
        listed="get_user_applications",
        one="get_user_application_by_id",
        remove="delete_user_application_by_id",
        secret="secret",
        renew="regenerate_user_application_secret",
    ),
    "user": Row(
        api=f"{IAM}.users",
        new=lambda site: runai.models.UserCreationRequest1(email="by-client@example.com"),
        read="User2",
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
        new=lambda site: runai.models.AccessRuleCreationFields(
            subjectId="stranger",
            subjectType=runai.models.SubjectType.USER,
            roleId=9,
            scopeId=site.cluster,
            scopeType=runai.models.ScopeType.CLUSTER,
        ),
        read="AccessRule",
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
    from runai.runai_client import RunaiClient

    return RunaiClient(
        runai.api_client.ApiClient(
            runai.configuration.Configuration(
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
    key = made.data[row.key]
    assert row.secret == "" or made.data[row.secret]

    listed = getattr(api, row.listed)().data
    (shown,) = [
        one for one in (listed[row.envelope] if row.envelope else listed) if one[row.key] == key
    ]
    assert getattr(runai.models, row.read).from_dict(shown).to_dict()
    assert [shown[name] for name in row.names] == [made.data[name] for name in row.names]
    assert row.secret == "" or row.secret not in shown
    with pytest.raises(runai.exceptions.ConflictException):
        getattr(api, row.make)(row.new(site))

    if row.renew:
        another = getattr(api, row.renew)(key).data[row.secret]
        assert another != made.data[row.secret]
    if row.edit:
        getattr(api, row.edit)(key, row.change())
        found = getattr(api, row.one)(key).data
        assert {name: found[name] for name in row.changed} == row.changed

    assert getattr(api, row.remove)(key).status_code in (202, 204)
    with pytest.raises(runai.exceptions.NotFoundException):
        getattr(api, row.one)(key)


def test_the_rest_is_read(site: WebServer, client: RunaiClient) -> None:
    """What clients do not make: nodes, roles, settings, the audit log."""
    nodes = client.organizations.nodes
    for found in (nodes.get_tenant_nodes().data, nodes.get_nodes(site.cluster).data):
        (node,) = runai.models.Nodes.from_dict(found).nodes
        assert (node.name, node.cluster_uuid) == ("n-1", site.cluster)
        assert node.gpu_info.gpu_count == 8
    assert nodes.count_tenant_nodes().data == nodes.count_nodes(site.cluster).data == {"count": 1}

    classes = client.workload_assets.storage_classes
    for found in (
        classes.get_storage_classes(site.cluster).data,
        classes.get_storage_classes_v2(site.cluster).data,
    ):
        assert runai.models.StorageClassesV2.from_dict(found).items == []
    assert classes.v1_get_storage_classes(site.cluster).data == {"storageClasses": []}

    tenant, key = client.organizations.tenant, "workloads.topology"
    assert tenant.get_tenant_settings_by_key(key).data is False
    tenant.update_tenant_setting(runai.models.TenantSettingCreationRequest(key=key, value=True))
    (shown,) = [one for one in tenant.get_tenant_settings().data if one["key"] == key]
    assert runai.models.Setting.from_dict(shown).value == "true"
    as_read = runai.models.TenantSettingCreationRequest(key=key, value=shown["value"])
    assert tenant.update_tenant_setting(as_read).status_code == 200

    now, day = datetime.now(UTC), timedelta(days=1)
    log = client.audit.audit_logs.get_audit_logs(start=now - day, end=now + day).data
    newest = runai.models.GetAuditLogs200Response.from_dict(log).audit_logs[0]
    assert (newest.entity_type, newest.action, newest.result) == ("setting", "update", "Succeeded")


def test_a_key_of_ngc_is_made_by_the_name_that_the_client_has(
    site: WebServer, client: RunaiClient
) -> None:
    """`ngc_api_key`: alone among its fields it has underscores on the wire."""
    models, credentials = runai.models, client.workload_assets.credentials
    made = credentials.create_ngc_api_key(
        models.NgcApiKeyCreationRequest(
            meta=models.AssetCreationRequest(name="ngc", scope="cluster", clusterId=site.cluster),
            spec=models.NgcApiKeyCreationSpec(ngc_api_key="nvapi-c4n4ry"),
        )
    )
    assert made.status_code == 202
    (listed,) = models.NgcApiKeyListResponse.from_dict(credentials.list_ngc_api_key().data).entries
    assert (listed.meta.name, listed.spec.ngc_api_key) == ("ngc", None)
    credentials.delete_ngc_api_key(listed.meta.id)


def test_workloads_are_read_and_acted_on_in_batches(site: WebServer, client: RunaiClient) -> None:
    """Also what kinds of them there are, and their figures."""
    workloads, models = client.workloads, runai.models
    made = httpx.post(
        f"{site.url}/api/v1/workloads/distributed",
        json=site.body("batched"),
        headers={"Authorization": f"Bearer {site.token}"},
    ).json()
    pods = models.ListPods200Response.from_dict(workloads.pods.list_pods().data)
    assert (pods.pods, workloads.pods.count_pods().data) == ([], {"count": 0})
    kinds = workloads.workload_properties
    (kind,) = models.ListWorkloadTypes200Response.from_dict(kinds.list_workload_types().data).types
    levels = models.GetWorkloadPriorities200Response.from_dict(
        kinds.get_workload_priorities(sort_by="value", sort_order="desc").data
    ).priorities
    (category,) = models.ListCategories200Response.from_dict(
        kinds.list_categories().data
    ).categories
    assert kind.category_id == category.id
    assert levels[0].name == "very-high"
    told = models.TelemetryResponse.from_dict(
        workloads.workloads.get_workloads_telemetry(
            telemetry_type="WORKLOADS_COUNT", group_by=["Phase", "ProjectId"]
        ).data
    )
    assert [(one.value, one.groups[0].value) for one in told.values] == [("1", "Creating")]
    nodes = client.organizations.nodes.get_node_telemetry(telemetry_type="TOTAL_GPUS").data
    assert models.TelemetryResponse.from_dict(nodes).values[0].value == "8"
    quotas = client.organizations.projects.get_projects_telemetry(telemetry_type="GPU_QUOTA").data
    assert models.TelemetryResponse.from_dict(quotas).values[0].value == "2"
    ranks = client.authentication_and_authorization.org_unit.get_priorities().data
    assert len(models.GetPriorities200Response.from_dict(ranks).priorities) == 7

    batch = models.WorkloadBatch(ids=[made["workloadId"], site.cluster], action="delete")
    answered = workloads.workloads_batch.batch_workloads(batch).data
    assert answered["succeeded"] == [made["workloadId"]]
    (failed,) = models.BatchResponse.from_dict(answered).failed
    assert (failed.id, failed.code) == (site.cluster, 404)


def test_single_resources_of_a_project_are_changed(site: WebServer, client: RunaiClient) -> None:
    projects = client.organizations.projects
    body = {"name": "of-quota", "clusterId": site.cluster}
    key = projects.create_project(body).data["id"]
    four = [runai.models.ResourcesNullable(cpu=runai.models.Resource(deserved=4000))]
    (held,) = projects.patch_project_resources(key, four).data
    assert (held["cpu"]["deserved"], held["gpu"]["deserved"]) == (4000, 0)
    two = [runai.models.ResourcesNullable(gpu=runai.models.NonNullResource(deserved=1, limit=2))]
    (held,) = projects.update_project_resources(key, two).data
    assert (held["cpu"]["deserved"], held["gpu"]["limit"]) == (-1, 2)
    found = projects.get_projects(filter_by=["name==of-quota"], sort_by="name").data
    assert [one["id"] for one in found["projects"]] == [key]
    assert projects.count_projects(filter_by=["name==of-quota"]).data == {"count": 1}
    projects.delete_project(key)


def test_policies_are_written_validated_read_and_removed(
    site: WebServer, client: RunaiClient
) -> None:
    policies = client.policies.policy
    meta = runai.models.PolicyCreationFields(name="cap", scope="cluster", clusterId=site.cluster)
    number = runai.models.IntegerRules(min=1, max=8)
    rules = runai.models.DistributedPolicyRulesV2(
        worker=runai.models.DistributedPolicyRulesV2Worker(
            numWorkers=number,
            image=runai.models.StringRules(
                options=[runai.models.StringOption(value="a", displayed="A")]
            ),
            environmentVariables=runai.models.InstancesRules(
                instances=runai.models.ItemRules(canAdd=True, locked=["HOME"])
            ),
        )
    )
    home = runai.models.EnvironmentVariable(name="HOME", value="/home/all", exclude=False)
    defaults = runai.models.DistributedPolicyDefaultsV2(
        worker=runai.models.DistributedPolicyDefaultsV2Worker(
            nodePools=["default"],
            environmentVariables=runai.models.EnvironmentVariablesDefaults(instances=[home]),
        )
    )
    body = runai.models.DistributedPolicyOverwriteRequestV2(
        meta=meta,
        policy=runai.models.DistributedPolicyDefaultsAndRulesV2(defaults=defaults, rules=rules),
    )
    checked = policies.overwrite_distributed_policy_v2(
        validate_only=True, distributed_policy_overwrite_request_v2=body
    )
    assert checked.status_code == 200
    assert policies.list_policies().data == {"policies": []}
    policies.overwrite_distributed_policy_v2(distributed_policy_overwrite_request_v2=body)
    address = {"scope": runai.models.ScopeType.CLUSTER, "cluster_id": site.cluster}
    read = policies.get_distributed_policy_v2(**address).data
    assert (
        runai.models.DistributedPolicyV2.from_dict(read).policy.rules.worker.num_workers == number
    )
    effective = runai.models.DistributedPolicyV2.from_dict(read).effective.rules.worker
    assert effective.num_workers.source_of_rule.cluster_id == site.cluster
    change = runai.models.DistributedPolicyChangeRequestV2(
        meta=meta,
        policy=runai.models.DistributedPolicyDefaultsAndRulesV2(
            rules=runai.models.DistributedPolicyRulesV2(
                worker=runai.models.DistributedPolicyRulesV2Worker(
                    numWorkers=runai.models.IntegerRules(max=4)
                )
            )
        ),
        reset=["worker.image"],
    )
    policies.update_distributed_policy_v2(distributed_policy_change_request_v2=change)
    worker = policies.get_distributed_policy_v2(**address).data["policy"]["rules"]["worker"]
    assert worker["numWorkers"] == {"min": 1, "max": 4}
    assert "image" not in worker
    (listed,) = policies.list_policies(workload_type="Distributed").data["policies"]
    assert runai.models.PolicyListEntry.from_dict(listed).meta.name == "cap"
    assert policies.delete_distributed_policy(**address).status_code == 204
    with pytest.raises(runai.exceptions.NotFoundException):
        policies.get_distributed_policy_v2(**address)


def test_roles_are_read_and_named_in_own_rules(client: RunaiClient) -> None:
    iam = client.authentication_and_authorization
    roles = {one["name"]: one["id"] for one in iam.roles.get_roles_v1().data}
    (own,) = iam.me.get_me_access_rules().data["accessRules"]["accessRules"]
    assert own["roleId"] == roles["System administrator"] == 1
    assert runai.models.RoleV1.from_dict(iam.roles.get_role_v1(1).data) is not None
    assert all(runai.models.Permission.from_dict(p) for p in iam.permissions.get_permissions().data)


def test_a_service_account_signs_in_until_it_is_disabled(
    site: WebServer, client: RunaiClient
) -> None:
    accounts = client.authentication_and_authorization.service_accounts
    made = accounts.create_service_account(
        runai.models.ServiceAccountCreationRequest(name="nightly")
    ).data
    own = client_of(site, made["clientId"], made["clientSecret"])
    assert own.organizations.departments.get_departments().data["departments"] == []
    accounts.update_service_account_by_id(
        made["id"], runai.models.ServiceAccountPatchRequest(enabled=False)
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
    own = runai.configuration.Configuration(
        client_id=site.client_id, client_secret=site.client_secret, runai_base_url=site.url
    )
    from runai.runai_client import RunaiClient

    async with RunaiClient(runai.api_client.AsyncApiClient(own)) as client:
        accounts = client.authentication_and_authorization.service_accounts
        made = await accounts.create_service_account({"name": "asynchronous"})
        assert made.data["clientSecret"]


OURS_ALONE = {"quota", "job", "member", "group", "identity_provider"}
"""What clients have no word for."""


def test_clients_know_every_entity_or_have_no_word_for_it() -> None:
    known = {entity for entity, _ in RESOURCE_TYPES.values()}
    assert known | OURS_ALONE == set(ENTITIES)
    assert not known & OURS_ALONE
    assert set(RESOURCE_TYPES) <= {one.value for one in runai.models.ResourceType}
