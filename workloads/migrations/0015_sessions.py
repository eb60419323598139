from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workloads', '0014_port_of_terminal'),
    ]

    operations = [
        migrations.AddField(
            model_name='workload',
            name='is_interactive',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='workload',
            name='session_seconds',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='workload',
            name='idle_seconds',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='workload',
            name='used_at',
            field=models.DateTimeField(null=True),
        ),
    ]
