"""The JSON of the API, as `make openapi` writes it from the description of the API."""

from typing import Any, Literal, NotRequired, Required, TypedDict

AccessModes = TypedDict(
    "AccessModes",
    {
        "readWriteOnce": NotRequired[bool | None],
        "readOnlyMany": NotRequired[bool | None],
        "readWriteMany": NotRequired[bool | None],
    },
)


Annotation = TypedDict(
    "Annotation",
    {
        "name": Required[str],
        "value": Required[str],
    },
)


ClaimInfo = TypedDict(
    "ClaimInfo",
    {
        "size": NotRequired[str | None],
        "storageClass": NotRequired[str | None],
        "accessModes": NotRequired["AccessModes | None"],
        "volumeMode": NotRequired[Literal["Filesystem", "Block"] | None],
        "addedAttrValues": NotRequired[list[dict[str, Any]] | None],
    },
)


Compute = TypedDict(
    "Compute",
    {
        "gpuDevicesRequest": NotRequired[int | None],
        "gpuRequestType": NotRequired[Literal["portion", "memory"] | None],
        "gpuPortionRequest": NotRequired[float | None],
        "gpuPortionLimit": NotRequired[float | None],
        "gpuMemoryRequest": NotRequired[str | None],
        "gpuMemoryLimit": NotRequired[str | None],
        "cpuCoreRequest": NotRequired[float | None],
        "cpuCoreLimit": NotRequired[float | None],
        "cpuMemoryRequest": NotRequired[str | None],
        "cpuMemoryLimit": NotRequired[str | None],
        "largeShmRequest": NotRequired[bool | None],
        "extendedResources": NotRequired[list["ExtendedResource"] | None],
    },
)


ConfigMapKey = TypedDict(
    "ConfigMapKey",
    {
        "name": Required[str],
        "key": Required[str],
    },
)


ConfigMapVolume = TypedDict(
    "ConfigMapVolume",
    {
        "name": NotRequired[str],
        "configMap": Required[str],
        "mountPath": Required[str],
        "subPath": NotRequired[str | None],
        "defaultMode": NotRequired[str | None],
    },
)


DataVolume = TypedDict(
    "DataVolume",
    {
        "id": Required[str],
        "mountPath": Required[str],
    },
)


DistributedCreationRequest = TypedDict(
    "DistributedCreationRequest",
    {
        "name": Required[str],
        "projectId": Required[str],
        "clusterId": Required[str],
        "templateId": NotRequired[str | None],
        "configuration": NotRequired[Literal["workersAndMaster", "workersOnly"]],
        "spec": NotRequired["WorkerSpec"],
        "masterSpecSameAsWorker": NotRequired[bool | None],
        "masterSpec": NotRequired["MasterSpec"],
        "useGivenNameAsPrefix": NotRequired[bool],
    },
)


DistributedPolicy = TypedDict(
    "DistributedPolicy",
    {
        "meta": NotRequired["PolicyMeta"],
        "policy": NotRequired["PolicyDocument"],
        "effective": Required[dict[str, Any]],
        "defaultSources": NotRequired[dict[str, Any]],
        "effectiveUpdatedAt": NotRequired[str],
        "warnings": NotRequired[list[str]],
    },
)


DistributedPreview = TypedDict(
    "DistributedPreview",
    {
        "name": Required[str],
        "configuration": Required[Literal["workersAndMaster", "workersOnly"]],
        "spec": Required["WorkerSpec"],
        "masterSpec": NotRequired["MasterSpec"],
        "sources": Required[dict[str, Any]],
        "notices": NotRequired[list[str]],
        "totals": Required[dict[str, Any]],
        "forecast": Required[dict[str, Any]],
        "cluster": NotRequired[dict[str, Any]],
        "native": NotRequired[dict[str, Any]],
    },
)


