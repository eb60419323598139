"""The Celery application: `celery -A gangline.config.celery worker`.

A worker listens to the common queue and to that of its own host's local cluster (R17).
"""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, worker_process_init
from django.conf import settings
from django.db import connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangline.config.settings")

app = Celery("gangline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["workloads"])


@celeryd_after_setup.connect  # type: ignore[untyped-decorator]
def _listen_to_own_host(instance: Any, **_: Any) -> None:
    from gangline.clusters.connections import host_id

    instance.app.amqp.queues.select_add(f"local.{host_id(settings.GANGLINE.data_dir)}")


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _forget_inherited_connections(**_: Any) -> None:
    """A pool's threads do not survive a fork: every child makes its own."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()
