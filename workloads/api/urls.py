"""Addresses of workloads in the API, below /api/v1/."""

from django.urls import path

from workloads.api import (
    batch,
    errors,  # noqa: F401  registers how refusals are answered
    files,
    logs,
    metrics,
    pods,
    properties,
    telemetry,
    terminals,
    views,
)

urlpatterns = [
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
    path("workloads/count", views.WorkloadCount.as_view()),
    path("workloads/<uuid:workload_id>", views.WorkloadOne.as_view()),
    path("workloads/<uuid:workload_id>/pods", pods.WorkloadPods.as_view()),
    path("workloads/<uuid:workload_id>/metrics", metrics.WorkloadMetrics.as_view()),
    path("workloads/<uuid:workload_id>/pods/<str:pod_id>/metrics", metrics.PodMetrics.as_view()),
    path("workloads/<uuid:workload_id>/pods/<slug:pod>/exec", terminals.PodExec.as_view()),
    path("workloads/<uuid:workload_id>/events", views.WorkloadEvents.as_view()),
    path("workloads/<uuid:workload_id>/history", views.WorkloadHistory.as_view()),
    path("workloads/<uuid:workload_id>/files", files.WorkloadFiles.as_view()),
    path("workloads/<uuid:workload_id>/files/content", files.WorkloadFileContent.as_view()),
    path("workloads/<uuid:workload_id>/logs", logs.WorkloadLogs.as_view()),
]