DistributedWorkload = TypedDict(
    "DistributedWorkload",
    {
        "name": Required[str],
        "requestedName": Required[str],
        "workloadId": Required[str],
        "projectId": Required[str],
        "departmentId": NotRequired[str],
        "clusterId": Required[str],
        "createdBy": Required[str],
        "createdAt": Required[str],
        "deletedAt": NotRequired[str | None],
        "desiredPhase": Required[Literal["Running", "Stopped", "Deleted"]],
        "actualPhase": NotRequired[Literal["Creating", "Initializing", "Resuming", "Pending", "Deleting", "Running", "Updating", "Stopped", "Stopping", "Degraded", "Failed", "Completed", "Terminating", "Unknown"]],
        "status": NotRequired[Literal["Creating", "Pending", "Cannot start", "Preempted", "Initializing", "Running", "Degraded", "Stopping", "Stopped", "Resuming", "Deleting", "Failed", "Completed", "Unknown"]],
        "reason": NotRequired[str],
        "reasonCode": NotRequired[str],
        "configuration": NotRequired[Literal["workersAndMaster", "workersOnly"]],
        "spec": NotRequired["WorkerSpec"],
        "masterSpecSameAsWorker": NotRequired[bool],
        "masterSpec": NotRequired["MasterSpec"],
        "copiedFrom": NotRequired[str],
    },
)


EmptyDir = TypedDict(
    "EmptyDir",
    {
        "name": NotRequired[str],
        "path": Required[str],
        "medium": NotRequired[str | None],
        "sizeLimit": NotRequired[str | None],
    },
)


EnvironmentVariable = TypedDict(
    "EnvironmentVariable",
    {
        "name": Required[str],
        "value": NotRequired[str | None],
        "secret": NotRequired["SecretKey | None"],
        "configMap": NotRequired["ConfigMapKey | None"],
        "podFieldRef": NotRequired["PodField | None"],
        "userCredential": NotRequired["UserCredentialKey | None"],
        "description": NotRequired[str | None],
    },
)


Error = TypedDict(
    "Error",
    {
        "code": Required[int],
        "message": Required[str],
        "details": Required[str],
        "problems": Required[list["Problem"]],
        "complianceIssues": Required[list[dict[str, Any]]],
    },
)


Event = TypedDict(
    "Event",
    {
        "id": Required[str],
        "createdAt": Required[str],
        "lastSeenAt": Required[str],
        "count": Required[int],
        "type": Required[str],
        "severity": Required[str],
        "clusterId": Required[str],
        "message": Required[str],
        "reason": Required[str],
        "source": Required[str],
        "attempt": Required[int],
        "involvedObject": Required[dict[str, Any]],
    },
)


ExposedPort = TypedDict(
    "ExposedPort",
    {
        "toolType": NotRequired[Literal["custom", "jupyter-notebook", "tensorboard", "visual-studio-code", "rstudio", "mlflow", "matlab", "pycharm", "chatbot-ui"] | None],
        "name": NotRequired[str],
        "toolName": NotRequired[str | None],
        "container": NotRequired[int | None],
        "serviceType": NotRequired[Literal["NodePort", "LoadBalancer", "ClusterIP"] | None],
        "customExternalPort": NotRequired[bool | None],
        "external": NotRequired[int | None],
    },
)


ExposedUrl = TypedDict(
    "ExposedUrl",
    {
        "toolType": NotRequired[Literal["custom", "jupyter-notebook", "tensorboard", "visual-studio-code", "rstudio", "mlflow", "matlab", "pycharm", "chatbot-ui"] | None],
        "name": NotRequired[str],
        "toolName": NotRequired[str | None],
        "container": NotRequired[int | None],
        "customUrl": NotRequired[bool | None],
        "url": NotRequired[str | None],
        "authorizationType": NotRequired[Literal["authenticatedUsers", "authorizedUsers", "authorizedGroups"] | None],
        "authorizedUsers": NotRequired[list[str] | None],
        "authorizedGroups": NotRequired[list[str] | None],
    },
)


