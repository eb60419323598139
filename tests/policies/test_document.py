"""What an administrator may write, and what the rest is answered, with its line."""

import time
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from gangline.lib.problems import Problem
from gangline.policies.document import (
    GivenDefault,
    InvalidPolicy,
    Option,
    fields_of,
    rules_of,
)
from gangline.policies.parser import parse
from gangline.policies.wording import sentence as worded
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.problems import Role
from gangline.spec.workload import SPEC, ReplicaSpec, WorkerSpec
from tests.policies.sample_models import SAMPLE, document, refused
from tests.spec.extra_field import EXTRA, with_extra_field

FULL = """\
defaults:
  worker:
    numWorkers: 2
    compute:
      cpuMemoryRequest: 16G
    environmentVariables:
      instances:
        - {name: HTTP_PROXY, value: "http://proxy:3128"}
        - {name: WANDB_MODE, value: offline}
  master:
    compute: {gpuDevicesRequest: 0}
rules:
  worker:
    numWorkers: {min: 1, max: 16, step: 1, required: true, overridable: true}
    distributedFramework: {options: [PyTorch, {value: TensorFlow, displayed: Keras}]}
    image: {canEdit: false}
    environmentVariables: {instances: {canAdd: false, locked: [HTTP_PROXY]}}
    labels: {instances: {locked: []}}
  master:
"""


def test_a_full_document_is_read_with_its_lines() -> None:
    worker = parse(FULL).worker
    assert worker.defaults["numWorkers"] == GivenDefault(2, line=3)
    variables = worker.defaults["environmentVariables"]
    assert (variables.line, variables.item_lines) == (6, (8, 9))
    assert variables.value[1] == {"name": "WANDB_MODE", "value": "offline"}
    workers = worker.rules["numWorkers"]
    assert workers.kinds == {"min": 1, "max": 16, "step": 1, "required": True}
    assert (workers.overridable, workers.lines["max"]) == (True, 14)
    assert worker.rules["distributedFramework"].kinds["options"] == (
        Option("PyTorch"),
        Option("TF", "Keras"),
    )
    assert worker.rules["environmentVariables"].kinds == {
        "canAdd": False,
        "locked": ("HTTP_PROXY",),
    }
    assert worker.rules["environmentVariables"].lines["locked"] == 17
    assert parse(FULL).master.defaults.keys() == {"compute.gpuDevicesRequest"}
    assert parse(FULL).half(Role.MASTER).rules == {}


def test_an_option_is_shown_by_its_words() -> None:
    assert Option("reg/a:1", "A").label == "A"
    assert Option("reg/a:1").label == "reg/a:1"


def test_a_flat_document_holds_for_both_halves() -> None:
    flat = document(
        defaults={"numWorkers": 2, "image": "a"},
        rules={"compute": {"gpuDevicesRequest": {"max": 4}}},
    )
    assert flat.worker.defaults.keys() == {"numWorkers", "image"}
    assert flat.master.defaults.keys() == {"image"}
    assert flat.worker.rules == flat.master.rules


@pytest.mark.parametrize("text", ["defaults:\n", "rules: {}\n", "rules: {worker: }\n",
                                  "rules: {image: }", "rules: {numWorkers: {max: }}",
                                  "rules: {labels: {instances: }}", "defaults: {labels: }",
                                  "defaults: {labels: {instances: }}"])  # fmt: skip
def test_null_means_absent(text: str) -> None:
    empty = parse(text)
    assert (empty.worker.defaults, empty.worker.rules, empty.master.rules) == ({}, {}, {})


def test_rules_follow_from_the_kind_of_the_field() -> None:
    worker, master = fields_of(SPEC, Role.WORKER), fields_of(SPEC, Role.MASTER)
    assert rules_of(worker["compute.gpuDevicesRequest"]) == (
        "required", "canEdit", "blocked", "min", "max", "step", "defaultFrom", "maxTotal",
    )  # fmt: skip
    assert rules_of(worker["environmentVariables"]) == ("canAdd", "locked", "required")
    assert rules_of(worker["image"]) == (
        "required",
        "canEdit",
        "blocked",
        "options",
        "registries",
        "digestRequired",
    )
    assert worker.keys() == catalogue(WorkerSpec).keys()
    assert master.keys() == catalogue(ReplicaSpec).keys()
    assert "numWorkers" not in master


