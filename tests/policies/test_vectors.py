"""The test vectors and worked examples of the policy language."""

from typing import Any

import pytest

from gangline.policies.rules import Sourced
from gangline.spec.problems import Role
from gangline.spec.sources import Source, SourceKind
from tests.policies.sample_models import document, messages, policy, say

UID = document(
    defaults={"worker": {"runAsUid": 500}}, rules={"worker": {"runAsUid": {"canEdit": False}}}
)
DEVICES = document(
    defaults={
        "worker": {
            "extendedResources": {
                "instances": [
                    {"resource": "a", "quantity": "5"},
                    {"resource": "b", "quantity": "4M"},
                ]
            }
        }
    },
    rules={"worker": {"extendedResources": {"instances": {"locked": ["a"]}}}},
)
QUANTITIES = document(
    defaults={"worker": {"extendedResources": {"attributes": {"quantity": "3"}}}},
    rules={"worker": {"extendedResources": {"attributes": {"quantity": {"required": True}}}}},
)


def test_t1_a_fixed_value_cannot_be_changed() -> None:
    resolution = say(policy(UID), worker__runAsUid=501)
    assert messages(resolution) == [
        ("worker.runAsUid", "cannot be changed; it is fixed to 500", "the whole installation")
    ]
    assert resolution.values(Role.WORKER)["runAsUid"] == 500


@pytest.mark.parametrize("said", [{"worker__runAsUid": 500}, {}])
def test_t2_a_fixed_value_may_be_repeated_or_left_out(said: dict[str, Any]) -> None:
    resolution = say(policy(UID), **said)
    assert resolution.problems == []
    assert resolution.effective["worker.runAsUid"].value == 500
    assert resolution.effective["worker.runAsUid"].source == Source(
        SourceKind.FIXED, name="the whole installation"
    )


def test_t3_items_are_added_removed_and_changed() -> None:
    said = [
        {"resource": "b", "exclude": True},
        {"resource": "c"},
        {"resource": "d", "quantity": "5M"},
    ]
    resolution = say(policy(DEVICES, QUANTITIES), worker__extendedResources=said)
    assert resolution.problems == []
    assert resolution.values("worker")["extendedResources"] == [
        {"resource": "a", "quantity": "5"},
        {"resource": "c", "quantity": "3"},
        {"resource": "d", "quantity": "5M"},
    ]


def test_t4_a_locked_item_cannot_be_removed() -> None:
    said = [{"resource": "a", "exclude": True}]
    resolution = say(policy(DEVICES), worker__extendedResources=said)
    assert messages(resolution) == [
        ("worker.extendedResources.0", "is locked and cannot be removed", "the whole installation")
    ]
    assert resolution.problems[0].key == "a"
    assert len(resolution.values("worker")["extendedResources"]) == 2


def test_t5_values_stand_on_the_steps() -> None:
    rules = document(
        rules={"worker": {"compute": {"cpuCoreRequest": {"min": 1, "max": 7, "step": 2}}}}
    )
    four = say(policy(rules), **{"worker.compute.cpuCoreRequest": 4})
    assert messages(four) == [
        ("worker.compute.cpuCoreRequest", "must be 1, 3, 5 or 7", "the whole installation")
    ]
    for good in (1, 3, 5.0, 7):
        assert say(policy(rules), **{"worker.compute.cpuCoreRequest": good}).problems == []


@pytest.mark.parametrize("size", ["17G", "15Gi"])
def test_t6_sizes_are_compared_in_bytes(size: str) -> None:
    rules = document(rules={"worker": {"compute": {"cpuMemoryRequest": {"max": "16G"}}}})
    resolution = say(policy(rules), **{"worker.compute.cpuMemoryRequest": size})
    assert messages(resolution) == [
        ("worker.compute.cpuMemoryRequest", "must be at most 16 GB", "the whole installation")
    ]
    assert resolution.problems[0].accepted == "a size such as 512M or 16Gi from 1M to 16G"


def test_t7_only_options_are_allowed() -> None:
    rules = document(
        rules={
            "worker": {"image": {"options": [{"value": "reg/a:1", "displayed": "A"}, "reg/b:1"]}}
        }
    )
    resolution = say(policy(rules), worker__image="reg/c:1")
    assert messages(resolution) == [
        ("worker.image", "must be one of reg/a:1 or reg/b:1", "the whole installation")
    ]
    assert say(policy(rules), worker__image="reg/b:1").problems == []