ExtendedResource = TypedDict(
    "ExtendedResource",
    {
        "resource": Required[str],
        "quantity": Required[str],
    },
)


Git = TypedDict(
    "Git",
    {
        "name": NotRequired[str],
        "repository": Required[str],
        "branch": NotRequired[str | None],
        "revision": NotRequired[str | None],
        "path": Required[str],
        "secretRef": NotRequired["GitSecret | None"],
    },
)


GitSecret = TypedDict(
    "GitSecret",
    {
        "name": NotRequired[str | None],
        "authenticationMethod": NotRequired[Literal["password", "ssh-key"] | None],
        "secretKeyOfUser": NotRequired[str | None],
        "secretKeyOfPassword": NotRequired[str | None],
    },
)


Handler = TypedDict(
    "Handler",
    {
        "httpGet": NotRequired["HttpGet"],
    },
)


HistoryRecord = TypedDict(
    "HistoryRecord",
    {
        "meta": Required[dict[str, Any]],
        "spec": Required[dict[str, Any]],
    },
)


HostPath = TypedDict(
    "HostPath",
    {
        "name": NotRequired[str],
        "path": Required[str],
        "mountPath": Required[str],
        "readOnly": NotRequired[bool | None],
        "mountPropagation": NotRequired[Literal["None", "HostToContainer"] | None],
    },
)


HttpGet = TypedDict(
    "HttpGet",
    {
        "port": NotRequired[int | None],
        "path": NotRequired[str | None],
        "host": NotRequired[str | None],
        "scheme": NotRequired[Literal["HTTP", "HTTPS"] | None],
    },
)


Label = TypedDict(
    "Label",
    {
        "name": Required[str],
        "value": Required[str],
    },
)


Log = TypedDict(
    "Log",
    {
        "attempt": Required[int],
        "pods": Required[list[str]],
        "lines": Required[list[dict[str, Any]]],
        "grown": Required[list[dict[str, Any]]],
        "before": Required[str],
        "after": Required[str],
        "hasOlder": Required[bool],
        "hasNewer": Required[bool],
        "ended": Required[bool],
        "isPartial": NotRequired[bool],
    },
)


MasterSpec = TypedDict(
    "MasterSpec",
    {
        "image": NotRequired[str | None],
        "imagePullPolicy": NotRequired[Literal["Always", "IfNotPresent", "Never"] | None],
        "imagePullSecrets": NotRequired[list["PullSecret"] | None],
        "command": NotRequired[str | None],
        "args": NotRequired[str | None],
        "workingDir": NotRequired[str | None],
        "environmentVariables": NotRequired[list["EnvironmentVariable"] | None],
        "stdin": NotRequired[bool | None],
        "tty": NotRequired[bool | None],
        "exposedUrls": NotRequired[list["ExposedUrl"] | None],
        "ports": NotRequired[list["ExposedPort"] | None],
        "relatedUrls": NotRequired[list["RelatedUrl"] | None],
        "createHomeDir": NotRequired[bool | None],
        "restartPolicy": NotRequired[Literal["Never", "OnFailure", "Always"] | None],
        "category": NotRequired[str | None],
        "security": NotRequired["Security"],
        "probes": NotRequired["Probes"],
        "compute": NotRequired["Compute"],
        "nodePools": NotRequired[list[str] | None],
        "nodeType": NotRequired[str | None],
        "nodeAffinityRequired": NotRequired[dict[str, Any] | None],
        "podAffinity": NotRequired["PodAffinity"],
        "tolerations": NotRequired[list["Toleration"] | None],
        "storage": NotRequired["Storage"],
        "labels": NotRequired[list["Label"] | None],
        "annotations": NotRequired[list["Annotation"] | None],
    },
)


Me = TypedDict(
    "Me",
    {
        "id": Required[str],
        "username": Required[str],
        "email": Required[str],
        "fullName": Required[str],
        "kind": Required[Literal["person", "service"]],
    },
)


