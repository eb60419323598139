from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("workloads", "0015_sessions")]

    operations = [
        migrations.RenameField("attempt", "is_moved", "is_preempted"),
        migrations.RenameField("draft", "rehearsal", "last_dry_run"),
    ]
