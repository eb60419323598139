"""Addresses of the API beside those of the resources: what they have at others, too."""

from typing import Any

from assets.credentials.registry_api import Registries
from assets.credentials.resources import CredentialsOfType
from assets.credentials.types import TYPES
from assets.old_template_api import OldTemplates
from gangline.resources.api_urls import urlpatterns_of
from gangline.resources.resource import Resource

_RESOURCES: tuple[Resource[Any], ...] = (
    *(CredentialsOfType(kind) for kind in TYPES),
    Registries(),
    OldTemplates(),
)
urlpatterns = [one for resource in _RESOURCES for one in urlpatterns_of(resource)]