@pytest.mark.parametrize("role", [Role.WORKER, Role.MASTER])
def test_every_field_takes_every_rule_of_its_kind(role: Role) -> None:
    fields = fields_of(SPEC, Role.WORKER)
    for field, known in fields_of(SPEC, role).items():
        path = f"{field}.instances" if known.is_by_item else field
        for kind in rules_of(known):
            if kind == "defaultFrom" and not _computable(known, fields):
                continue
            text = yaml.safe_dump(
                {"rules": {role.value: _nested(path, {kind: _sample(field, kind)})}}
            )
            assert parse(text).half(role).rules[field].kinds.keys() == {kind}


def _sample(path: str, kind: str) -> Any:
    field = catalogue(WorkerSpec)[path]
    if kind in ("min", "max"):
        return 1 if field.maximum is None else field.maximum
    if kind == "defaultFrom":
        return {"field": _computable(field, catalogue(WorkerSpec))[0], "factor": 0.5}
    if kind == "options":
        told = field.items[0] if field.is_array else field
        taken = [text for text in told.choices or ("a", "/a", "1") if _takes(told, text)]
        assert taken, f"give here a text that the grammar of {path} takes"
        return taken[:1]
    given = {"step": 1, "maxTotal": 1, "locked": ["A"], "registries": ["registry.lab"]}
    return given.get(kind, False)


def _computable(field: SpecField, fields: Mapping[str, SpecField]) -> list[str]:
    """Numbers of its section that a default may follow from."""
    section, is_size = field.path.rpartition(".")[0], field.kind is Kind.QUANTITY
    return [
        path
        for path, other in fields.items()
        if other.kind.is_numeric
        and path != field.path
        and path.rpartition(".")[0] == section
        and (other.kind is Kind.QUANTITY) == is_size
    ]


def _takes(field: SpecField, text: str) -> bool:
    return field.format is None or field.format.check(text) is None


def _nested(path: str, value: Any) -> dict[str, Any]:
    for part in reversed(path.split(".")):
        value = {part: value}
    return dict(value)


