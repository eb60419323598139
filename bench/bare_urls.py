"""The one address of the bare site."""

from django.http import HttpRequest, HttpResponse
from django.urls import path


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("<!doctype html><title>Bare</title>")


urlpatterns = [path("login", page)]
