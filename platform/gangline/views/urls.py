"""Addresses of saved views beside their table."""

from django.urls import path

from .views import TableViews

urlpatterns = [path("tables/<slug:table>/views", TableViews.as_view(), name="table-views")]
