import re
from typing import Any

from django.db import migrations

PATHS = ("worker.nodeAffinityRequired", "master.nodeAffinityRequired")


def forwards(apps: Any, schema_editor: Any) -> None:
    """Requirements of nodes as the spec has them since: each with a name from its label."""
    rows = apps.get_model("assets", "template")._default_manager
    for path in PATHS:
        for row in rows.filter(values__has_key=path).iterator():
            for one in row.values[path] or ():
                one.setdefault("name", re.sub(r"[^-._A-Za-z0-9]", "-", one["key"])[:60])
            row.save(update_fields=["values"])


class Migration(migrations.Migration):
    dependencies = [("assets", "0008_existing_secrets")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
