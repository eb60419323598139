"""Messages, warnings, slips and limits of the language, and what may be imposed."""

import pytest

from gangline.policies.document import Imposable, InvalidPolicy
from gangline.policies.effective import Layer, effective_policy
from gangline.policies.engine import Request, resolve
from gangline.policies.parser import parse
from gangline.policies.validation import check_document, check_imposed
from gangline.policies.wording import line_of
from gangline.spec.problems import Role
from gangline.spec.sources import Value

ID = "5a2d0f2e-5c0a-4b2b-9f4b-0e0a8f0d3c11"


@pytest.mark.parametrize(
    ("rules", "path", "value"),
    [
        ("numWorkers: {max: 4, MESSAGE}", "numWorkers", 9),
        ("image: {options: [a], MESSAGE}", "image", "b"),
        ("image: {blocked: true, MESSAGE}", "image", "b"),
        ("tty: {canEdit: false, MESSAGE}", "tty", True),
        ("command: {required: true, MESSAGE}", "args", "x"),
        ("nodePools: {options: [a], MESSAGE}", "nodePools", ["b"]),
        ("labels: {instances: {canAdd: false, MESSAGE}}", "labels", [{"name": "a", "value": "b"}]),
        (
            "labels: {attributes: {value: {options: [x], MESSAGE}}}",
            "labels",
            [{"name": "a", "value": "b"}],
        ),
        (
            "compute: {gpuDevicesRequest: {max: 1, MESSAGE}}",
            "compute.extendedResources",
            [{"resource": "nvidia.com/mig-1g.5gb", "quantity": "4"}],
        ),
    ],
)
def test_who_breaks_a_rule_reads_the_message_of_who_set_it(
    rules: str, path: str, value: object
) -> None:
    text = "rules: {worker: {" + rules.replace("MESSAGE", "message: Ask us.") + "}}"
    policy = effective_policy([Layer("project", "vision", parse(text))])
    given = {f"worker.{path}": Value(value)}
    if path == "tty":
        given["worker.stdin"] = Value(True)
    made = resolve(Request(framework="PyTorch", master="own", given=given), policy)
    (problem,) = [p for p in made.problems if p.source == "project vision"]
    assert problem.hint == "Ask us."
    assert problem.sentence.endswith(" Ask us.")


def test_a_message_goes_with_the_rule_that_is_in_force() -> None:
    layers = [
        Layer(kind, "a", parse(f"rules: {{numWorkers: {{max: {most}, message: {kind}}}}}"))
        for kind, most in (("cluster", 8), ("department", 4), ("project", 4))
    ]
    request = Request(framework="PyTorch", given={"worker.numWorkers": Value(9)})
    (problem,) = resolve(request, effective_policy(layers)).problems
    assert (problem.source, problem.hint) == ("department a", "department")


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("worker: {numWorkers: {Step: 1}}", "step"),
        ("worker: {labels: {Instances: {canAdd: false}}}", "instances"),
        ("worker: {storage: {git: {attributes: {Repository: {required: true}}}}}", "repository"),
        ("worker: {storage: {nfs: {attributes: {readonly: {required: true}}}}}", "readOnly"),
        ("worker: {terminateAfterPreemtpion: {canEdit: true}}", "terminateAfterPreemption"),
        ("worker: {storage: {configMapVolumes: {}}}", "configMapVolume"),
        ("worker: {probes: {readiness: {failureThreshod: {max: 1}}}}", "failureThreshold"),
        ("worker: {security: {runasGid: {max: 1}}}", "runAsGid"),
        ("worker: {compute: {gpuDeviceRequest: {max: 1}}}", "gpuDevicesRequest"),
    ],
)
def test_slips_of_well_known_examples_are_told_with_what_was_meant(slip: str, meant: str) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        parse(f"rules:\n  {slip}")
    (problem,) = refusal.value.problems
    assert (problem.code, problem.params["meant"], line_of(problem)) == (
        "policy.misspelt",
        meant,
        2,
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: " + "x" * 262_144, 1),
        ("rules:\n  worker: &w {image: {required: true}}\n  master: *w", 2),
        ("rules:\n  worker: !!python/object:os.system {}", 2),
        ("rules:\n  worker: {}\n  worker: {}", 3),
        ("rules: " + "{a: " * 25 + "1" + "}" * 25, 1),
        ("rules:\n\tworker: {}", 2),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        parse(text)
    (problem,) = refusal.value.problems
    assert (problem.code, line_of(problem)) == ("policy.yaml", line)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules: {worker: {command: {required: true}}}", ["policy.to_fill"]),
        ("rules: {worker: {nodeType: {canEdit: false}}}", ["policy.empty_fixed"]),
        ("rules: {master: {backoffLimit: {max: 3}}}", ["policy.workload_only"]),
        ("rules: {worker: {backoffLimit: {required: true}}}", []),
        ("rules: {worker: {storage: {git: {attributes: {branch: {required: true}}}}}}", []),
    ],
)
def test_what_may_be_saved_and_deserves_a_look(text: str, told: list[str]) -> None:
    found = check_document(parse(text), [])
    assert [(p.code, p.severity) for p in found] == [(code, "warning") for code in told]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({}, ["policy.imposed_unknown"]),
        ({ID: Imposable(ID, "d", "storage.s3", {}, needs_credential=True)},
         ["policy.imposed_credential"]),
        ({ID: Imposable(ID, "d", "storage.nfs", {})}, []),
    ],
)  # fmt: skip
def test_what_can_be_imposed(found: dict[str, Imposable], told: list[str]) -> None:
    document = parse(f"imposedAssets: [{ID}]")
    problems = check_imposed(document, found)
    assert [(p.code, line_of(p)) for p in problems] == [(code, 1) for code in told]


