"""Addresses beside those of the resources."""

from django.urls import path

from . import views

urlpatterns = [path("projects/quota-sums", views.quota_sums, name="quota-sums")]
