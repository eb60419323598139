"""Every path that a policy of the published contract can rule, and the rules that each takes."""

KINDS = {
    "plain": ("required", "canEdit"),
    "text": ("required", "canEdit", "options"),
    "array": ("required", "canEdit", "options"),
    "number": ("required", "canEdit", "min", "max", "step", "defaultFrom"),
    "size": ("required", "canEdit", "min", "max", "defaultFrom"),
    "id": ("canEdit", "min", "max", "step", "defaultFrom"),
    "items": ("canAdd", "locked"),
}
WORKERS_ONLY = (
    "cleanPodPolicy",
    "distributedFramework",
    "maxReplicas",
    "minReplicas",
    "mpiLauncherCreationPolicy",
    "numWorkers",
    "slotsPerWorker",
    "sshAuthMountPath",
)
_PATHS = """
text args
text category
text cleanPodPolicy
text command
text distributedFramework
text image
text imagePullPolicy
text mpiLauncherCreationPolicy
text nodeType
text preemptibility
text priorityClass
text restartPolicy
text sshAuthMountPath
text workingDir
text compute.extendedResources.attributes.quantity
text compute.gpuRequestType
text exposedUrls.attributes.toolName
text exposedUrls.attributes.toolType
text exposedUrls.attributes.url
text imagePullSecrets.attributes.name
text podAffinity.key
text podAffinity.type
text ports.attributes.serviceType
text ports.attributes.toolName
text ports.attributes.toolType
text probes.readiness.handler.httpGet.host
text probes.readiness.handler.httpGet.path
text probes.readiness.handler.httpGet.scheme
text relatedUrls.attributes.name
text relatedUrls.attributes.type
text relatedUrls.attributes.url
text security.seccompProfileType
text security.supplementalGroups
text security.uidGidSource
text storage.configMapVolume.attributes.configMap
text storage.configMapVolume.attributes.defaultMode
text storage.configMapVolume.attributes.mountPath
text storage.configMapVolume.attributes.subPath
text storage.dataVolume.attributes.id
text storage.dataVolume.attributes.mountPath
text storage.emptyDirVolume.attributes.medium
text storage.emptyDirVolume.attributes.path
text storage.emptyDirVolume.attributes.sizeLimit
text storage.git.attributes.branch
text storage.git.attributes.path
text storage.git.attributes.repository
text storage.git.attributes.revision
text storage.hostPath.attributes.mountPath
text storage.hostPath.attributes.mountPropagation
text storage.hostPath.attributes.path
text storage.nfs.attributes.mountPath
text storage.nfs.attributes.path
text storage.nfs.attributes.server
text storage.pvc.attributes.claimInfo.size
text storage.pvc.attributes.claimInfo.storageClass
text storage.pvc.attributes.claimName
text storage.pvc.attributes.path
text storage.s3.attributes.bucket
text storage.s3.attributes.path
text storage.s3.attributes.url
text storage.secretVolume.attributes.defaultMode
text storage.secretVolume.attributes.mountPath
text storage.secretVolume.attributes.secret
text tolerations.attributes.effect
text tolerations.attributes.key
text tolerations.attributes.operator
text tolerations.attributes.value
number autoDeletionTimeAfterCompletionSeconds
number backoffLimit
number maxReplicas
number minReplicas
number numWorkers
number slotsPerWorker
number terminationGracePeriodSeconds
number compute.cpuCoreLimit
number compute.cpuCoreRequest
number compute.gpuDevicesRequest
number compute.gpuPortionLimit
number compute.gpuPortionRequest
number exposedUrls.attributes.container
number ports.attributes.container
number ports.attributes.external
number probes.readiness.failureThreshold
number probes.readiness.handler.httpGet.port
number probes.readiness.initialDelaySeconds
number probes.readiness.periodSeconds
number probes.readiness.successThreshold
number probes.readiness.timeoutSeconds
number tolerations.attributes.seconds
plain createHomeDir
plain nodeAffinityRequired
plain stdin
plain terminateAfterPreemption
plain tty
plain compute.largeShmRequest
plain exposedUrls.attributes.customUrl
plain imagePullSecrets.attributes.userCredentials
plain ports.attributes.customExternalPort
plain security.allowPrivilegeEscalation
plain security.hostIpc
plain security.hostNetwork
plain security.readOnlyRootFilesystem
plain security.runAsNonRoot
plain storage.hostPath.attributes.readOnly
plain storage.nfs.attributes.readOnly
plain storage.pvc.attributes.claimInfo.accessModes.readOnlyMany
plain storage.pvc.attributes.claimInfo.accessModes.readWriteMany
plain storage.pvc.attributes.claimInfo.accessModes.readWriteOnce
plain storage.pvc.attributes.readOnly
plain tolerations.attributes.exclude
array nodePools
array exposedUrls.attributes.authorizedGroups
array exposedUrls.attributes.authorizedUsers
array security.capabilities
items annotations.instances
items compute.extendedResources.instances
items environmentVariables.instances
items exposedUrls.instances
items imagePullSecrets.instances
items labels.instances
items ports.instances
items relatedUrls.instances
items storage.configMapVolume.instances
items storage.dataVolume.instances
items storage.emptyDirVolume.instances
items storage.git.instances
items storage.hostPath.instances
items storage.nfs.instances
items storage.pvc.instances
items storage.s3.instances
items storage.secretVolume.instances
items tolerations.instances
size compute.cpuMemoryLimit
size compute.cpuMemoryRequest
size compute.gpuMemoryLimit
size compute.gpuMemoryRequest
id security.runAsGid
id security.runAsUid
"""
PATHS = {path: kind for kind, path in (line.split() for line in _PATHS.strip().splitlines())}
