"""What must be in the database before the embedded product serves."""

from django.db import transaction

from gangline.accounts.models import User
from gangline.config.env import env
from gangline.db.clock import db_now
from gangline.db.models import Lease
from gangline.supervisor import demo, installation
from workloads.services import claims


def prepare() -> None:
    """Make the installation, this machine's cluster and the demo; free what a killed server held.

    The caller holds the lock file, so no other process of this installation runs.
    """
    with transaction.atomic():
        installation.begin()
        now = db_now()
        # Ended, not removed: a fence must never be given out twice.
        Lease.objects.filter(until__gt=now).update(until=now)
        claims.forget_all(now=now)
        if env().demo and not User.objects.exists():
            demo.load()
        elif env().offers_local_cluster and installation.local() is None:
            installation.this_machine()
