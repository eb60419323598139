"""How the API writes and reads users, groups, roles and access rules."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from gangline.access.models import AccessRule, CustomRole, Group
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.resources.api import ResourceSerializer


class UserSerializer(ResourceSerializer):
    """``email`` is the new user's name, too; the temporary password is shown in one answer."""

    id = serializers.UUIDField(source="uid", read_only=True)
    created_by = serializers.SerializerMethodField(method_name="by")
    is_local = serializers.SerializerMethodField(method_name="local")
    groups = serializers.SerializerMethodField(method_name="group_names")
    email = serializers.RegexField(r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$")
    reset_password = serializers.BooleanField(required=False, write_only=True)
    notify = serializers.BooleanField(required=False, write_only=True)
    temp_password = serializers.CharField(read_only=True, required=False)

    class Meta:
        model = User
        fields = (
            "id",
            "username",
            "email",
            "full_name",
            "is_active",
            "is_local",
            "groups",
            "created_by",
            "created_at",
            "updated_at",
            "last_login",
            "reset_password",
            "notify",
            "temp_password",
        )
        read_only_fields = ("username", "full_name", "is_active", "last_login")

    def by(self, user: User) -> str:
        return str(user.created_by or "system")

    def local(self, user: User) -> bool:
        return True

    def group_names(self, user: User) -> list[str]:
        return sorted(group.name for group in user.member_of.all())


class GroupSerializer(ResourceSerializer):
    members = serializers.SlugRelatedField(
        slug_field="uid", many=True, required=False, queryset=User.objects.filter(is_active=True)
    )
    source = serializers.CharField(read_only=True)  # type: ignore[assignment]

    class Meta:
        model = Group
        fields = ("id", "name", "description", "source", "members", "created_at", "updated_at")

    def parts(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        assert isinstance(data, dict)  # noqa: S101  the validated copy
        return {"members": data.pop("members")} if "members" in data else {}


class RoleSerializer(ResourceSerializer):
    """``allows`` has our own names of permissions; ``permissions`` the ones of the clients."""

    id = serializers.IntegerField(read_only=True)
    allows = serializers.ListField(child=serializers.ChoiceField(choices=[*Permission]))
    allows_own = serializers.ListField(child=serializers.CharField(), read_only=True)
    permissions = serializers.ListField(child=serializers.DictField(), read_only=True)
    created_by = serializers.CharField(read_only=True)
    custom = serializers.BooleanField(read_only=True)
    enabled = serializers.BooleanField(read_only=True)
    effective_enabled = serializers.BooleanField(read_only=True)

    class Meta:
        model = CustomRole
        fields = (
            "id",
            "name",
            "description",
            "allows",
            "allows_own",
            "permissions",
            "custom",
            "enabled",
            "effective_enabled",
            "created_by",
            "created_at",
            "updated_at",
        )


class AccessRuleSerializer(ResourceSerializer):
    """A subject and a place by what clients call them."""

    id = serializers.IntegerField(read_only=True)
    subject_id = serializers.CharField(max_length=150)
    subject_type = serializers.ChoiceField(choices=["user", "group", "service-account", "app"])
    role_id = serializers.IntegerField()
    role_name = serializers.CharField(read_only=True)
    scope_id = serializers.CharField(max_length=36)
    scope_type = serializers.ChoiceField(
        choices=["system", "tenant", "cluster", "department", "project"]
    )
    scope_name = serializers.CharField(read_only=True)
    cluster_id = serializers.CharField(required=False)
    tenant_id = serializers.IntegerField(read_only=True)
    created_by = serializers.CharField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    class Meta:
        model = AccessRule
        fields = (
            "id",
            "subject_id",
            "subject_type",
            "role_id",
            "role_name",
            "scope_id",
            "scope_type",
            "scope_name",
            "cluster_id",
            "tenant_id",
            "created_by",
            "created_at",
            "updated_at",
        )
