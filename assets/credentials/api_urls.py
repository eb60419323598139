"""Addresses of the credentials of each type."""

from assets.credentials.registry_api import Registries
from assets.credentials.resources import CredentialsOfType
from assets.credentials.types import TYPES
from gangline.resources.api_urls import urlpatterns_of

_RESOURCES = (*(CredentialsOfType(kind) for kind in TYPES), Registries())
urlpatterns = [one for resource in _RESOURCES for one in urlpatterns_of(resource)]
