"""How the API writes and reads departments and projects."""

from rest_framework import serializers

from gangline.resources.api import IdField, ResourceSerializer

from .models import Department


class DepartmentSerializer(ResourceSerializer):
    id = IdField(read_only=True)
    cluster_id = serializers.UUIDField()

    class Meta:
        model = Department
        fields = ("id", "name", "description", "cluster_id", "created_at", "updated_at")
        fixed = ("cluster_id",)
