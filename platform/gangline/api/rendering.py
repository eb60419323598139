"""JSON answers by orjson."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer

OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC


class AlwaysJSON(DefaultContentNegotiation):
    """Every answer of the API is JSON, whatever Accept says, unless ``format`` asks for another."""

    def select_renderer(
        self, request: Any, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        if wanted := request.query_params.get(self.settings.URL_FORMAT_OVERRIDE):
            renderers = self.filter_renderers(renderers, wanted)
        return renderers[0], renderers[0].media_type


class JSONRenderer(BaseRenderer):
    """The only renderer."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "text"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=str, option=OPTIONS)