def test_what_any_scope_imposes_holds_and_the_farthest_is_named() -> None:
    other = ID.replace("5", "6")
    layers = [
        Layer("tenant", "", parse(f"imposedAssets: {{worker: [{ID}]}}")),
        Layer("project", "a", parse(f"imposedAssets: [{ID.upper()}, {other}]")),
    ]
    imposed = effective_policy(layers).imposed
    assert imposed[Role.WORKER] == {ID: "the whole installation", other: "project a"}
    assert imposed[Role.MASTER] == {ID: "project a", other: "project a"}


def test_a_size_among_options_is_compared_as_a_size() -> None:
    rules = "rules: {worker: {storage: {pvc: {attributes: {claimInfo: {size: {options: [1G]}}}}}}}"
    policy = effective_policy([Layer("project", "a", parse(rules))])
    for size, told in (("1000M", []), ("1Gi", ["options"])):
        claim = {"name": "d", "path": "/d", "claimInfo": {"size": size}}
        given = {"worker.storage.pvc": Value([claim])}
        made = resolve(
            Request(framework="PyTorch", configuration="workersOnly", given=given), policy
        )
        assert [p.rule for p in made.problems] == told


def test_a_list_that_is_given_takes_the_place_of_the_default() -> None:
    rules = (
        "defaults: {worker: {nodePools: [a, b]}}\nrules: {worker: {nodePools: {options: [a, b]}}}"
    )
    policy = effective_policy([Layer("project", "v", parse(rules))])
    for pools, told in ((["b"], []), (["b", "c"], [("nodePools.1", "options")])):
        given = {"worker.nodePools": Value(pools)}
        request = Request(framework="PyTorch", configuration="workersOnly", given=given)
        made = resolve(request, policy)
        assert [(p.path, p.rule) for p in made.problems] == told
        assert [item["name"] for item in made.values("worker")["nodePools"]] == pools


@pytest.mark.parametrize(
    ("kind", "told"),
    [("tenant", []), ("cluster", []), ("department", ["canEdit"]), ("project", ["canEdit"])],
)
def test_what_reaches_beyond_a_pod_is_allowed_for_a_whole_cluster_or_not(
    kind: str, told: list[str]
) -> None:
    document = parse("rules: {worker: {security: {hostNetwork: {canEdit: true}}}}")
    given = {"worker.security.hostNetwork": Value(True)}
    request = Request(framework="PyTorch", configuration="workersOnly", given=given)
    policy = effective_policy([Layer(kind, "a", document)])
    assert [p.rule for p in resolve(request, policy).problems] == told
    wrong = [p.code for p in check_document(document, [], kind=kind)]
    assert wrong == (["policy.own"] if told else [])


@pytest.mark.parametrize(
    ("field", "value", "opening", "rule"),
    [("runAsUid", 0, "min: 0", "min"),
     ("runAsGid", 0, "min: 0", "min"),
     ("supplementalGroups", "7, 0", "min: 0", "min"),
     ("seccompProfileType", "Unconfined", "options: [RuntimeDefault, Unconfined]", "options")],
)  # fmt: skip
def test_some_values_of_a_field_are_closed_until_a_whole_cluster_has_them(
    field: str, value: object, opening: str, rule: str
) -> None:
    given = {
        "worker.security.uidGidSource": Value("custom"),
        f"worker.security.{field}": Value(value),
    }
    request = Request(framework="PyTorch", configuration="workersOnly", given=given)
    opened = parse(f"rules: {{worker: {{security: {{{field}: {{{opening}}}}}}}}}")
    for kind, told in (("", [rule]), ("project", [rule]), ("cluster", [])):
        policy = effective_policy([Layer(kind, "a", opened)] if kind else [])
        assert [p.rule for p in resolve(request, policy).problems] == told


def test_bounds_hold_for_each_number_in_a_text() -> None:
    rules = "rules: {security: {supplementalGroups: {min: 100, max: 2000}}}"
    policy = effective_policy([Layer("project", "a", parse(rules))])
    for groups, told in (("100, 2000", []), ("100, 2001", ["max"]), ("99, 100", ["min"])):
        given = {
            "worker.security.uidGidSource": Value("custom"),
            "worker.security.supplementalGroups": Value(groups),
        }
        request = Request(framework="PyTorch", configuration="workersOnly", given=given)
        assert [p.rule for p in resolve(request, policy).problems] == told
