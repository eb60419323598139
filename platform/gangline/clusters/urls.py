"""Addresses of clusters beside those of every resource."""

from django.contrib.auth.decorators import login_required
from django.urls import path

from . import views

_ONE = "clusters/<uuid:pk>"

urlpatterns = [
    path("clusters/role.yaml", login_required(views.manifest), name="cluster-role"),
    path(f"{_ONE}/check", views.CheckView.as_view(), name="cluster-check"),
    path(f"{_ONE}/credential", views.CredentialView.as_view(), name="cluster-credential"),
    path(f"{_ONE}/forget", views.ForgetView.as_view(), name="cluster-forget"),
]
