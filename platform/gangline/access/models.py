"""Who has which role where: access rules, groups of people, roles of one's own."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower

FIRST_CUSTOM_ROLE = 100
"""Smaller numbers belong to the built-in roles."""


def next_role_id() -> int:
    """The number of the next custom role."""
    last = CustomRole.objects.aggregate(last=models.Max("id"))["last"]
    return max(FIRST_CUSTOM_ROLE, (last or 0) + 1)


class CustomRole(models.Model):
    """A role that an administrator defined. `gangline.access.roles` has the built-in ones."""

    id = models.IntegerField(primary_key=True, default=next_role_id, editable=False)
    key = models.SlugField(max_length=40, unique=True)
    label = models.CharField("name", max_length=63)
    description = models.CharField(max_length=250, blank=True)
    permissions = models.JSONField(default=list)
    """Sorted values of `gangline.access.permissions.Permission`."""
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("label"),
                name="one_role_of_a_name",
                violation_error_message="There is already a role of this name.",
            ),
            models.CheckConstraint(
                condition=models.Q(id__gte=FIRST_CUSTOM_ROLE), name="custom_role_ids"
            ),
        ]

    def __str__(self) -> str:
        return self.label


class Group(models.Model):
    """People who get roles together."""

    class Source(models.TextChoices):
        LOCAL = "local", "Made here"
        IDP = "idp", "Identity provider"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63)
    description = models.CharField(max_length=250, blank=True)
    source = models.CharField(max_length=5, choices=Source.choices, default=Source.LOCAL)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="GroupMember", related_name="member_of"
    )
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("name"),
                name="one_group_of_a_name",
                violation_error_message="There is already a group of this name.",
            ),
            models.CheckConstraint(
                condition=models.Q(source__in=["local", "idp"]), name="group_source_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GroupMember(models.Model):
    group = models.ForeignKey(Group, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "user"], name="member_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.group}"


class AccessRule(models.Model):
    """A role of a user or a group, in a scope and everything below it. Never edited."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="access_rules"
    )
    group = models.ForeignKey(Group, models.CASCADE, null=True, related_name="access_rules")
    role = models.CharField(max_length=40)
    """Key of a built-in or a custom role."""
    scope = models.ForeignKey("scopes.Scope", models.CASCADE, related_name="access_rules")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "role", "scope"], name="one_rule_of_a_user"),
            models.UniqueConstraint(fields=["group", "role", "scope"], name="one_rule_of_a_group"),
            models.CheckConstraint(
                condition=models.Q(user=None, group__isnull=False)
                | models.Q(user__isnull=False, group=None),
                name="one_subject",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {self.role} in {self.scope}"

    @property
    def subject(self) -> str:
        """Name of the user or group."""
        subject = self.user or self.group
        return str(subject)