def test_t8_nothing_can_be_added() -> None:
    rules = document(
        defaults={"worker": {"labels": {"instances": [{"name": "team", "value": "x"}]}}},
        rules={"worker": {"labels": {"instances": {"canAdd": False}}}},
    )
    said = [{"name": "team", "value": "y"}, {"name": "mine", "value": "z"}]
    resolution = say(policy(rules), worker__labels=said)
    assert messages(resolution) == [
        ("worker.labels.1", "cannot be added", "the whole installation")
    ]
    assert resolution.problems[0].label == "Label mine"
    assert resolution.values("worker")["labels"][0] == {"name": "team", "value": "y"}


def test_t9_a_required_value_must_be_there() -> None:
    rules = document(rules={"worker": {"image": {"required": True}}})
    assert messages(say(policy(rules))) == [
        ("worker.image", "is required", "the whole installation")
    ]


def test_t10_the_master_is_judged_by_its_own_rules() -> None:
    rules = document(rules={"master": {"compute": {"gpuDevicesRequest": {"max": 1}}}})
    resolution = say(policy(rules), **{"worker.compute.gpuDevicesRequest": 4})
    assert messages(resolution) == [
        ("master.compute.gpuDevicesRequest", "must be at most 1", "the whole installation")
    ]
    assert resolution.master_forced == resolution.problems


def test_e1_sizes_are_capped_and_defaults_given_per_role() -> None:
    rules = document(
        defaults={
            "worker": {
                "numWorkers": 2,
                "compute": {"gpuDevicesRequest": 1, "cpuMemoryRequest": "16G"},
            },
            "master": {"compute": {"gpuDevicesRequest": 0, "cpuMemoryRequest": "4G"}},
        },
        rules={
            "worker": {
                "numWorkers": {"min": 1, "max": 16},
                "compute": {"gpuDevicesRequest": {"max": 8}},
            },
            "master": {"compute": {"gpuDevicesRequest": {"max": 1}}},
        },
    )
    resolution = say(policy(rules), worker__numWorkers=20)
    assert messages(resolution) == [
        ("worker.numWorkers", "must be between 1 and 16", "the whole installation")
    ]
    assert resolution.values("worker")["compute.gpuDevicesRequest"] == 1
    differing = say(policy(rules), sent={"master": "differences"})
    assert differing.values("master")["compute.gpuDevicesRequest"] == 0
    assert differing.values("master")["compute.cpuMemoryRequest"] == "4G"
    same = say(policy(rules), **{"worker.compute.gpuDevicesRequest": 4})
    assert [p.field_id for p in same.master_forced] == ["master.compute.gpuDevicesRequest"]


def test_e2_a_default_variable_is_removable_unless_locked() -> None:
    rules = document(
        defaults={
            "worker": {
                "environmentVariables": {
                    "instances": [
                        {"name": "HTTP_PROXY", "value": "http://proxy:3128"},
                        {"name": "WANDB_MODE", "value": "offline"},
                    ]
                }
            }
        },
        rules={"worker": {"environmentVariables": {"instances": {"locked": ["HTTP_PROXY"]}}}},
    )
    said = [{"name": "WANDB_MODE", "exclude": True}, {"name": "SEED", "value": "1"}]
    resolution = say(policy(rules), worker__environmentVariables=said)
    names = [item["name"] for item in resolution.values("worker")["environmentVariables"]]
    assert (names, resolution.problems) == (["HTTP_PROXY", "SEED"], [])
    removed = say(
        policy(rules), worker__environmentVariables=[{"name": "HTTP_PROXY", "exclude": True}]
    )
    assert removed.problems[0].sentence.startswith(
        "Environment variable HTTP_PROXY is locked and cannot be removed"
        " (set by the whole installation)."
    )


def test_e3_only_approved_images_with_readable_labels() -> None:
    options = [
        {"value": "reg/ddp:1.4", "displayed": "DDP 1.4"},
        {"value": "reg/ddp:1.5", "displayed": "DDP 1.5"},
    ]
    rules = document(rules={"worker": {"image": {"required": True, "options": options}}})
    rule = policy(rules).rule(Role.WORKER, "image")
    assert rule.options is not None
    assert [option.label for option in rule.options.value] == ["DDP 1.4", "DDP 1.5"]
    assert rule.required == Sourced(True, "the whole installation")


