"""Which clusters a person sees."""

from django.db.models import QuerySet

from gangline.access.grants import holds, holds_below
from gangline.access.permissions import Permission
from gangline.accounts.models import User

from .models import Cluster


def visible_clusters(user: User) -> QuerySet[Cluster]:
    """Clusters that the person may look into, or below which they see a project."""
    rows = Cluster.objects.select_related("scope", "connection_check")
    return rows.filter(
        holds(user, Permission.CLUSTER_VIEW) | holds_below(user, Permission.PROJECT_VIEW)
    )
