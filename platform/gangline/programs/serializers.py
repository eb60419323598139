"""How the API writes and reads service accounts and access keys."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from gangline.accounts.areas import AREAS, SEPARATOR
from gangline.resources.api import ResourceSerializer
from gangline.scopes.selectors import TENANT_ID

from .models import AccessKey, ServiceAccount


class AreasField(serializers.ListField):
    """Parts of the API; stored as one text."""

    child = serializers.ChoiceField(choices=list(AREAS))

    def to_representation(self, data: Any) -> list[str]:
        return data.split(SEPARATOR) if data else []

    def to_internal_value(self, data: Any) -> Any:
        return SEPARATOR.join(dict.fromkeys(super().to_internal_value(data)))


class ServiceAccountSerializer(ResourceSerializer):
    areas = AreasField(required=False)
    id = serializers.UUIDField(source="client_id", read_only=True)
    created_by = serializers.CharField(source="created_by.username", default="", read_only=True)
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)
    enabled = serializers.BooleanField(source="user.is_active", required=False)
    tenant_id = serializers.SerializerMethodField("tenant_of")
    last_login = serializers.DateTimeField(source="last_used_at", read_only=True)

    class Meta:
        model = ServiceAccount
        fields = (
            "id", "client_id", "name", "created_by", "created_at", "updated_at", "enabled",
            "tenant_id", "last_login", "expires_at", "addresses", "is_read_only", "areas",
        )  # fmt: skip
        fixed = ("name",)

    def parts(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        user = dict(data).get("user", {})
        if isinstance(data, dict):
            data.pop("user", None)
        return {"enabled": user["is_active"]} if "is_active" in user else {}

    def tenant_of(self, row: ServiceAccount) -> str:
        return str(TENANT_ID)


class AccessKeySerializer(ResourceSerializer):
    areas = AreasField(required=False)
    id = serializers.UUIDField(source="client_id", read_only=True)
    created_by = serializers.CharField(source="user.username", read_only=True)
    last_login = serializers.DateTimeField(source="last_used_at", read_only=True)

    class Meta:
        model = AccessKey
        fields = (
            "id", "client_id", "name", "created_by", "created_at", "last_login", "expires_at",
            "addresses", "is_read_only", "areas",
        )  # fmt: skip
