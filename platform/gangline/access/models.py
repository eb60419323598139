"""Who has which role where: access rules, groups of people, roles of one's own."""

import uuid
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from gangline.db.fields import FoldedField, Folding
from gangline.db.versioned import Versioned

from .permissions import Permission

FIRST_CUSTOM_ROLE = 100
"""Smaller numbers belong to the built-in roles."""


def next_role_id() -> int:
    """The number of the next custom role."""
    last = CustomRole.objects.aggregate(last=models.Max("id"))["last"]
    return max(FIRST_CUSTOM_ROLE, (last or 0) + 1)


def known_permissions(values: Any) -> None:
    """At least one, each known and there once; raises ValidationError."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValidationError("must be a list of permissions.", "type")
    if unknown := sorted(set(values) - set(Permission)):
        raise ValidationError(
            "%(value)s is not a permission.", "unknown", {"value": ", ".join(unknown)[:200]}
        )
    if not values:
        raise ValidationError("Choose at least one permission.", "required")
    if len(set(values)) != len(values):
        raise ValidationError("A permission is listed twice.", "unique")


class CustomRole(Folding, Versioned):
    """A role that an administrator defined. `gangline.access.roles` has the built-in ones."""

    id = models.IntegerField(primary_key=True, default=next_role_id, editable=False)
    key = models.SlugField(max_length=40, unique=True, blank=True, editable=False)
    """What rules name it by: made of its first name."""
    name = models.CharField(max_length=40)
    folded_name = FoldedField("name")
    permissions = models.JSONField(default=list, validators=[known_permissions])
    """Sorted values of `gangline.access.permissions.Permission`."""

    class Meta:
        verbose_name = "role"
        constraints = [
            models.UniqueConstraint(
                fields=["folded_name"],
                name="one_role_of_a_name",
                violation_error_code="unique",
                violation_error_message="A role with this name already exists.",
            ),
            models.CheckConstraint(
                condition=models.Q(id__gte=FIRST_CUSTOM_ROLE), name="custom_role_ids"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def full_clean(self, *args: Any, **kwargs: Any) -> None:
        if self._state.adding:
            # The default is from before the transaction: another role may have the number by now.
            self.id = next_role_id()
        super().full_clean(*args, **kwargs)


class Group(Folding, Versioned):
    """People who get roles together."""

    class Source(models.TextChoices):
        LOCAL = "local", "Created here"
        IDP = "idp", "Identity provider"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63)
    folded_name = FoldedField("name")
    source = models.CharField(
        max_length=5, choices=Source.choices, default=Source.LOCAL, editable=False
    )
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="GroupMember", related_name="member_of"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["folded_name"],
                name="one_group_of_a_name",
                violation_error_code="unique",
                violation_error_message="A group with this name already exists.",
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


TWICE = "This access rule already exists."


class AccessRule(models.Model):
    """A role of a user or a group, in a scope and everything below it. Never edited."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="access_rules",
    )
    group = models.ForeignKey(
        Group, models.CASCADE, null=True, blank=True, related_name="access_rules"
    )
    role = models.CharField(max_length=40)
    """Key of a built-in or a custom role."""
    scope = models.ForeignKey("scopes.Scope", models.CASCADE, related_name="access_rules")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "role", "scope"],
                name="one_rule_of_a_user",
                violation_error_code="unique",
                violation_error_message=TWICE,
            ),
            models.UniqueConstraint(
                fields=["group", "role", "scope"],
                name="one_rule_of_a_group",
                violation_error_code="unique",
                violation_error_message=TWICE,
            ),
            models.CheckConstraint(
                condition=models.Q(user=None, group__isnull=False)
                | models.Q(user__isnull=False, group=None),
                name="one_subject",
                violation_error_code="one_subject",
                violation_error_message="A rule is for a user or for a group.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {self.role} in {self.scope}"

    @property
    def subject(self) -> str:
        """Name of the user or group."""
        subject = self.user or self.group
        return str(subject)
