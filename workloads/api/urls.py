"""Addresses of workloads in the API, below /api/v1/."""

from django.urls import path

from workloads.api import (
    batch,
    errors,  # noqa: F401  registers how refusals are answered
    files,
    jobs,
    logs,
    metrics,
    old_metrics,
    place_metrics,
    pods,
    properties,
    telemetry,
    terminals,
    views,
)

urlpatterns = [
    path("clusters/<uuid:cluster_id>/jobs", jobs.ClusterJobs.as_view()),
    path("clusters/<uuid:cluster_id>/jobs/<str:number>", jobs.ClusterJob.as_view()),
    path("workloads/distributed", views.DistributedList.as_view()),
    path("workloads/distributed/<uuid:workload_id>", views.Distributed.as_view()),
    path("workloads/distributed/<uuid:workload_id>/suspend", views.Suspend.as_view()),
    path("workloads/distributed/<uuid:workload_id>/resume", views.Resume.as_view()),
    path("workloads/distributed/<uuid:workload_id>/rerun", views.Rerun.as_view()),
    path("workloads", views.WorkloadList.as_view()),
    path("workloads/batch", batch.Batch.as_view()),
    path("workloads/telemetry", telemetry.WorkloadTelemetry.as_view()),
    path("workloads/pods", pods.PodList.as_view()),
    path("workloads/pods/count", pods.PodCount.as_view()),
    path("workload-categories", properties.Categories.as_view()),
    path("workload-categories/<uuid:category_id>", properties.Category.as_view()),
    path("workload-types", properties.Types.as_view()),
    path("workload-types/<uuid:type_id>", properties.Type.as_view()),
    path("workload-priorities", properties.Priorities.as_view()),
    path("clusters/<uuid:cluster_id>/metrics", place_metrics.ClusterMetrics.as_view()),
    path(
        "clusters/<uuid:cluster_id>/nodepools/<str:name>/metrics",
        place_metrics.NodePoolMetrics.as_view(),
    ),
    path("nodes/<str:node>/metrics", place_metrics.NodeMetrics.as_view()),
    path("org-unit/projects/<int:pk>/metrics", place_metrics.ProjectMetrics.as_view()),
    path("org-unit/departments/<int:pk>/metrics", place_metrics.DepartmentMetrics.as_view()),
    path("workloads/count", views.WorkloadCount.as_view()),
    path("workloads/<uuid:workload_id>", views.WorkloadOne.as_view()),
    path("workloads/<uuid:workload_id>/pods", pods.WorkloadPods.as_view()),
    path("workloads/<uuid:workload_id>/metrics", metrics.WorkloadMetrics.as_view()),
    path("workloads/<uuid:workload_id>/pods/<str:pod_id>/metrics", metrics.PodMetrics.as_view()),
    path("workloads/<uuid:workload_id>/pods/<slug:pod>/exec", terminals.PodExec.as_view()),
    path(
        "workloads/<uuid:workload_id>/pods/<slug:pod>/port-forward",
        terminals.PodPortForward.as_view(),
    ),
    path("workloads/<uuid:workload_id>/events", views.WorkloadEvents.as_view()),
    path("workloads/<uuid:workload_id>/history", views.WorkloadHistory.as_view()),
    path("workloads/<uuid:workload_id>/files", files.WorkloadFiles.as_view()),
    path("workloads/<uuid:workload_id>/files/content", files.WorkloadFileContent.as_view()),
    path("workloads/<uuid:workload_id>/logs", logs.WorkloadLogs.as_view()),
]
_CLUSTER = "k8s/clusters/<uuid:cluster_id>"
K8S = [
    path(f"{_CLUSTER}/metrics", old_metrics.OldClusterMetrics.as_view()),
    path(f"{_CLUSTER}/projects/metrics", old_metrics.OldProjectsMetrics.as_view()),
    path(f"{_CLUSTER}/projects/<int:pk>/metrics", old_metrics.OldProjectMetrics.as_view()),
    path(f"{_CLUSTER}/departments/metrics", old_metrics.OldDepartmentsMetrics.as_view()),
    path(f"{_CLUSTER}/departments/<int:pk>/metrics", old_metrics.OldDepartmentMetrics.as_view()),
]
"""Those below ``/v1``."""
