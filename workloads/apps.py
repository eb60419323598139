"""Django application."""

from django.apps import AppConfig


class WorkloadsConfig(AppConfig):
    name = "workloads"

    def ready(self) -> None:
        # Late: feeds need the models, which are not there when this module is imported.
        from gangline.live import feeds
        from gangline.tables import saved
        from gangline.web import navigation
        from workloads.live import WorkloadListFeed
        from workloads.parts import WorkloadFeed
        from workloads.selectors import overview
        from workloads.tables import WORKLOADS

        feeds.register("workloads", WorkloadListFeed())
        feeds.register("workload", WorkloadFeed())
        saved.register(WORKLOADS, "workload-list")
        navigation.count_attention("workload-list", overview.attention)
