"""All addresses. Each application owns its own; names are public API."""

from django.urls import include, path

from gangline.config import devices, views
from gangline.config.on_demand import on_demand

API = "gangline.config.api_urls"

handler400 = "gangline.web.errors.bad_request"
handler403 = "gangline.web.errors.permission_denied"
handler404 = "gangline.web.errors.page_not_found"
handler500 = "gangline.web.errors.server_error"

# Tried in this order: what is asked for most comes first.
urlpatterns = [
    on_demand("api/", API),
    path("", include("workloads.urls")),
    path("", include("gangline.accounts.urls")),
    path("", include("gangline.identity.urls")),
    path("", include("gangline.web.urls")),
    path("", include("gangline.views.urls")),
    path("", include("gangline.clusters.urls")),
    path("", include("gangline.policies.urls")),
    path("", include("gangline.organization.urls")),
    path("", include("gangline.people.urls")),
    path("", include("gangline.resources.urls")),
    path("", include("gangline.administration.urls")),
    path("account/tokens", views.tokens_page, name="tokens"),
    path("account/tokens/new", views.token_create, name="token-create"),
    path("account/tokens/<slug:kid>/revoke", views.token_revoke, name="token-revoke"),
    path("device", devices.device, name="device"),
    path("account/programs/<uuid:session_id>/end", devices.program_end, name="program-end"),
    on_demand("v1/", "gangline.config.old_api_urls"),
]
