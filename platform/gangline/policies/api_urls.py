"""Addresses of policies in the API, below /api/v2/."""

from django.urls import path

from . import api

urlpatterns = [
    path("policy", api.PolicyList.as_view()),
    path("policy/distributed", api.DistributedPolicy.as_view()),
]
