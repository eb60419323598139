"""Fill a database with workloads, fast: some are really submitted, the rest are rows like them."""

import itertools
import random
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models, transaction

from bench import rules
from bench.organisation import ADMINISTRATOR, Organisation
from gangline.access.actor import Actor
from gangline.db.clock import db_now
from workloads.models import Attempt, Event, Replica, ScopeSeq, Workload, sortable_duration
from workloads.services import bodies, submission
from workloads.statuses import ENDED

STATUSES = (
    ("Completed", 70), ("Failed", 10), ("Stopped", 8), ("Running", 6), ("Pending", 4),
    ("Initializing", 1), ("Cannot start", 1),
)  # fmt: skip
REASONS = {
    "Failed": "worker-2 failed first: exit code 1.",
    "Stopped": "Stopped by person-07.",
    "Pending": "Waits for 4 of 8 GPUs in project-03.",
    "Cannot start": "It asks for 128 GPUs, and the cluster has 64 in total.",
    "Initializing": "2 of 5 pods are ready.",
}
WORDS = ("digits", "resnet50", "bert-large", "llama", "tabular", "speech", "ranker", "diffusion")
SPACING = timedelta(minutes=7)
BATCH = 5_000
REPLICA, EVENT = Replica(), Event()


def fill(world: Organisation, count: int) -> None:
    """Write ``count`` workloads with attempts, replicas and events; numbers differ by size only."""
    samples = [_sample(world, number) for number in range(3)]
    rng = random.Random(7)
    newest = db_now()
    words = rng.choices([w for w, _ in STATUSES], weights=[n for _, n in STATUSES], k=count)
    numbers = [_last(model) for model in (Attempt, Replica, Event)]
    counters = [itertools.count(number + 1) for number in numbers]
    for start in range(0, count, BATCH):
        writer = _Writer()
        for number in range(start, min(start + BATCH, count)):
            created = newest - SPACING * (count - number)
            sample = samples[number % len(samples)]
            _write(writer, world, sample, number, words[number], created, counters, rng)
        writer.flush()
    _finish(world)


def _sample(world: Organisation, number: int) -> tuple[Workload, Attempt]:
    """One that is really submitted, with everything that submission stores."""
    user = world.by_name[ADMINISTRATOR]
    body = rules.usual_body(f"sample-{number}", world.projects[number].pk, str(world.cluster.pk))
    body["spec"]["numWorkers"] = (2, 4, 12)[number]
    asked = bodies.read(user, body)
    done = submission.submit(actor=Actor(user=user, channel="api"), request=asked)
    return done.workload, Attempt.objects.get(workload=done.workload)


