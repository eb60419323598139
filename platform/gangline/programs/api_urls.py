"""Further addresses of service accounts and access keys, below /api/v1/."""

from gangline.resources.api_urls import urlpatterns_of

from .resources import AccessKeysOfAll, Applications, OwnApplications

urlpatterns = [
    pattern
    for resource in (Applications(), OwnApplications(), AccessKeysOfAll())
    for pattern in urlpatterns_of(resource)
]