Nfs = TypedDict(
    "Nfs",
    {
        "name": NotRequired[str],
        "server": Required[str],
        "path": Required[str],
        "mountPath": Required[str],
        "readOnly": NotRequired[bool | None],
    },
)


PlaceValue = TypedDict(
    "PlaceValue",
    {
        "name": Required[str],
        "value": NotRequired[str | None],
    },
)


Pod = TypedDict(
    "Pod",
    {
        "id": Required[str],
        "name": Required[str],
        "role": Required[str],
        "index": Required[int],
        "rank": Required[int | None],
        "attempt": Required[int],
        "workloadId": Required[str],
        "workloadName": Required[str],
        "clusterId": Required[str],
        "projectId": Required[str],
        "projectName": Required[str],
        "tenantId": Required[int],
        "priorityClassName": Required[str],
        "nodeName": Required[str],
        "createdAt": Required[str],
        "completedAt": Required[str | None],
        "updatedAt": Required[str],
        "k8sPhase": Required[str],
        "k8sPhaseUpdatedAt": Required[str],
        "reason": Required[str],
        "exitCode": Required[int | None],
        "signal": Required[int | None],
        "peakMemoryBytes": Required[int | None],
        "restarts": Required[int],
        "requestedResources": Required[dict[str, Any]],
        "containers": Required[list[dict[str, Any]]],
    },
)


PodAffinity = TypedDict(
    "PodAffinity",
    {
        "key": NotRequired[str | None],
        "type": NotRequired[Literal["Required", "Preferred"] | None],
    },
)


PodField = TypedDict(
    "PodField",
    {
        "path": Required[str],
    },
)


PolicyDocument = TypedDict(
    "PolicyDocument",
    {
        "defaults": NotRequired[dict[str, Any]],
        "rules": NotRequired[dict[str, Any]],
        "imposedAssets": NotRequired[dict[str, Any]],
    },
)


PolicyMeta = TypedDict(
    "PolicyMeta",
    {
        "id": NotRequired[str],
        "name": NotRequired[str],
        "scope": NotRequired[Literal["tenant", "cluster", "department", "project"]],
        "clusterId": NotRequired[str],
        "departmentId": NotRequired[str],
        "projectId": NotRequired[int],
        "version": NotRequired[int],
        "createdBy": NotRequired[str],
        "updatedBy": NotRequired[str],
        "createdAt": NotRequired[str],
        "updatedAt": NotRequired[str],
    },
)


Probes = TypedDict(
    "Probes",
    {
        "readiness": NotRequired["Readiness"],
    },
)


Problem = TypedDict(
    "Problem",
    {
        "role": Required[Literal["workload", "worker", "master"]],
        "path": Required[str],
        "rule": Required[str],
        "message": Required[str],
        "value": NotRequired[Any],
        "accepted": NotRequired[str],
        "source": NotRequired[str],
        "key": NotRequired[str],
        "label": NotRequired[str],
        "hint": NotRequired[str],
    },
)


PullSecret = TypedDict(
    "PullSecret",
    {
        "name": Required[str],
        "userCredential": NotRequired[bool | None],
    },
)


Readiness = TypedDict(
    "Readiness",
    {
        "handler": NotRequired["Handler"],
        "initialDelaySeconds": NotRequired[int | None],
        "periodSeconds": NotRequired[int | None],
        "timeoutSeconds": NotRequired[int | None],
        "successThreshold": NotRequired[int | None],
        "failureThreshold": NotRequired[int | None],
    },
)


RelatedUrl = TypedDict(
    "RelatedUrl",
    {
        "name": Required[str],
        "url": Required[str],
        "type": NotRequired[Literal["wandb", "comet", "custom"] | None],
    },
)


