"""Addresses of the credentials of each type."""

from assets.credentials.resources import CredentialsOfType
from assets.credentials.types import TYPES
from gangline.resources.api_urls import urlpatterns_of

urlpatterns = [one for kind in TYPES for one in urlpatterns_of(CredentialsOfType(kind))]
