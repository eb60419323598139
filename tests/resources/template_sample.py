"""What the contract writes of templates."""

from typing import Any

from gangline.resources.services import make

TEMPLATE: dict[str, Any] = {
    "make": lambda world, name: make(
        "template",
        scope=world.department.scope,
        name=name,
        framework="PyTorch",
        configuration="workersAndMaster",
        values={"worker.image": "one:1"},
    ),
    "form": lambda world, name: {
        "scope": world.department.scope_id,
        "name": name,
        "framework": "PyTorch",
        "configuration": "workersAndMaster",
        "worker.image": "one:1",
    },
    "body": lambda world, name: {
        "meta": {
            "name": name,
            "scopeType": "department",
            "scopeId": str(world.department.pk),
        },
        "spec": {"distributedFramework": "PyTorch", "image": "one:1"},
    },
    "edit": {"worker.image": "two:2"},
    "body_edit": {"spec": {"distributedFramework": "PyTorch", "image": "two:2"}},
    "bad": (
        ("name", ""),
        ("worker.image", "a b"),
        ("scope", "x"),
        ("framework", "Caffe"),
        ("worker.environment", "x"),
    ),
    "bad_body": (
        ("meta", {"name": 7}),
        ("meta", {"name": "a", "scopeType": "moon"}),
        ("spec", {"distributedFramework": "Caffe"}),
        ("spec", {"image": 7}),
        ("spec", {"imag": "one:1"}),
        ("assets", {"environment": "x"}),
        ("modes", {"spec.image": "maybe"}),
        ("modes", {"image": "fixed"}),
        ("master", 7),
        ("masterSpecSameAsWorker", "yes"),
    ),
    "left_out": {"in_use": "workloads keep what they were made with"},
}
