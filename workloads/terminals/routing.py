"""Addresses of the sockets of terminals."""

from typing import Any, cast

from django.urls import path

from .consumer import ApiTerminalConsumer, TerminalConsumer

PAGE = "terminals"
API = "api/v1/terminals"

# The types of Channels and of Django know nothing of each other.
page_patterns: list[Any] = [path(PAGE, cast(Any, TerminalConsumer.as_asgi()))]
api_patterns: list[Any] = [path(API, cast(Any, ApiTerminalConsumer.as_asgi()))]