S3 = TypedDict(
    "S3",
    {
        "name": NotRequired[str],
        "bucket": Required[str],
        "url": NotRequired[str | None],
        "path": Required[str],
        "accessKeySecret": NotRequired[str | None],
        "secretKeyOfAccessKeyId": NotRequired[str | None],
        "secretKeyOfSecretKey": NotRequired[str | None],
    },
)


SbatchOption = TypedDict(
    "SbatchOption",
    {
        "name": Required[Literal["acctg-freq", "begin", "contiguous", "cores-per-socket", "cpu-freq", "deadline", "delay-boot", "dependency", "distribution", "exclude", "exclusive", "gpu-bind", "gpu-freq", "hint", "licenses", "mail-type", "mail-user", "mem-bind", "network", "nice", "prefer", "profile", "sockets-per-node", "spread-job", "switches", "threads-per-core", "time-min", "tmp", "use-min-nodes", "wckey"]],
        "value": NotRequired[str | None],
    },
)


SecretKey = TypedDict(
    "SecretKey",
    {
        "name": Required[str],
        "key": Required[str],
    },
)


SecretVolume = TypedDict(
    "SecretVolume",
    {
        "name": NotRequired[str],
        "secret": Required[str],
        "mountPath": Required[str],
        "defaultMode": NotRequired[str | None],
    },
)


Security = TypedDict(
    "Security",
    {
        "uidGidSource": NotRequired[Literal["fromTheImage", "custom"] | None],
        "runAsUid": NotRequired[int | None],
        "runAsGid": NotRequired[int | None],
        "supplementalGroups": NotRequired[str | None],
        "runAsNonRoot": NotRequired[bool | None],
        "readOnlyRootFilesystem": NotRequired[bool | None],
        "allowPrivilegeEscalation": NotRequired[bool | None],
        "seccompProfileType": NotRequired[Literal["RuntimeDefault", "Unconfined"] | None],
        "capabilities": NotRequired[list[str] | None],
        "hostIpc": NotRequired[bool | None],
        "hostNetwork": NotRequired[bool | None],
    },
)


Slurm = TypedDict(
    "Slurm",
    {
        "script": NotRequired[str | None],
        "values": NotRequired[list["PlaceValue"] | None],
        "tasksPerNode": NotRequired[int | None],
        "account": NotRequired[str | None],
        "qos": NotRequired[str | None],
        "timeLimit": NotRequired[int | None],
        "reservation": NotRequired[str | None],
        "gpuType": NotRequired[str | None],
        "packReplicas": NotRequired[bool | None],
        "modules": NotRequired[list[str] | None],
        "options": NotRequired[list["SbatchOption"] | None],
    },
)


Storage = TypedDict(
    "Storage",
    {
        "pvc": NotRequired[list["Volume"] | None],
        "emptyDirVolume": NotRequired[list["EmptyDir"] | None],
        "nfs": NotRequired[list["Nfs"] | None],
        "git": NotRequired[list["Git"] | None],
        "s3": NotRequired[list["S3"] | None],
        "configMapVolume": NotRequired[list["ConfigMapVolume"] | None],
        "secretVolume": NotRequired[list["SecretVolume"] | None],
        "hostPath": NotRequired[list["HostPath"] | None],
        "dataVolume": NotRequired[list["DataVolume"] | None],
    },
)


TokenResponse = TypedDict(
    "TokenResponse",
    {
        "accessToken": Required[str],
        "idToken": Required[str],
        "refreshToken": Required[str],
        "expiresIn": Required[int],
    },
)


Toleration = TypedDict(
    "Toleration",
    {
        "name": NotRequired[str],
        "key": Required[str],
        "operator": Required[Literal["Equal", "Exists"]],
        "value": NotRequired[str | None],
        "effect": Required[Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "Any"]],
        "seconds": NotRequired[int | None],
    },
)


UserCredentialKey = TypedDict(
    "UserCredentialKey",
    {
        "name": Required[str],
        "key": Required[str],
    },
)


