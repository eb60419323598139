"""Addresses of the policy pages."""

from django.urls import path

from . import views

urlpatterns = [
    path("policies", views.policy_list, name="policy-list"),
    path("policies/<int:scope_id>", views.policy_edit, name="policy-edit"),
    path("policies/<int:scope_id>/delete", views.policy_delete, name="policy-delete"),
]
