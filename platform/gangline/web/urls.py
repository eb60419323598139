"""Addresses of the shell itself."""

from django.urls import path

from gangline.web.views import styleguide, theme

app_name = "web"
urlpatterns = [
    path("theme", theme.set_theme, name="theme"),
    path("styleguide", styleguide.styleguide, name="styleguide"),
]
