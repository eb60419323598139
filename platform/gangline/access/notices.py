"""Which troubles of the machinery a person is told on every page."""

from django.db import DatabaseError
from django.http import HttpRequest

from gangline.accounts.models import User
from gangline.db import leases
from gangline.scopes.models import Scope, ScopeKind

from .grants import can
from .permissions import Permission


def notices_for(request: HttpRequest) -> list[str]:
    """Sentences for the banner: all for administrators, else those that concern everybody."""
    user = request.user
    if not isinstance(user, User):
        return []
    try:
        told = leases.notices()
        if not told:
            return []
        tenant = Scope.objects.filter(kind=ScopeKind.TENANT).first()
        sees_all = tenant is not None and can(user, Permission.SETTING_VIEW, tenant)
    except DatabaseError:
        # A page that could be drawn until here is worth more than its banner.
        return []
    return [notice.message for notice in told if sees_all or notice.is_for_all]
