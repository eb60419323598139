"""WebSocket addresses, and whose pages may open them."""

from typing import Any, cast
from urllib.parse import urlsplit

from channels.security.websocket import OriginValidator, WebsocketDenier
from django.urls import path

from .consumers import LiveConsumer

# The types of Channels and of Django know nothing of each other.
websocket_urlpatterns: list[Any] = [path("live", cast(Any, LiveConsumer.as_asgi()))]


class ExactOrigin(OriginValidator):
    """The exact scheme, host and port; an origin that is no address at all is refused as well."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        origins = [value.decode("latin1") for name, value in scope["headers"] if name == b"origin"]
        if all(map(_is_address, origins)):
            return await super().__call__(scope, receive, send)
        return await WebsocketDenier()(scope, receive, send)

    def valid_origin(self, parsed_origin: Any) -> bool:
        try:
            return bool(super().valid_origin(parsed_origin))
        except ValueError:
            return False


class OwnOriginOrNone(ExactOrigin):
    """Programs send none; a page of others does, and is refused."""

    def valid_origin(self, parsed_origin: Any) -> bool:
        return parsed_origin is None or super().valid_origin(parsed_origin)


def _is_address(origin: str) -> bool:
    try:
        urlsplit(origin)
    except ValueError:
        return False
    return True
