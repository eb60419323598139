"""Addresses beside those of the resources; the ones here come first."""

from django.urls import path

from . import views

urlpatterns = [
    path("account", views.account, name="account"),
    path("account/password", views.own_password, name="account-password"),
    path("users/new", views.InviteView.as_view(), name="user-create"),
    path("users/<uuid:uid>/link", views.user_link, name="user-link"),
    path("users/<uuid:uid>/activate", views.user_activate, name="user-activate"),
    path("users/<uuid:uid>/sign-out", views.user_sign_out, name="user-sign-out"),
    path("roles/built-in/<slug:key>", views.role_detail, name="role-built-in"),
    path("access-check", views.access_check, name="access-check"),
]
