"""What keeps a policy from being saved under the policies above it (R22)."""

import pytest
import yaml

from gangline.policies.parser import parse
from gangline.policies.validation import check_document
from gangline.policies.wording import line_of
from tests.policies.sample_models import SAMPLE, layered


def saved(text: str, *above: str) -> list[tuple[int, str, str]]:
    """Line, path and message of everything that is wrong with ``text`` below ``above``."""
    layers = layered(*(parse(other, SAMPLE) for other in above))
    found = check_document(parse(text, SAMPLE), layers, SAMPLE)
    return [(line_of(p), p.path, p.message) for p in found if p.severity == "error"]


FIXED = "defaults: {worker: {numWorkers: 2}}\nrules: {worker: {numWorkers: {canEdit: false}}}"
LOCKED = (
    "defaults: {worker: {labels: {instances: [{name: team, value: x}]}}}\n"
    "rules: {worker: {labels: {instances: {locked: [team]}}}}"
)
CLOSED = "rules: {worker: {labels: {instances: {canAdd: false}}}}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "defaults: {worker: {numWorkers: 4}}",
        "rules: {worker: {numWorkers: {min: 2, max: 8, step: 2, required: true}}}",
        "defaults: {image: a}\nrules: {image: {canEdit: false, required: true}}",
        "rules: {worker: {pause: {min: 4, max: 6, step: 7}, tty: {canEdit: false}}}",
        FIXED,
        LOCKED,
        CLOSED,
    ],
)
def test_a_sound_policy_can_be_saved(text: str) -> None:
    assert saved(text or "{}") == []


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        (
            "rules: {numWorkers: {min: 2, max: 4}}\ndefaults:\n  numWorkers: 5",
            3,
            "defaults.worker.numWorkers",
            "must be between 2 and 4 (set by this policy)",
        ),
        (
            "rules:\n  worker: {image: {options: [a]}}\ndefaults:\n  worker: {image: b}",
            4,
            "defaults.worker.image",
            "must be one of a (set by this policy)",
        ),
        (
            "rules:\n  worker: {labels: {instances: {locked: [team]}}}",
            2,
            "rules.worker.labels",
            "locks team, which is not one of the default items",
        ),
        (
            "rules:\n  worker: {image: {canEdit: false, required: true}}",
            2,
            "rules.worker.image",
            "must have a value, but canEdit is false and there is no default",
        ),
    ],
)
def test_a_policy_must_agree_with_itself(text: str, line: int, path: str, message: str) -> None:
    assert saved(text) == [(line, path, message)]


