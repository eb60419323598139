"""Addresses of the pages of every registered resource."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, path
from django.utils.module_loading import import_string

from . import views
from .registry import resources
from .resource import Resource


def pages() -> Iterator[URLPattern]:
    for resource in resources():
        yield from _pages(resource)


def _pages(resource: Resource[Any]) -> Iterator[URLPattern]:
    at, key = resource.path, resource.key
    one = f"{at}/<str:pk>"

    def view(kind: type[views.ResourceView]) -> Any:
        own: Any = type(f"{kind.__name__}Of{resource.label}", (kind,), {"resource": resource})
        return own.as_view()

    yield path(at, view(views.ListView), name=f"{key}-list")
    yield path(f"{at}.csv", view(views.CsvView), name=f"{key}-csv")
    if "create" in resource.verbs and resource.form:
        yield path(f"{at}/new", view(views.CreateView), name=f"{key}-create")
    yield path(one, view(views.DetailView), name=f"{key}-detail")
    if "edit" in resource.verbs and resource.form:
        yield path(f"{one}/edit", view(views.EditView), name=f"{key}-edit")
    if resource.can_copy:
        yield path(f"{one}/copy", view(views.CopyView), name=f"{key}-copy")
    if "delete" in resource.verbs:
        yield path(f"{one}/delete", view(views.DeleteView), name=f"{key}-delete")
    for name, dotted in resource.pages.items():
        yield path(f"{one}/{name}", view(import_string(dotted)), name=f"{key}-{name}")
    yield path(f"{one}/<slug:tab>", view(views.DetailView), name=f"{key}-tab")


urlpatterns = list(pages())
