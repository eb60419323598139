"""Addresses of the pages of workloads."""

from django.urls import include, path, re_path
from django.urls.converters import UUIDConverter

from workloads.views import (
    actions,
    bulk,
    clusters,
    details,
    effective_policy,
    files,
    home,
    logs,
    others_jobs,
    report,
    tools,
    workload_list,
)

_ACTIONS = "|".join(actions.VERBS)

_JOB = "clusters/<uuid:cluster_id>/jobs/<str:number>"
_ORPHAN = "clusters/<uuid:cluster_id>/orphans/<int:orphan_id>"

urlpatterns = [
    path("", home.home, name="home"),
    path("home/hide-first-steps", home.hide_first_steps, name="home-hide-steps"),
    path(f"{_ORPHAN}/delete", clusters.orphan_delete, name="orphan-delete"),
    path(f"{_ORPHAN}/ignore", clusters.orphan_ignore, name="orphan-ignore"),
    path(f"{_ORPHAN}/list", clusters.orphan_list, name="orphan-list"),
    path(_JOB, others_jobs.job_look, name="job-look"),
    path(f"{_JOB}/cancel", others_jobs.job_cancel, name="job-cancel"),
    path("policies/<int:scope_id>/effective", effective_policy.page, name="policy-effective"),
    path(
        "policies/<int:scope_id>/effective.yaml",
        effective_policy.export,
        name="policy-effective-export",
    ),
    path("workloads", workload_list.workload_list, name="workload-list"),
    path("workloads/export.csv", workload_list.workload_export, name="workload-export"),
    path("workloads/changes", workload_list.workload_changes, name="workload-changes"),
    path("workloads/bulk", bulk.act_on_several, name="workload-bulk"),
    path("workloads/actions/<uuid:action_id>", bulk.result, name="workload-bulk-result"),
    path("workloads/actions/<uuid:action_id>/retry", bulk.retry, name="workload-bulk-retry"),
    path("", include("workloads.wizard.urls")),
    path("tools/<uuid:workload_id>/<slug:name>/open", tools.open_tool, name="tool-open"),
    path("tools/<uuid:workload_id>/<slug:name>/auth", tools.authorize, name="tool-auth"),
    re_path(
        rf"^workloads/(?P<workload_id>{UUIDConverter.regex})/(?P<action>{_ACTIONS})$",
        actions.act,
        name="workload-act",
    ),
    path("workloads/<uuid:workload_id>", details.overview, name="workload-detail"),
    path("workloads/<uuid:workload_id>/changes", details.changes, name="workload-detail-changes"),
    path("workloads/<uuid:workload_id>/figures", details.figures, name="workload-figures"),
    path(
        "workloads/<uuid:workload_id>/report/<slug:kind>", report.download, name="workload-report"
    ),
    path("workloads/<uuid:workload_id>/files/download", files.download, name="workload-file"),
    path("workloads/<uuid:workload_id>/log", logs.chunk, name="workload-log"),
    path("workloads/<uuid:workload_id>/log/download", logs.download, name="workload-log-download"),
    path("workloads/<uuid:workload_id>/<slug:tab>", details.tab, name="workload-tab"),
]
