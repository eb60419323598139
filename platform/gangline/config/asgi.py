"""The ASGI application: pages and API by Django, WebSockets by Channels, one process for both."""

import gc
import os
from importlib import import_module
from typing import Any

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangline.config.settings")
django.setup(set_prefix=False)
gc.disable()  # pages and API are loaded now; see the settings

from channels.auth import AuthMiddleware  # noqa: E402  needs the app registry

from gangline.config import urls  # noqa: E402
from gangline.config.env import Env, env  # noqa: E402
from gangline.lib.answers import API_PREFIXES  # noqa: E402
from gangline.live.routing import (  # noqa: E402
    ExactOrigin,
    OwnOriginOrNone,
    websocket_urlpatterns,
)
from gangline.web.handlers import HttpHandler  # noqa: E402
from workloads.terminals.routing import api_patterns, page_patterns  # noqa: E402

if env().mode == "production":
    # Nobody waits for this process yet; embedded mode loads it after its first page is ready.
    import_module(urls.API)


def behind_proxies(application: Any, known: Env) -> Any:
    """Address and scheme of the visitor as the trusted proxies in front forward them."""
    if not known.behind_proxy:
        return application
    return ProxyHeadersMiddleware(application, [str(proxy) for proxy in known.trusted_proxies])


class Sockets:
    """Two ways in that never mix: the cookie of a page, or the ticket that a program got."""

    def __init__(self, known: Env) -> None:
        pages = URLRouter([*websocket_urlpatterns, *page_patterns])
        # The exact scheme, host and port: a page of another port is another origin.
        self.pages = ExactOrigin(SessionMiddlewareStack(AuthMiddleware(pages)), known.origins)
        self.programs = OwnOriginOrNone(URLRouter(api_patterns), known.origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_program = scope["path"].startswith(API_PREFIXES)
        await (self.programs if is_program else self.pages)(scope, receive, send)


application = behind_proxies(
    ProtocolTypeRouter({"http": HttpHandler(), "websocket": Sockets(env())}), env()
)
gc.freeze()
gc.enable()
