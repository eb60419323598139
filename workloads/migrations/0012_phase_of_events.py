"""The phase of an event stands by itself, and stored problems keep their code and parameters."""

from typing import Any

from django.db import migrations, models


def split(apps: Any, schema_editor: Any) -> None:
    """Until now the phase stood in front of the message: "Failed: …" or "Running. …"."""
    rows = apps.get_model("workloads", "Event").objects.filter(kind="PhaseChanged", phase="")
    for event in rows.only("message").iterator():
        ends = [at for at in map(event.message.find, (":", ".")) if at > 0]
        if ends:
            end = min(ends)
            event.phase, event.message = event.message[:end][:40], event.message[end + 1 :].strip()
            event.save(update_fields=["phase", "message"])


def keep_codes(apps: Any, schema_editor: Any) -> None:
    """A sentence of then stays as it is: it has no parameters."""
    attempts = apps.get_model("workloads", "Attempt").objects.exclude(refusal=[])
    for attempt in attempts.only("refusal").iterator():
        attempt.refusal = [_problem(one) for one in attempt.refusal]
        attempt.save(update_fields=["refusal"])
    # What a cluster said to a draft can be asked again.
    apps.get_model("workloads", "Draft").objects.exclude(rehearsal={}).update(rehearsal={})


def _problem(old: dict[str, Any]) -> dict[str, Any]:
    names = ("value", "accepted", "key", "label", "hint")
    params = {name: old[name] for name in names if old.get(name) not in (None, "")}
    return {
        "code": old["rule"],
        "path": old["path"],
        "params": params | {"raw": old["message"]},
        "severity": "error",
        "source": old["source"],
        "role": old["role"],
    }


class Migration(migrations.Migration):
    dependencies = [("workloads", "0011_deleted_list")]

    operations = [
        migrations.AddField("event", "phase", models.CharField(blank=True, max_length=40)),
        migrations.RunPython(split, migrations.RunPython.noop),
        migrations.RunPython(keep_codes, migrations.RunPython.noop),
    ]
