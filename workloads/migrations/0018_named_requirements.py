import re
from typing import Any

from django.db import migrations

PATHS = ("worker.nodeAffinityRequired", "master.nodeAffinityRequired")


def name(stored: dict[str, Any]) -> None:
    """Requirements of nodes as the spec has them since: each with a name from its label."""
    names = [re.sub(r"[^-._A-Za-z0-9]", "-", one["key"])[:60] for one in stored["value"] or ()]
    for one, called in zip(stored["value"] or (), names, strict=True):
        one.setdefault("name", called)
    for source, called in zip(stored.get("items", ()), names, strict=False):
        source["key"] = called


def forwards(apps: Any, schema_editor: Any) -> None:
    for model, field in (("workload", "given"), ("attempt", "effective")):
        rows = apps.get_model("workloads", model)._default_manager
        for path in PATHS:
            for row in rows.filter(**{f"{field}__has_key": path}).iterator():
                name(getattr(row, field)[path])
                row.save(update_fields=[field])


class Migration(migrations.Migration):
    dependencies = [("workloads", "0017_priority_of_clusters")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