def test_e4_attributes_have_rules_of_their_own() -> None:
    names = ["A", "B"]
    rules = document(
        rules={"worker": {"labels": {"attributes": {"value": {"options": names}}}}},
    )
    said = [{"name": "team", "value": "A"}, {"name": "stage", "value": "C"}]
    resolution = say(policy(rules), worker__labels=said)
    assert messages(resolution) == [
        ("worker.labels.1.value", "must be one of A or B", "the whole installation")
    ]
    assert resolution.problems[0].label == "Value of label stage"
    same = say(policy(document(rules={"master": {"labels": {"attributes": {
        "value": {"options": names}}}}})), worker__labels=said)  # fmt: skip
    assert [p.field_id for p in same.master_forced] == ["master.labels.1.value"]


def test_an_attribute_may_be_fixed_for_every_item() -> None:
    rules = document(
        defaults={"worker": {"labels": {"attributes": {"value": "A"}}}},
        rules={"worker": {"labels": {"attributes": {"value": {"canEdit": False}}}}},
    )
    said = [{"name": "one"}, {"name": "two", "value": "B"}]
    resolution = say(policy(rules), worker__labels=said)
    assert resolution.values("worker")["labels"][0] == {"name": "one", "value": "A"}
    assert [(p.field_id, p.rule) for p in resolution.problems] == [
        ("worker.labels.1.value", "canEdit")
    ]


def test_a_list_may_be_required_and_a_field_blocked() -> None:
    rules = document(
        defaults={"worker": {"backoffLimit": 3}},
        rules={
            "worker": {
                "labels": {"instances": {"required": True}},
                "backoffLimit": {"blocked": True},
            }
        },
    )
    resolution = say(policy(rules), worker__backoffLimit=2)
    assert [(p.field_id, p.rule) for p in resolution.problems] == [
        ("worker.backoffLimit", "blocked"),
        ("worker.labels", "required"),
    ]
    assert "backoffLimit" not in say(policy(rules)).values("worker")


def test_e5_a_default_follows_from_another_field() -> None:
    rules = document(
        defaults={"worker": {"compute": {"cpuCoreLimit": 16}}},
        rules={
            "worker": {
                "compute": {
                    "cpuCoreRequest": {
                        "defaultFrom": {"field": "compute.cpuCoreLimit", "factor": 0.5},
                        "min": 1,
                    },
                    "cpuMemoryRequest": {"defaultFrom": {"field": "compute.cpuMemoryLimit"}},
                }
            }
        },
    )

    def cores(**said: Any) -> Any:
        return say(policy(rules), **said).values("worker")["compute.cpuCoreRequest"]

    assert (cores(), cores(**{"worker.compute.cpuCoreLimit": 8})) == (8, 4)
    assert cores(**{"worker.compute.cpuCoreLimit": 1}) == 1
    assert cores(**{"worker.compute.cpuCoreLimit": 8, "worker.compute.cpuCoreRequest": 6}) == 6
    memory = say(policy(rules), **{"worker.compute.cpuMemoryLimit": "8G"})
    assert memory.values("worker")["compute.cpuMemoryRequest"] == "8000M"


def test_e6_every_scope_holds_and_each_kind_names_its_own() -> None:
    cluster = document(
        rules={
            "worker": {"compute": {"gpuDevicesRequest": {"max": 8}}, "backoffLimit": {"max": 20}}
        }
    )
    department = document(
        rules={
            "worker": {
                "compute": {"gpuDevicesRequest": {"max": 4}},
                "backoffLimit": {"max": 10, "required": True},
            }
        }
    )
    merged = policy(document(), cluster, department).worker
    assert merged["compute.gpuDevicesRequest"].maximum == Sourced(4, "department vision")
    assert merged["backoffLimit"].maximum == Sourced(10, "department vision")
    assert merged["backoffLimit"].required == Sourced(True, "department vision")
    turned = policy(document(), department, cluster).worker
    assert turned["compute.gpuDevicesRequest"].maximum == Sourced(4, "cluster c1")
