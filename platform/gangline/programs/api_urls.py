"""Further addresses of service accounts and access keys, below /api/v1/."""

from gangline.resources.api_urls import urlpatterns_of

from .resources import AccessKeysOfAll, Applications

urlpatterns = [*urlpatterns_of(Applications()), *urlpatterns_of(AccessKeysOfAll())]
