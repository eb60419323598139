"""Addresses of accounts."""

from django.urls import path

from . import views

urlpatterns = [
    path("login", views.sign_in, name="login"),
    path("logout", views.sign_out, name="logout"),
    path("enter/<str:secret>", views.enter, name="enter"),
]
