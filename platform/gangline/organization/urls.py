"""Addresses beside those of the resources."""

from django.urls import path, re_path

from . import views

_NODE = r"^(?P<key>project|department)s/(?P<pk>\d+)/members"

urlpatterns = [
    path("projects/quota-sums", views.quota_sums, name="quota-sums"),
    re_path(rf"{_NODE}$", views.member_add, name="member-add"),
    re_path(rf"{_NODE}/(?P<rule>\d+)/remove$", views.member_remove, name="member-remove"),
]
