"""Access rules that programs give and take back many at a time."""

import pytest

from gangline.access.models import AccessRule
from gangline.access.roles import ROLES
from tests.support.api import ApiClient
from tests.support.world import World

pytestmark = pytest.mark.django_db
VIEWER = ROLES["viewer"].id


def payload(world: World, *projects: str) -> dict[str, object]:
    return {
        "payload": {
            "roleId": VIEWER,
            "subjects": [
                {"subjectId": "stranger", "subjectType": "user"},
                {"subjectId": "nobody", "subjectType": "user"},
            ],
            "scopes": [{"scopeId": one, "scopeType": "project"} for one in projects],
        }
    }


def test_every_subject_gets_the_role_in_every_scope_or_the_answer_says_why(world: World) -> None:
    client = ApiClient(world, "administrator")
    body = payload(world, str(world.vision.pk), str(world.nlp.pk))
    found = client.post("authorization/access-rules/batch-create", body).json()
    assert [(one["subjectId"], one["scopeName"]) for one in found["succeeded"]] == [
        ("stranger", "vision"),
        ("stranger", "nlp"),
    ]
    assert {(one["payload"]["subjectId"], one["code"]) for one in found["failed"]} == {
        ("nobody", 400)
    }
    keys = [str(one["id"]) for one in found["succeeded"]]

    again = {"ids": [*keys, "0", "x"], "action": "validate_delete"}
    found = client.post("authorization/access-rules/batch", again).json()
    assert (found["succeeded"], [one["code"] for one in found["failed"]]) == (keys, [404, 404])
    assert AccessRule.objects.filter(pk__in=keys).count() == 2
    client.post("authorization/access-rules/batch", {**again, "action": "delete"})
    assert not AccessRule.objects.filter(pk__in=keys).exists()


def test_who_may_give_no_role_gives_none(world: World) -> None:
    before = AccessRule.objects.count()
    client = ApiClient(world, "researcher-vision")
    body = payload(world, str(world.vision.pk))
    found = client.post("authorization/access-rules/batch-create", body).json()
    assert found["succeeded"] == []
    own = {"ids": [str(AccessRule.objects.first().pk)], "action": "delete"}  # type: ignore[union-attr]
    assert client.post("authorization/access-rules/batch", own).json()["succeeded"] == []
    assert AccessRule.objects.count() == before


@pytest.mark.parametrize(
    ("end", "body"),
    [
        ("batch", {"ids": [], "action": "delete"}),
        ("batch", {"ids": ["1"], "action": "give"}),
        ("batch", {"ids": ["1"], "action": "delete", "force": True}),
        ("batch-create", {}),
        ("batch-create", {"payload": {"roleId": 1, "subjects": ["x"], "scopes": [{}]}}),
        ("batch-create", {"payload": {"roleId": 1, "subjects": [{}] * 30, "scopes": [{}] * 30}}),
    ],
)
def test_a_wrong_batch_is_refused_whole(world: World, end: str, body: object) -> None:
    answered = ApiClient(world, "administrator").post(f"authorization/access-rules/{end}", body)
    assert answered.status_code == 400
