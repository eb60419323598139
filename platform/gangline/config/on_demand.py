"""Addresses whose views are imported at the first request below them: no page waits for those."""

from django.urls import URLResolver
from django.urls.resolvers import RoutePattern
from django.utils.datastructures import MultiValueDict
from django.utils.translation import get_language


class OnDemand(URLResolver):
    """Like `include`, for addresses that nothing in the product makes by name.

    Django reads all names at the first `{% url %}`, which would import everything after all: here
    there are none.
    """

    def _populate(self) -> None:
        language = get_language()
        for kind in ("_reverse_dict", "_namespace_dict", "_app_dict"):
            getattr(self, kind)[language] = MultiValueDict()
        self._populated = True


def on_demand(route: str, module: str) -> OnDemand:
    """The addresses of `module` below `route`."""
    return OnDemand(RoutePattern(route), module)
