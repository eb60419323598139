"""Django application."""

from typing import Any

from django.apps import AppConfig


class AssetsConfig(AppConfig):
    name = "assets"

    def ready(self) -> None:
        from django.db.models.signals import post_save

        from assets import sync
        from assets.selectors.data import imposable
        from gangline.organization.models import Project
        from gangline.policies.imposed_assets import register_imposable

        register_imposable(imposable)

        def keep(sender: Any, instance: Project, created: bool, **more: Any) -> None:
            if created:
                sync.keep_for(instance)

        post_save.connect(keep, Project, weak=False, dispatch_uid="data sources of a new project")
