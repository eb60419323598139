"""The REST API, in the versions that clients know; anything else is a JSON 404."""

from django.urls import include, path

from gangline.administration.api_urls import AUDIT, SECURITY
from gangline.api import schema  # noqa: F401  teaches the OpenAPI generator our own classes
from gangline.clusters.api_urls import V2
from gangline.resources.api_urls import all_urls

urlpatterns = [
    path("v1/", include("workloads.api.urls")),
    path("v1/", include("assets.api_urls")),
    path("v1/", include("gangline.programs.api_urls")),
    path("v1/", include("gangline.organization.api_urls")),
    path("v1/", include("gangline.people.api_urls")),
    path("v1/", include(AUDIT)),
    path("v1/", include(SECURITY)),
    path("v1/", include(all_urls())),
    path("v2/", include(V2)),
    path("v2/", include("gangline.policies.api_urls")),
    path("", include("gangline.api.urls")),
]
