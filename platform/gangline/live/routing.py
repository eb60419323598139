"""WebSocket addresses, and whose pages may open them."""

from typing import Any, cast

from channels.security.websocket import OriginValidator
from django.urls import path

from .consumers import LiveConsumer

# The types of Channels and of Django know nothing of each other.
websocket_urlpatterns: list[Any] = [path("live", cast(Any, LiveConsumer.as_asgi()))]


class ExactOrigin(OriginValidator):
    """The exact scheme, host and port; an origin that is no address at all is refused as well."""

    def valid_origin(self, parsed_origin: Any) -> bool:
        try:
            return bool(super().valid_origin(parsed_origin))
        except ValueError:
            return False
