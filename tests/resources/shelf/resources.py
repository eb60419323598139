"""Shelves as a resource."""

from gangline.resources.registry import Uses, get, register, register_usage
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import column, name_column, table
from gangline.tables import filters

from .models import Shelf


class Shelves(Resource[Shelf]):
    model = Shelf
    key = "shelf"
    entity = "department"
    path = "shelves"
    empty_text = "A shelf holds things."
    form = "tests.resources.shelf.forms.ShelfForm"
    nav = Nav(group="Organisation", icon="server")
    secret = frozenset({"code"})
    facts = ("width",)
    can_copy = shows_yaml = True
    table = table(
        "shelves",
        name_column("shelf", "Shelf"),
        column("width", "Width", sort="width", right=True),
        noun=("shelf", "shelves"),
        filters=(
            filters.text("named", "Name", "name", wire="name"),
            filters.numbers("width", "Width", "width", wire="width"),
        ),
    )
    wire = Wire(
        path="shelves",
        envelope="shelves",
        serializer="tests.resources.shelf.serializers.ShelfSerializer",
    )


register(Shelves())
register_usage(
    Shelf,
    lambda shelf: Uses(
        "shelf", Shelf._default_manager.filter(above=shelf), get("shelf").visible, get("shelf").url
    ),
)
