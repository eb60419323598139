"""Examples of bodies in the description of the API, by operation. Each is run by a test.

Ids stand for what an installation has: the test puts its own in their place.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

CLUSTER = "8c1f0a52-6c0b-4f6e-9a45-0f2a3f6f7b10"
DEPARTMENT, PROJECT = 4001, 4002
WORKLOAD = "6c3d1a8e-58b6-4b7f-8d55-1f0a3c1c5f10"
ENVIRONMENT = "2f6b7c1e-3d0a-4a5f-8a7e-5b9c0d1e2f30"
CLIENT_ID = "b7a6d9a2-2c34-4a07-9f0e-6f6f6b1a2c3d"
CLIENT_SECRET = "the-secret-of-the-key"  # noqa: S105  it is none
USER, IMAGE = "dana", "local://examples"

Bodies = Mapping[str, Any]
_HERE = {"scope": "project", "projectId": PROJECT}


def _asset(name: str, **spec: Any) -> Bodies:
    return {"meta": {"name": name, **_HERE}, "spec": spec}


_TRAINING = {
    "distributedFramework": "XGBoost",
    "numWorkers": 2,
    "image": IMAGE,
    "command": "python examples/digits_xgboost.py",
    "args": "--rounds 30",
    "compute": {"cpuCoreRequest": 0.5, "cpuMemoryRequest": "256M"},
}
_LOGIN = {"user": USER, "password": "correct horse battery staple"}
_QUOTA = {"gpu": {"deserved": 2, "limit": 4}}

EXAMPLES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "createDistributed": {
            "The master set up like the workers": {
                "name": "digits",
                "projectId": str(PROJECT),
                "clusterId": CLUSTER,
                "configuration": "workersAndMaster",
                "masterSpecSameAsWorker": True,
                "spec": _TRAINING,
            },
            "A master of its own": {
                "name": "digits-own-master",
                "projectId": str(PROJECT),
                "clusterId": CLUSTER,
                "spec": _TRAINING | {"environmentVariables": [{"name": "SEED", "value": "7"}]},
                "masterSpec": {
                    "image": IMAGE,
                    "command": "python examples/digits_xgboost.py",
                    "compute": {"cpuCoreRequest": 1, "cpuMemoryRequest": "1G"},
                },
            },
        },
        "batchWorkloads": {"Stop": {"action": "suspend", "ids": [WORKLOAD]}},
        "createTemplate": {
            "For a project": {
                "meta": {"name": "digits", "scopeType": "project", "scopeId": str(PROJECT)},
                "spec": _TRAINING,
            }
        },
        "createSavedView": {
            "For oneself": {"name": "Failed", "table": "workloads", "query": "status=failed"}
        },
        "createEnvironment": {"An image": _asset("training", image=IMAGE)},
        "createCompute": {"Two cores": _asset("two-cores", cpuCoreRequest=2)},
        "createPvc": {
            "A new volume": _asset("scratch", path="/scratch", claimInfo={"size": "10G"})
        },
        "createNfs": {
            "An export": _asset(
                "datasets", server="nfs.example", path="/exports", mountPath="/data"
            )
        },
        "createGit": {
            "A branch": _asset(
                "code", repository="https://git.example/team/code", branch="main", path="/code"
            )
        },
        "createS3": {"A bucket": _asset("bucket", bucket="datasets", path="/data")},
        "createHostPath": {"A folder": _asset("mounted", path="/mnt", mountPath="/data")},
        "createConfigMap": {"Files": _asset("nccl", configMap="nccl", mountPath="/etc/nccl")},
        "createSecretVolume": {"Files": _asset("keys", secret="keys", mountPath="/keys")},  # noqa: S106
        "createCredential": {"A login": _asset("login", password=_LOGIN)},
        "createPasswordCredential": {"A login": _asset("login-2", **_LOGIN)},
        "createGenericsecretCredential": {
            "A token": _asset("token", keyValuePairs=[{"key": "HF_TOKEN", "value": "hf_example"}])
        },
        "createDockerregistryCredential": {
            "A registry": _asset("registry", url="registry.example", **_LOGIN)
        },
        "createRegistry": {
            "By its older address": _asset(
                "images", url="registry.example", credentialKind="password", **_LOGIN
            )
        },
        "createAccesskeyCredential": {
            "Of S3": _asset("s3", accessKeyId=USER, secretAccessKey="an-example")
        },
        "createNgcapikeyCredential": {"Of NGC": _asset("ngc", ngc_api_key="an-example")},
        "createPersonalCredential": {
            "One’s own": {"meta": {"name": "mine"}, "spec": {"password": _LOGIN}}
        },
        "createDepartment": {"Without a quota": {"name": "speech", "clusterId": CLUSTER}},
        "createProject": {
            "With two GPUs": {
                "name": "diarization",
                "parentId": str(DEPARTMENT),
                "clusterId": CLUSTER,
                "resources": [{"nodePool": {"name": "default"}, **_QUOTA}],
            }
        },
        "org_unit_projects_resources_update": {"Two GPUs": [_QUOTA]},
        "org_unit_projects_resources_partial_update": {"Four cores": [{"cpu": {"deserved": 4000}}]},
        "createNodePool": {
            "By a label": {
                "name": "a100", "clusterId": CLUSTER, "labelKey": "pool", "labelValue": "a100",
            }
        },
        "createNetworkTopology": {
            "Zones and racks": {
                "name": "racks",
                "clusterId": CLUSTER,
                "levels": ["topology.kubernetes.io/zone", "example.org/rack"],
            }
        },
        "createCluster": {"Kubernetes": {"name": "lab"}},
        "createUser": {"By email": {"email": "ada@example.com"}},
        "createGroup": {"Empty": {"name": "interns"}},
        "createRole": {"Looks at workloads": {"name": "Looker", "allows": ["workload.view"]}},
        "createAccessRule": {
            "A researcher of a project": {
                "subjectId": USER,
                "subjectType": "user",
                "roleId": 5,
                "scopeId": str(PROJECT),
                "scopeType": "project",
            }
        },
        "createServiceAccount": {"For a pipeline": {"name": "nightly"}},
        "createApplication": {"By its old name": {"name": "nightly-2"}},
        "createAccessKey": {
            "Looks at workloads": {"name": "watcher", "isReadOnly": True, "areas": ["workloads"]}
        },
        "createUserApplication": {"By its old name": {"name": "laptop"}},
        "putDistributedPolicy": {
            "At most eight workers": {
                "meta": {"name": "cap", "scope": "project", "projectId": PROJECT},
                "policy": {
                    "defaults": {"worker": {"numWorkers": 2}},
                    "rules": {"worker": {"numWorkers": {"min": 1, "max": 8}}},
                },
            }
        },
        "grantToken": {
            "With a key": {
                "grantType": "client_credentials",
                "clientID": CLIENT_ID,
                "clientSecret": CLIENT_SECRET,
            }
        },
        "grantAppToken": {"With a key": {"id": CLIENT_ID, "secret": CLIENT_SECRET}},
        "updateSetting": {"A switch": {"key": "workloads.topology", "value": True}},
        "updateSecuritySetting": {"One hour": {"idleTimeout": 60}},
        "createOldTemplate": {
            "Of an environment": {
                "meta": {
                    "name": "nightly",
                    **_HERE,
                    "workloadSupportedTypes": {"distributed": True, "distFramework": "PyTorch"},
                },
                "spec": {
                    "assets": {"environment": ENVIRONMENT},
                    "specificEnv": {"args": "--epochs 3"},
                },
            }
        },
        "createOldProject": {"By its old names": {"name": "old-style", "deservedGpus": 1}},
        "createOldNodePool": {
            "By its old names": {"name": "old-pool", "labelKey": "pool", "labelValue": "old"}
        },
    }
)  # fmt: skip


def add_examples(result: dict[str, Any], generator: Any, request: Any, public: bool) -> Any:
    """Hook of the generator: put each example beside the body that it is one of."""
    for methods in result["paths"].values():
        for operation in methods.values():
            bodies = EXAMPLES.get(operation["operationId"])
            content = operation.get("requestBody", {}).get("content", {})
            if bodies and "application/json" in content:
                content["application/json"]["examples"] = {
                    name: {"value": body} for name, body in bodies.items()
                }
    return result
