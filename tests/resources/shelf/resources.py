"""Shelves as a resource."""

from gangline.resources.registry import register
from gangline.resources.resource import Nav, Resource, Wire
from gangline.resources.tables import Filter, name_link, table
from gangline.tables.columns import Column

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
    can_copy = True
    table = table(
        "shelves",
        (
            Column("name", "Shelf", lambda row: name_link(row, "shelf"), sort="name"),
            Column("width", "Width", lambda row: str(row.width), sort="width", right=True),
        ),
        filters=(
            Filter(name="name", column="name"),
            Filter(name="width", column="width", kind="integer"),
        ),
    )
    wire = Wire(
        path="shelves",
        envelope="shelves",
        serializer="tests.resources.shelf.serializers.ShelfSerializer",
    )


register(Shelves())
