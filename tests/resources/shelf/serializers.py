"""A shelf as the API writes and reads it."""

from gangline.resources.api import IdField, ResourceSerializer

from .models import Shelf


class ShelfSerializer(ResourceSerializer):
    id = IdField(read_only=True)
    scope_id = IdField()

    class Meta:
        model = Shelf
        fields = ("id", "scope_id", "name", "description", "width", "code", "created_at")
        fixed = ("scope_id",)
        extra_kwargs = {"code": {"write_only": True}}
