"""Addresses of the API beside those of the resources."""

from django.urls import path

from . import oneself

urlpatterns = [
    path("me", oneself.Me.as_view()),
    path("me/password", oneself.OwnPassword.as_view()),
    path("authorization/permissions", oneself.Permissions.as_view()),
    path("authorization/permitted-scopes", oneself.PermittedScopes.as_view()),
    path("authorization/me/access-rules", oneself.OwnRules.as_view()),
    path("authorization/me/access-rules/count", oneself.OwnRulesCount.as_view()),
]
