"""Addresses of signing in with a provider."""

from django.urls import path

from . import views

urlpatterns = [
    path("login/with/<slug:alias>", views.begin, name="provider-begin"),
    path("login/with/<slug:alias>/back", views.come_back, name="provider-come-back"),
    path("account/connect/<slug:alias>", views.begin_connecting, name="provider-connect"),
]
