"""Where images may come from, and that they name a digest (security row 30)."""

import pytest

from gangline.policies.document import InvalidPolicy
from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, resolve
from gangline.policies.parser import parse
from gangline.policies.validation import check_document
from gangline.spec.problems import Problem
from gangline.spec.sources import Value

DIGEST = "@sha256:" + "0" * 64
FAR = "rules: {image: {registries: [registry.lab, docker.io/nvidia/], digestRequired: true}}"
NEAR = "rules: {image: {registries: [registry.lab/team, quay.io], digestRequired: false}}"


def layers(*texts: str) -> list[Layer]:
    kinds = ("cluster", "project")
    return [Layer(kind, kind[0], parse(text)) for kind, text in zip(kinds, texts, strict=False)]


def found(image: str, *texts: str) -> list[Problem]:
    request = Request(framework="PyTorch", given={"worker.image": Value(image)})
    return [
        one
        for one in resolve(request, effective_policy(layers(*texts))).problems
        if one.path == "image" and one.role == "worker"
    ]


@pytest.mark.parametrize(
    ("image", "rules"),
    [
        (f"registry.lab/ddp:1.4{DIGEST}", []),
        (f"REGISTRY.LAB/ddp{DIGEST}", []),
        (f"nvidia/cuda{DIGEST}", []),
        (f"index.docker.io/nvidia/cuda{DIGEST}", []),
        ("registry.lab/ddp:latest", ["digestRequired"]),
        (f"registry.lab.evil.io/ddp{DIGEST}", ["registries"]),
        (f"registry.lab:5000/ddp{DIGEST}", ["registries"]),
        (f"nvidia-evil/cuda{DIGEST}", ["registries"]),
        (f"alpine{DIGEST}", ["registries"]),
        ("registry.evil.io/x", ["registries", "digestRequired"]),
        ("local://examples", []),
    ],
)
def test_an_image_comes_from_an_allowed_registry(image: str, rules: list[str]) -> None:
    assert [one.rule for one in found(image, FAR)] == rules
    assert {one.source for one in found(image, FAR)} <= {"cluster c"}


def test_every_scope_must_allow_the_registry() -> None:
    """What a narrower scope says never opens what a wider one closes."""
    assert found(f"registry.lab/team/ddp{DIGEST}", FAR, NEAR) == []
    for image in ("registry.lab/ddp", "quay.io/ddp", "nvidia/cuda"):
        (one,) = found(f"{image}{DIGEST}", FAR, NEAR)
        assert (one.rule, one.source) == ("registries", "cluster c and project p")
        assert one.params["accepted"] == "registry.lab/team"
    assert [one.rule for one in found("registry.lab/team/ddp", FAR, NEAR)] == ["digestRequired"]
    codes = [one.code for one in check_document(parse(NEAR), layers(FAR), kind="project")]
    assert codes == ["policy.looser_options", "policy.opposite"]


def test_registries_without_one_in_common_are_a_conflict() -> None:
    apart = "rules: {image: {registries: [quay.io]}}"
    (problem,) = check_document(parse(apart), layers(FAR), kind="project")
    assert problem.code == "policy.conflict"
    assert [one.rule for one in found(f"registry.lab/ddp{DIGEST}", FAR, apart)] == ["conflict"]


@pytest.mark.parametrize(
    ("rules", "path", "code"),
    [
        ("image: {registries: [alpine]}", "registries.0", "registry"),
        ("image: {registries: ['https://registry.lab']}", "registries.0", "registry"),
        ("image: {registries: ['registry.lab/x@sha256:0']}", "registries.0", "registry"),
        ("image: {registries: [Registry.lab, registry.lab/]}", "registries.1", "twice"),
        ("image: {registries: []}", "registries", "values"),
        ("image: {registries: registry.lab}", "registries", "values"),
        ("image: {digestRequired: 1}", "digestRequired", "boolean"),
        ("image: {overridable: true, registries: [a.b]}", "overridable", "not_overridable"),
        ("command: {registries: [a.b]}", "registries", "other_rule"),
        ("compute: {gpuDevicesRequest: {maxTotal: -1}}", "maxTotal", "number"),
        ("compute: {cpuCoreRequest: {maxTotal: 4}}", "maxTotal", "other_rule"),
    ],
)
def test_what_is_no_registry_is_refused_by_its_path(rules: str, path: str, code: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        parse("rules: {" + rules + "}")
    at = rules.partition(": {")[0] if "compute" not in rules else rules.rpartition(": {")[0]
    whole = f"rules.{at.replace(': {', '.')}.{path}"
    assert {(one.path, one.code) for one in refused.value.problems} == {(whole, f"policy.{code}")}
