"""A cluster that was connected by its page, and what people do with it there."""

from collections.abc import Callable
from typing import Any

from django.test import Client

from gangline.drivers.kubernetes.access import ClusterCredentials
from tests.support.world import World

SECRET = "s3cr3t-CANARY-t0ken"
GROUPS = {
    "kubeflow.org": {"v1": ["pytorchjobs"]},
    "scheduling.volcano.sh": {"v1beta1": ["podgroups", "queues"]},
}
Post = Callable[..., Any]


def browser(world: World, person: str = "administrator") -> Client:
    return world.client(person)


def by_token(access: ClusterCredentials, token: str = SECRET) -> dict[str, str]:
    return {
        "way": "token", "server": access.server, "authority": access.certificate_authority,
        "token": token,
    }  # fmt: skip


def seen(world: World, address: str, person: str = "administrator") -> str:
    """The page on one line: where its template breaks lines is not what a test looks for."""
    page = browser(world, person).get(address).content.decode()
    return " ".join(page.split()).replace("&#x27;", "'")