def _write(
    writer: "_Writer",
    world: Organisation,
    sample: tuple[Workload, Attempt],
    number: int,
    status: str,
    created: datetime,
    counters: Sequence[Iterator[int]],
    rng: random.Random,
) -> None:
    first, attempt = sample
    # The last project is small and its workloads are old: the hard case for a list by date.
    is_rare = number < 2_000 and number % 40 == 0
    project = world.projects[-1] if is_rare else rng.choice(world.projects[:-1])
    owner = rng.choice(world.people)
    is_over, runs = status in ENDED, status in ("Running", "Completed", "Failed", "Stopped")
    started = created + timedelta(seconds=rng.randint(1, 90)) if runs else None
    ended = started + timedelta(seconds=rng.randint(60, 80_000)) if started and is_over else None
    ran = (ended - started).total_seconds() if ended and started else None
    gpus = rng.choice((0, 0, 1, 2, 4, 8, 8, 16))
    key, attempt_id = uuid.UUID(int=rng.getrandbits(128), version=4), next(counters[0])
    phase = "Pending" if status == "Cannot start" else status
    name = f"{rng.choice(WORDS)}-{number:06}"
    writer.add(
        first, id=key, name=name, project_id=project.pk,
        search_text=f"{name} {project.name} {owner.username} {first.image}",
        ran_seconds=sortable_duration(ran, None if is_over else started),
        project_name=project.name, owner_id=owner.pk, owner_name=owner.username, gpus=gpus,
        framework=rng.choice(("PyTorch", "XGBoost", "MPI", "TF", "JAX")), phase=phase,
        status=status, reason=REASONS.get(status, ""), cannot_start=status == "Cannot start",
        pods_ready=first.pods_total if status == "Running" else 0,
        gpus_in_use=gpus if status == "Running" else 0, created_at=created,
        phase_since=ended or started or created, observed_at=ended or created, started_at=started,
        ended_at=ended, seq=number + 1, due_at=None,
    )  # fmt: skip
    outcome = {"Completed": "Succeeded", "Failed": "Failed", "Stopped": "Stopped"}.get(status, "")
    writer.add(
        attempt, id=attempt_id, workload_id=key, create_state="gone" if is_over else "seen",
        observed_state="Absent" if is_over else "Running", started_at=started, ended_at=ended,
        outcome=outcome, created_at=created,
    )  # fmt: skip
    if runs:
        state = {"Completed": "Succeeded", "Running": "Running"}.get(status, "Failed")
        for rank in range(first.pods_total):
            role, index = ("master", 0) if rank == 0 else ("worker", rank - 1)
            writer.add(
                REPLICA, id=next(counters[1]), attempt_id=attempt_id, role=role, index=index,
                rank=rank, state=state, node="node-01", started_at=started, ended_at=ended,
            )  # fmt: skip
    for kind, at in (("Submitted", created), ("PhaseChanged", ended or started)):
        if at:
            writer.add(
                EVENT, id=next(counters[2]), workload_id=key, at=at, last_at=at, kind=kind,
                message=f"{status}: {REASONS.get(status, '')}", source_key=kind,
            )  # fmt: skip


class _Writer:
    """Rows of any model, written by COPY or executemany instead of one object at a time."""

    def __init__(self) -> None:
        self._rows: dict[type[models.Model], list[list[Any]]] = {}
        self._ready: dict[int, tuple[list[Any], dict[str, tuple[int, Any]]]] = {}

    def add(self, like: models.Model, **values: Any) -> None:
        """A row like ``like`` with these columns changed."""
        if id(like) not in self._ready:
            fields = like._meta.concrete_fields
            self._ready[id(like)] = (
                [f.get_db_prep_save(getattr(like, f.attname), connection) for f in fields],
                {f.attname: (place, f) for place, f in enumerate(fields)},
            )
        template, places = self._ready[id(like)]
        row = list(template)
        for name, value in values.items():
            place, field = places[name]
            row[place] = field.get_db_prep_save(value, connection)
        self._rows.setdefault(type(like), []).append(row)

    def flush(self) -> None:
        with transaction.atomic():
            for model, rows in self._rows.items():
                _insert(model, rows)
        self._rows.clear()


def _insert(model: type[models.Model], rows: list[list[Any]]) -> None:
    quote = connection.ops.quote_name
    columns = ", ".join(quote(f.column) for f in model._meta.concrete_fields if f.column)
    table = quote(model._meta.db_table)
    connection.ensure_connection()
    if connection.vendor == "postgresql":
        with connection.connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    marks = ", ".join("?" for _ in rows[0])
    connection.connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)


def _last(model: type[models.Model]) -> int:
    found: int | None = model._default_manager.aggregate(last=models.Max("pk"))["last"]
    return found or 0


def _finish(world: Organisation) -> None:
    """Counters of the projects, sequences and, as autovacuum does, PostgreSQL's statistics."""
    for project in world.projects:
        head = project.workloads.aggregate(head=models.Max("seq"))["head"] or 0
        ScopeSeq.objects.update_or_create(project=project, defaults={"seq": head})
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for model in (Attempt, Replica, Event):
                table = model._meta.db_table
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
                )
            cursor.execute("VACUUM ANALYZE")