Volume = TypedDict(
    "Volume",
    {
        "name": NotRequired[str],
        "path": Required[str],
        "existingPvc": NotRequired[bool | None],
        "claimName": NotRequired[str | None],
        "claimInfo": NotRequired["ClaimInfo | None"],
        "ephemeral": NotRequired[bool | None],
        "readOnly": NotRequired[bool | None],
    },
)


WorkerSpec = TypedDict(
    "WorkerSpec",
    {
        "image": NotRequired[str | None],
        "imagePullPolicy": NotRequired[Literal["Always", "IfNotPresent", "Never"] | None],
        "imagePullSecrets": NotRequired[list["PullSecret"] | None],
        "command": NotRequired[str | None],
        "args": NotRequired[str | None],
        "workingDir": NotRequired[str | None],
        "environmentVariables": NotRequired[list["EnvironmentVariable"] | None],
        "stdin": NotRequired[bool | None],
        "tty": NotRequired[bool | None],
        "exposedUrls": NotRequired[list["ExposedUrl"] | None],
        "ports": NotRequired[list["ExposedPort"] | None],
        "relatedUrls": NotRequired[list["RelatedUrl"] | None],
        "createHomeDir": NotRequired[bool | None],
        "restartPolicy": NotRequired[Literal["Never", "OnFailure", "Always"] | None],
        "category": NotRequired[str | None],
        "security": NotRequired["Security"],
        "probes": NotRequired["Probes"],
        "compute": NotRequired["Compute"],
        "nodePools": NotRequired[list[str] | None],
        "nodeType": NotRequired[str | None],
        "nodeAffinityRequired": NotRequired[dict[str, Any] | None],
        "podAffinity": NotRequired["PodAffinity"],
        "tolerations": NotRequired[list["Toleration"] | None],
        "storage": NotRequired["Storage"],
        "labels": NotRequired[list["Label"] | None],
        "annotations": NotRequired[list["Annotation"] | None],
        "distributedFramework": NotRequired[Literal["PyTorch", "TF", "XGBoost", "MPI", "JAX", "MXNet", "Script"] | None],
        "numWorkers": NotRequired[int | None],
        "numServers": NotRequired[int | None],
        "launcher": NotRequired[Literal["mpirun", "horovodrun", "srun", "gloo"] | None],
        "interactive": NotRequired[bool | None],
        "sessionTimeLimitSeconds": NotRequired[int | None],
        "sessionIdleLimitSeconds": NotRequired[int | None],
        "minReplicas": NotRequired[int | None],
        "maxReplicas": NotRequired[int | None],
        "slurm": NotRequired["Slurm"],
        "priorityClass": NotRequired[str | None],
        "preemptibility": NotRequired[Literal["preemptible", "non-preemptible"] | None],
        "terminateAfterPreemption": NotRequired[bool | None],
        "cleanPodPolicy": NotRequired[Literal["Running", "All", "None"] | None],
        "slotsPerWorker": NotRequired[int | None],
        "sshAuthMountPath": NotRequired[str | None],
        "mpiLauncherCreationPolicy": NotRequired[Literal["AtStartup", "WaitForWorkersReady"] | None],
        "networkInterface": NotRequired[str | None],
        "terminationGracePeriodSeconds": NotRequired[int | None],
        "backoffLimit": NotRequired[int | None],
        "autoDeletionTimeAfterCompletionSeconds": NotRequired[int | None],
    },
)


