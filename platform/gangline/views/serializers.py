"""How the API writes and reads saved views."""

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from gangline.resources.api import IdField, ResourceSerializer
from gangline.resources.registry import get
from gangline.tables.models import SavedView


class _ProjectIdField(IdField):
    """A project, of which the row knows the scope."""

    def get_attribute(self, instance: Any) -> Any:
        return instance.scope and instance.scope.project

    def to_internal_value(self, data: Any) -> int:
        pk = super().to_internal_value(data)
        found = get("project").visible(self.context["request"].user).filter(pk=pk).first()
        if found is None:
            raise ValidationError("There is no such project.", code="not_there:project")
        return int(found.scope_id)


class SavedViewSerializer(ResourceSerializer):
    owner = serializers.CharField(source="owner.username", read_only=True)
    project_id = _ProjectIdField(source="scope_id", required=False)
    table = serializers.CharField(max_length=40)

    class Meta:
        model = SavedView
        fields = (
            "id", "name", "description", "table", "query", "shared", "project_id", "owner",
            "created_at", "updated_at",
        )  # fmt: skip
        fixed = ("table",)
