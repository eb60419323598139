"""A workload as YAML: the same verdict as JSON, and nothing that YAML can do beyond."""

from typing import Any

import pytest

from gangline.lib import yaml_text
from tests.support.api import ApiClient
from tests.support.world import World
from workloads.models import Workload

pytestmark = pytest.mark.django_db
SUBMIT = "workloads/distributed"


def send(client: ApiClient, text: str | bytes) -> Any:
    return client.raw(SUBMIT, text, "application/yaml")


def test_yaml_creates_what_json_creates(world: World, researcher: ApiClient) -> None:
    body = world.body()
    answer = send(researcher, "# by hand\n" + yaml_text.write({**body, "name": "as-yaml"}))
    assert answer.status_code == 202, answer.content
    researcher.post(SUBMIT, body)
    as_yaml, as_json = Workload.objects.get(name="as-yaml"), Workload.objects.get(name="digits")
    assert as_yaml.given == as_json.given
    assert as_yaml.attempts.get().effective == as_json.attempts.get().effective


def test_wrong_values_have_the_same_problems(world: World, researcher: ApiClient) -> None:
    body = world.spec_body(numWorkers=-1, nonsense=1, image=7)
    as_yaml = send(researcher, yaml_text.write(body))
    assert as_yaml.status_code == 400
    assert as_yaml.json() == researcher.post(SUBMIT, body).json()


BOMB = "\n".join(
    ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (BOMB, 1),
        ("name: x\nspec: &a [*a]\n", 2),
        ('name: !!python/object/apply:os.system ["id"]\n', 1),
        ("spec:\n  image: a\n  image: b\n", 3),
        ("spec:\n  <<: {image: a}\n", 2),
        ("name: a\n---\nname: b\n", 2),
        ("spec: {numWorkers: 010}\n", 1),
        ("name:\n\tx\n", 2),
        ("- a\n", 1),
        (b"name: \xff\n", 1),
        ("# " + "x" * yaml_text.LONGEST + "\n", 1),
    ],
)  # fmt: skip
def test_what_yaml_can_do_beyond_json_is_refused_with_its_line(
    researcher: ApiClient, text: str | bytes, line: int
) -> None:
    answer = send(researcher, text)
    assert answer.status_code == 400
    assert f"line {line}:" in answer.json()["problems"][0]["message"]
    assert not Workload.objects.exists()
