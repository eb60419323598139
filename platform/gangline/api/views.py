"""The OpenAPI description, and the answer for addresses that do not exist."""

from functools import cache

import orjson
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer

from gangline.lib.answers import error_body

from .addresses import near
from .errors import NOT_FOUND


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The description as JSON. It names no data, so it needs no sign-in."""
    return HttpResponse(_description(), content_type="application/json")


@require_safe
def openapi_yaml(request: HttpRequest) -> HttpResponse:
    """The same as a text to read."""
    return HttpResponse(_as_yaml(), content_type="application/yaml; charset=utf-8")


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The description to browse and to try out, as who is signed in or with a token."""
    return render(request, "api/docs.html", {"description_url": "/api/v1/openapi.yaml"})


@cache
def _as_yaml() -> bytes:
    return OpenApiYamlRenderer().render(orjson.loads(_description()), renderer_context={})  # type: ignore[no-untyped-call,no-any-return]


@cache
def _description() -> bytes:
    """Made once per process: it follows from the code alone."""
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return orjson.dumps(schema)


@csrf_exempt
def nothing_here(request: HttpRequest) -> JsonResponse:
    """Any other address under /api/, with any method: tells what is there."""
    found = near(request.path)
    body = error_body(404, NOT_FOUND, f"Accepted: {', '.join(found)}." if found else "")
    return JsonResponse({**body, "available": found}, status=404)