Workload = TypedDict(
    "Workload",
    {
        "tenantId": Required[int],
        "id": Required[str],
        "name": Required[str],
        "type": Required[str],
        "distributedFramework": Required[str],
        "configuration": Required[Literal["workersAndMaster", "workersOnly"]],
        "source": Required[str],
        "submittedBy": Required[str],
        "priority": Required[int],
        "priorityClassName": Required[str],
        "category": Required[str],
        "clusterId": Required[str],
        "projectId": Required[str],
        "projectName": Required[str],
        "departmentId": Required[str],
        "departmentName": Required[str],
        "namespace": Required[str],
        "createdAt": Required[str],
        "updatedAt": Required[str],
        "deletedAt": Required[str | None],
        "startedAt": Required[str | None],
        "completedAt": Required[str | None],
        "desiredPhase": Required[Literal["Running", "Stopped", "Deleted"]],
        "phase": Required[Literal["Creating", "Initializing", "Resuming", "Pending", "Deleting", "Running", "Updating", "Stopped", "Stopping", "Degraded", "Failed", "Completed", "Terminating", "Unknown"]],
        "status": Required[Literal["Creating", "Pending", "Cannot start", "Preempted", "Initializing", "Running", "Degraded", "Stopping", "Stopped", "Resuming", "Deleting", "Failed", "Completed", "Unknown"]],
        "phaseMessage": Required[str],
        "reasonCode": Required[str],
        "nextStep": Required[str],
        "phaseUpdatedAt": Required[str],
        "contactLostAt": Required[str | None],
        "k8sPhase": Required[str],
        "k8sPhaseUpdatedAt": Required[str],
        "conditions": Required[list[dict[str, Any]]],
        "runningPods": Required[int],
        "requestedPods": Required[dict[str, Any]],
        "workloadRequestedResources": Required[dict[str, Any]],
        "allocatedResources": Required[dict[str, Any]],
        "actionsSupport": Required[dict[str, Any]],
        "seq": Required[int],
    },
)


WorkloadDetailed = TypedDict(
    "WorkloadDetailed",
    {
        "tenantId": Required[int],
        "id": Required[str],
        "name": Required[str],
        "type": Required[str],
        "distributedFramework": Required[str],
        "configuration": Required[Literal["workersAndMaster", "workersOnly"]],
        "source": Required[str],
        "submittedBy": Required[str],
        "priority": Required[int],
        "priorityClassName": Required[str],
        "category": Required[str],
        "clusterId": Required[str],
        "projectId": Required[str],
        "projectName": Required[str],
        "departmentId": Required[str],
        "departmentName": Required[str],
        "namespace": Required[str],
        "createdAt": Required[str],
        "updatedAt": Required[str],
        "deletedAt": Required[str | None],
        "startedAt": Required[str | None],
        "completedAt": Required[str | None],
        "desiredPhase": Required[Literal["Running", "Stopped", "Deleted"]],
        "phase": Required[Literal["Creating", "Initializing", "Resuming", "Pending", "Deleting", "Running", "Updating", "Stopped", "Stopping", "Degraded", "Failed", "Completed", "Terminating", "Unknown"]],
        "status": Required[Literal["Creating", "Pending", "Cannot start", "Preempted", "Initializing", "Running", "Degraded", "Stopping", "Stopped", "Resuming", "Deleting", "Failed", "Completed", "Unknown"]],
        "phaseMessage": Required[str],
        "reasonCode": Required[str],
        "nextStep": Required[str],
        "phaseUpdatedAt": Required[str],
        "contactLostAt": Required[str | None],
        "k8sPhase": Required[str],
        "k8sPhaseUpdatedAt": Required[str],
        "conditions": Required[list[dict[str, Any]]],
        "runningPods": Required[int],
        "requestedPods": Required[dict[str, Any]],
        "workloadRequestedResources": Required[dict[str, Any]],
        "allocatedResources": Required[dict[str, Any]],
        "actionsSupport": Required[dict[str, Any]],
        "seq": Required[int],
        "podsRequestedResources": Required[dict[str, Any]],
        "images": Required[list[str]],
        "command": Required[str],
        "arguments": Required[str],
        "environmentVariables": Required[dict[str, Any]],
        "attempt": Required[int],
        "desiredBy": Required[str],
        "observedAt": Required[str | None],
    },
)
