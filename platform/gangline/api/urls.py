"""The description of the API, and the end of its addresses: a 404 in the one error shape."""

from django.urls import path, re_path

from . import views

urlpatterns = [
    path("v1/openapi.json", views.openapi, name="openapi"),
    path("v1/openapi.yaml", views.openapi_yaml, name="openapi-yaml"),
    re_path(r"^.*\Z", views.nothing_here),
]
