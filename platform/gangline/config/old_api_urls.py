"""The REST API below ``/v1/``, where clients know some of it from before."""

from django.urls import path, re_path

from gangline.administration.api_urls import SETTINGS
from gangline.api.oauth import AppToken
from gangline.api.views import nothing_here
from gangline.clusters.api_urls import K8S
from gangline.organization.api_urls import K8S as UNITS
from workloads.api.urls import K8S as METRICS

urlpatterns = [
    path("k8s/auth/oauth/apptoken", AppToken.as_view()),
    *SETTINGS,
    *K8S,
    *UNITS,
    *METRICS,
    re_path(r"^.*\Z", nothing_here),
]