@pytest.mark.parametrize(
    ("above", "text", "line", "message"),
    [
        (
            FIXED,
            "defaults:\n  worker:\n    numWorkers: 3",
            3,
            "is fixed by the whole installation, so a default here has no effect",
        ),
        (
            LOCKED,
            "defaults: {worker: {labels: {instances: [\n{name: a, value: x},\n"
            "{name: team, value: y}]}}}",
            3,
            "has team, which is locked by the whole installation, so it has no effect here",
        ),
        (
            CLOSED,
            "defaults: {worker: {labels: {instances: [{name: a, value: x}]}}}",
            1,
            "has a, but nothing can be added (set by the whole installation)",
        ),
        (
            "rules: {worker: {numWorkers: {max: 3}}}",
            "defaults: {worker: {numWorkers: 5}}",
            1,
            "must be at most 3 (set by the whole installation)",
        ),
        (
            "rules: {worker: {numWorkers: {min: 4}}}",
            "rules: {worker: {numWorkers: {max: 2}}}",
            1,
            "can have no value: the whole installation requires at least 4,"
            " this policy for at most 2",
        ),
        (
            "rules: {worker: {image: {options: [a]}}}",
            "rules: {worker: {image: {options: [b]}}}",
            1,
            "can have no value: the whole installation and this policy allow no value in common",
        ),
        (
            "rules: {worker: {numWorkers: {max: 8}}}",
            "rules:\n  worker:\n    numWorkers:\n      required: true\n      max: 16",
            5,
            "16 has no effect: the whole installation allows 8",
        ),
        (
            "rules: {worker: {numWorkers: {min: 2}}}",
            "rules: {worker: {numWorkers: {min: 1}}}",
            1,
            "1 has no effect: the whole installation requires 2",
        ),
        (
            "rules: {worker: {compute: {cpuMemoryLimit: {max: 16G}}}}",
            "rules: {worker: {compute: {cpuMemoryLimit: {max: 15Gi}}}}",
            1,
            "15Gi has no effect: the whole installation allows 16G",
        ),
        (
            "rules: {worker: {image: {options: [a, b]}}}",
            "rules: {worker: {image: {options: [b, c]}}}",
            1,
            "allows c, which the whole installation does not",
        ),
        (
            FIXED,
            "rules: {worker: {numWorkers: {canEdit: true}}}",
            1,
            "canEdit: true has no effect: the whole installation has the opposite",
        ),
        (
            CLOSED,
            "rules: {worker: {labels: {instances: {canAdd: true}}}}",
            1,
            "canAdd: true has no effect: the whole installation has the opposite",
        ),
        (
            "rules: {worker: {image: {required: true}}}",
            "rules: {worker: {image: {required: false}}}",
            1,
            "required: false has no effect: the whole installation has the opposite",
        ),
    ],
)
def test_what_the_policies_above_forbid(above: str, text: str, line: int, message: str) -> None:
    assert [(n, m) for n, _, m in saved(text, above)] == [(line, message)]


@pytest.mark.parametrize(
    ("above", "text"),
    [
        ("rules: {worker: {numWorkers: {max: 8}}}", "rules: {worker: {numWorkers: {max: 8}}}"),
        ("rules: {worker: {numWorkers: {max: 8}}}", "rules: {worker: {numWorkers: {max: 4}}}"),
        ("rules: {worker: {image: {options: [a, b]}}}", "rules: {worker: {image: {options: [b]}}}"),
        (FIXED, "rules: {worker: {numWorkers: {canEdit: false}}}"),
        (LOCKED, "rules: {worker: {labels: {instances: {locked: [team]}}}}"),
        (
            "rules: {worker: {numWorkers: {max: 8, overridable: true}}}",
            "rules: {worker: {numWorkers: {max: 16}}}\ndefaults: {worker: {numWorkers: 12}}",
        ),
        (
            FIXED.replace("false", "false, overridable: true"),
            "rules: {worker: {numWorkers: {canEdit: true}}}\ndefaults: {worker: {numWorkers: 12}}",
        ),
        (
            CLOSED.replace("false", "false, overridable: true"),
            "rules: {worker: {labels: {instances: {canAdd: true}}}}\n"
            "defaults: {worker: {labels: {instances: [{name: a, value: x}]}}}",
        ),
    ],
)
def test_what_the_policies_above_leave_open(above: str, text: str) -> None:
    assert saved(text, above) == []


def test_a_contradiction_above_is_not_blamed_on_what_is_saved_below() -> None:
    above = ("rules: {worker: {numWorkers: {min: 4}}}", "rules: {worker: {numWorkers: {max: 2}}}")
    assert saved("defaults: {worker: {numWorkers: 3}}", *above) == []
    assert saved("rules: {worker: {numWorkers: {required: true}}}", *above) == []


def test_a_flat_policy_is_told_each_thing_once() -> None:
    text = yaml.safe_dump({"defaults": {"image": "b"}, "rules": {"image": {"options": ["a"]}}})
    assert [m for _, _, m in saved(text)] == ["must be one of a (set by this policy)"]


def test_problems_come_in_the_order_of_the_lines() -> None:
    text = (
        "defaults:\n  worker:\n    numWorkers: 9\n    backoffLimit: 9\n"
        "rules:\n  worker:\n    numWorkers: {max: 4}\n    backoffLimit: {max: 4}\n"
    )
    assert [line for line, _, _ in saved(text)] == [3, 4]
