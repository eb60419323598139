"""Further addresses of service accounts and access keys, below /api/v1/."""

from gangline.resources.api_urls import urlpatterns_of

from .resources import AccessKeysOfAll, Applications, OwnApplications, OwnApplicationsOfAll

urlpatterns = [
    pattern
    for resource in (
        Applications(),
        OwnApplications(),
        AccessKeysOfAll(),
        OwnApplicationsOfAll(),
    )
    for pattern in urlpatterns_of(resource)
]
