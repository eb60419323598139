"""Which templates a person sees, and which hold in a project."""

from django.db.models import QuerySet

from assets.models import Template
from gangline.accounts.models import User
from gangline.organization.models import Project
from gangline.resources.registry import get
from gangline.scopes.selectors import scopes_to


def templates_for(project: Project) -> QuerySet[Template]:
    """Templates of the project's own scope and of every scope above it, most used first."""
    line = [scope.pk for scope in scopes_to(project.scope)]
    rows = Template.objects.filter(scope__in=line).select_related("scope")
    return rows.order_by("-used_count", "name")


def usable_templates(user: User) -> QuerySet[Template]:
    """Templates that hold in at least one project where the person may use them."""
    rows: QuerySet[Template] = get("template").visible(user)
    return rows.select_related("scope").order_by("name")
