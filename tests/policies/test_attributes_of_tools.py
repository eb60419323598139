"""Rules of a policy for the attributes of tools."""

import pytest

from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, resolve
from gangline.policies.parser import parse
from gangline.spec.problems import Role
from gangline.spec.sources import YOU, Value
from gangline.spec.values import flatten
from gangline.spec.workload import WorkerSpec

RULES = """
rules:
  worker:
    exposedUrls:
      attributes:
        authorizedUsers: {options: [{value: ana}, {value: bo}]}
        customUrl: {canEdit: false}
        container: {min: 6000}
"""


@pytest.mark.parametrize(
    ("tool", "broken"),
    [
        ({"authorizedUsers": ["ana", "bo"]}, []),
        ({"authorizedUsers": ["bo"]}, []),
        ({"authorizedUsers": ["ana", "eve"]}, ["authorizedUsers"]),
        ({"url": "https://a.b"}, ["customUrl"]),
        ({"container": 5000}, ["container"]),
        ({"toolType": "mlflow"}, ["container"]),
    ],
)
def test_a_tool_keeps_to_the_rules(tool: dict[str, object], broken: list[str]) -> None:
    policy = effective_policy([Layer("project", "vision", parse(RULES))])
    said = [{"toolType": "tensorboard", **tool}]
    values, _ = flatten(WorkerSpec, {"exposedUrls": said}, Role.WORKER)
    given = {f"worker.{path}": Value(value, YOU) for path, value in values.items()}
    request = Request(framework="PyTorch", configuration="workersOnly", given=given)
    found = [p.path for p in resolve(request, policy).problems]
    assert found == [f"exposedUrls.0.{name}" for name in broken]
