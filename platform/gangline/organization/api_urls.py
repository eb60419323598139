"""Addresses of the API beside those of the resources."""

from django.urls import path

from . import api

urlpatterns = [path("org-unit/priorities", api.Priorities.as_view())]
