from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("clusters", "0006_label_keys")]

    operations = [migrations.RenameField("cluster", "rests_until", "backoff_until")]
