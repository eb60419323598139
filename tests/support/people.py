"""Groups and roles of one's own, made without the pages."""

from gangline.access.models import CustomRole, Group, GroupMember
from gangline.accounts.models import User
from gangline.db.clock import db_now


def make_group(name: str, *members: User) -> Group:
    now = db_now()
    group = Group.objects.create(name=name, created_at=now, updated_at=now)
    GroupMember.objects.bulk_create(GroupMember(group=group, user=user) for user in members)
    return group


def make_role(key: str, *permissions: str) -> CustomRole:
    now = db_now()
    return CustomRole.objects.create(
        key=key,
        name=key,
        permissions=sorted(map(str, permissions)),
        created_at=now,
        updated_at=now,
    )
