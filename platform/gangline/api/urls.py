"""Signing in, the description, and the end of the addresses: a 404 in the one error shape."""

from django.urls import path, re_path

from . import oauth, tokens, views

urlpatterns = [
    path("v1/token", tokens.Token.as_view()),
    path("v2/token", oauth.OAuthToken.as_view()),
    path("v1/device", oauth.Device.as_view()),
    path("v1/openapi.json", views.openapi),
    path("v1/openapi.yaml", views.openapi_yaml),
    path("v1/docs", views.docs),
    re_path(r"^.*\Z", views.nothing_here),
]