def test_a_new_field_takes_rules_at_once() -> None:
    models = with_extra_field()
    text = f"defaults: {{{EXTRA}: 4}}\nrules: {{{EXTRA}: {{max: 5}}}}"
    assert parse(text, models).master.rules[EXTRA].kinds == {"max": 5}
    with pytest.raises(InvalidPolicy, match=f"{EXTRA} is not known"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("Rules: {}", [(1, "Rules", "is not known")]),
        ("imposedAssets: {worker: 1}",
         [(1, "imposedAssets.worker", "must be a list of ids of data sources")]),
        ("imposedAssets: [x]",
         [(1, "imposedAssets.0", "must be the id of a data source, not x")]),
        ("imposedAssets: {leader: []}", [(1, "imposedAssets.leader", "is not known")]),
        ("defaults: 4", [(1, "defaults", "must be an object")]),
        ("rules: {worker: [1]}", [(1, "rules.worker", "must be an object")]),
        ("rules:\n  worker: {}\n  image: {required: true}",
         [(3, "rules.image", "must be under worker or master, like the rest")]),
        ("rules:\n  worker:\n    backofLimit: {min: 1}",
         [(3, "rules.worker.backofLimit", "is not known")]),
        ("rules: {compute.gpuDevicesRequest: {min: 1}}",
         [(1, "rules.compute.gpuDevicesRequest", "is not known")]),
        ("rules: {compute: 5}", [(1, "rules.compute", "must be an object")]),
        ("rules: {compute: {gpu: {}}}", [(1, "rules.compute.gpu", "is not known")]),
        ("rules: {master: {numWorkers: {max: 3}}}",
         [(1, "rules.master.numWorkers", "has one value for the whole workload")]),
        ("rules: {master: {backoffLimit: {max: many}}}",
         [(1, "rules.master.backoffLimit.max", "must be a whole number, not many")]),
        ("rules: {image: {message: Ask us.}}", [(1, "rules.image.message",
                                                 "has no effect without a rule")]),
        ('rules: {image: {required: true, message: "a\u202eb"}}',
         [(1, "rules.image.message", "must not contain the invisible character U+202E")]),
        ('rules: {imagePullPolicy: {options: [{value: Always, displayed: "a\u202eb"}]}}',
         [(1, "rules.imagePullPolicy.options.0.displayed",
           "must not contain the invisible character U+202E")]),
        ("rules: {image: {required: true, message: 5}}",
         [(1, "rules.image.message", "must be text")]),
        ("rules: {security: {hostIpc: {canEdit: true, overridable: true}}}",
         [(1, "rules.security.hostIpc.overridable", "is not allowed for this field")]),
        ("rules: {nodePools: {instances: {canAdd: false}}}",
         [(1, "rules.nodePools.instances", "is not known")]),
        ("rules: {nodePools: {options: [h100, {value: 5}, A1]}}",
         [(1, "rules.nodePools.options.1", "must be text"),
          (1, "rules.nodePools.options.2",
           "must be the name of a node pool: lowercase letters, digits and “-”, not A1")]),
        ("rules: {image: {max: 3}}", [(1, "rules.image.max", "does not apply to this field")]),
        ("rules: {image: {Required: true}}", [(1, "rules.image.Required", "is not known")]),
        ("rules: {compute: {cpuCoreRequest: {defaultFrom: {field: compute.cpuMemoryLimit}}}}",
         [(1, "rules.compute.cpuCoreRequest.defaultFrom.field",
           "must be compute.gpuDevicesRequest, compute.gpuPortionRequest, "
           "compute.gpuPortionLimit or compute.cpuCoreLimit, not compute.cpuMemoryLimit")]),
        ("rules: {compute: {cpuCoreRequest: {defaultFrom: {field: compute.cpuCoreLimit, "
         "factor: 0, of: 1}}}}",
         [(1, "rules.compute.cpuCoreRequest.defaultFrom.of", "is not known"),
          (1, "rules.compute.cpuCoreRequest.defaultFrom.factor",
           "must be a number above 0, not 0")]),
        ("rules: {numWorkers: {blocked: 1}}",
         [(1, "rules.numWorkers.blocked", "must be true or false, not 1")]),
        ("rules: {labels: {attributes: {size: {required: true}, value: {max: 3}}}}",
         [(1, "rules.labels.attributes.size", "is not known"),
          (1, "rules.labels.attributes.value.max", "does not apply to this field")]),
        ("rules: {labels: {canAdd: false}}", [(1, "rules.labels.canAdd", "is not known")]),
        ("rules: {labels: {instances: {canAdd: 1, locked: team}}}",
         [(1, "rules.labels.instances.canAdd", "must be true or false, not 1"),
          (1, "rules.labels.instances.locked", "must be a list of names")]),
        ("rules: {labels: {instances: {locked: [1]}}}",
         [(1, "rules.labels.instances.locked", "must be a list of names")]),
        ("rules: {image: {required: 'yes'}}",
         [(1, "rules.image.required", "must be true or false, not yes")]),
        ("rules: {image: {options: [], overridable: true}}",
         [(1, "rules.image.options", "must be a list with at least one value"),
          (1, "rules.image.overridable", "is not allowed for this field")]),
        ("rules: {image: {options: a}}",
         [(1, "rules.image.options", "must be a list with at least one value")]),
        ("rules:\n  image:\n    options:\n      - a\n      - a\n      - {displayed: A}\n"
         "      - {value: b c}\n      - {value: d, displayed: 1}\n      - {value: e, label: E}",
         [(5, "rules.image.options.1", "names a twice"),
          (6, "rules.image.options.2", "needs a value"),
          (7, "rules.image.options.3",
           "must be the reference of a container image, not b c"),
          (8, "rules.image.options.4.displayed", "must be text"),
          (9, "rules.image.options.5.label", "is not known")]),
        ("rules: {distributedFramework: {options: [Torch]}}",
         [(1, "rules.distributedFramework.options.0",
           "must be one of PyTorch, TF, XGBoost, MPI, JAX, MXNet or Script, not Torch")]),
        ("rules: {numWorkers: {min: '1', max: 2.5, step: true}}",
         [(1, "rules.numWorkers.min", "must be a whole number, not 1"),
          (1, "rules.numWorkers.max", "must be a whole number, not 2.5"),
          (1, "rules.numWorkers.step", "must be a whole number, not true")]),
        ("rules: {numWorkers: {min: 5, max: 4, step: 0}}",
         [(1, "rules.numWorkers.step", "must be more than 0"),
          (1, "rules.numWorkers.max", "must be at least the min, 5")]),
        ("rules: {compute: {gpuDevicesRequest: {min: 65}, cpuCoreLimit: {max: 0}}}",
         [(1, "rules.compute.gpuDevicesRequest.min",
           "leaves no value: the field takes a whole number from 0 to 64"),
          (1, "rules.compute.cpuCoreLimit.max",
           "leaves no value: the field takes a number from 0.001 to 1024")]),
        ("rules: {share: {max: 0.0}}",
         [(1, "rules.share.max", "leaves no value: the field takes a number above 0 to 1")]),
        ("rules: {compute: {cpuMemoryLimit: {min: 5, max: 100m}}}",
         [(1, "rules.compute.cpuMemoryLimit.min", "must be a size such as 512M or 16Gi, not 5"),
          (1, "rules.compute.cpuMemoryLimit.max",
           "must be a size such as 512M or 16Gi, not 100m")]),
        ("rules: {compute: {cpuMemoryLimit: {step: 5}}}",
         [(1, "rules.compute.cpuMemoryLimit.step", "does not apply to this field")]),
        ("defaults: {numWorkers: 0}",
         [(1, "defaults.numWorkers", "must be between 1 and 9999, not 0")]),
        ("defaults: {labels: [{name: a, value: b}]}",
         [(1, "defaults.labels", "must be an object")]),
        ("defaults: {labels: {instances: 5, attributes: {value: 7}}}",
         [(1, "defaults.labels.attributes.value", "must be text, not 7"),
          (1, "defaults.labels.instances", "must be a list, not 5")]),
        ("defaults:\n  labels:\n    instances:\n      - {name: a, value: b}\n"
         "      - {name: a, value: c}\n"
         "      - {name: runai/x, value: c, exclude: true}",
         [(5, "defaults.labels.instances.1.name", "is used twice"),
          (6, "defaults.labels.instances.2.exclude", "is not a known field")]),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, problems: list[tuple[int, str, str]]) -> None:
    assert sorted(refused(text)) == sorted(problems)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rules: {tty: {max: 3}}",
         "Line 1: rules.tty.max does not apply to this field. "
         "It takes required, canEdit or blocked."),
        ("rules: {numWorkers: {Step: 3}}",
         "Line 1: rules.numWorkers.Step is not known. Did you mean “step”?"),
        ("a: &x 1", "Line 1: anchors are not allowed. Remove “&x”."),
        ("rules: {master: {numWorkers: {max: 1}}}",
         "Line 1: rules.master.numWorkers has one value for the whole workload. "
         "Move it to worker."),
    ],
)  # fmt: skip
def test_a_problem_is_a_sentence_with_line_and_remedy(text: str, sentence: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        parse(text, SAMPLE)
    assert worded(caught.value.problems[0]) == sentence
    assert str(caught.value) == sentence


def test_a_problem_may_have_no_line() -> None:
    assert worded(Problem("", "rules.image", {"raw": "is wrong"})) == "rules.image is wrong."


def test_all_problems_come_in_the_order_of_the_lines() -> None:
    text = "rules:\n  image: {max: 1}\ndefaults:\n  numWorkers: 0\n  image: 5\nother: 1\n"
    assert [line for line, _, _ in refused(text)] == [2, 4, 5, 6]


def test_the_largest_document_is_judged_in_time() -> None:
    options = "".join(f"      - reg/image-{n:05}:1\n" for n in range(5_000))
    started = time.perf_counter()
    parse(
        f"rules:\n  worker:\n    image:\n      options:\n{options}".replace("      -", "        -")
    )
    assert time.perf_counter() - started < 5
