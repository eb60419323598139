"""What the style guide shows: every status, gangs of all sizes, long names, problems."""

import re
from dataclasses import dataclass, field

from gangline.lib.paths import RESOURCES


@dataclass(frozen=True, slots=True)
class SampleStatus:
    """A status as the table draws it."""

    word: str
    tone: str
    shape: str


@dataclass(frozen=True, slots=True)
class SampleStep:
    """A step of the form."""

    word: str
    value: str
    is_current: bool = False
    is_done: bool = False
    problems: int = 0
    sections: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SampleProblem:
    """A line of the error summary."""

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A row of the table and the state it is in."""

    name: str
    framework: str
    status: SampleStatus
    reason: str
    ready: int
    total: int
    gpus: str
    created: str
    owner: str
    duration: str
    state: str = ""
    extra: dict[str, str] = field(default_factory=dict)


_RUNNING = SampleStatus("Running", "good", "running")
_PENDING = SampleStatus("Pending", "warn", "pending")
_DEGRADED = SampleStatus("Degraded", "warn", "degraded")
_FAILED = SampleStatus("Failed", "bad", "failed")
_COMPLETED = SampleStatus("Completed", "neutral", "completed")
_STOPPED = SampleStatus("Stopped", "neutral", "suspended")

STATUSES = (
    (SampleStatus("Creating", "info", "creating"), "Objects are being created on this machine"),
    (_PENDING, "Waiting for 16 GPUs; 5 free on 2 nodes"),
    (SampleStatus("Cannot start", "bad", "cannot"), "Needs 16 GPUs on one node; the largest has 8"),
    (SampleStatus("Preempted", "warn", "preempted"), "Gave way to bert-large; queued again"),
    (SampleStatus("Initializing", "info", "initializing"), "2 of 5 processes started"),
    (_RUNNING, "All 5 pods ready"),
    (_DEGRADED, "1 of 4 workers restarting (exit 137, out of memory)"),
    (SampleStatus("Stopping", "neutral", "stopping"), "Grace period of 30 s"),
    (_STOPPED, "By researcher; resources released"),
    (SampleStatus("Resuming", "info", "resuming"), "Requested by researcher"),
    (SampleStatus("Deleting", "neutral", "deleting"), "Being removed from this machine"),
    (_FAILED, "worker-2 first: exit code 1"),
    (_COMPLETED, "Finished in 6 min 12 s"),
    (SampleStatus("Unknown", "neutral", "unknown"), "Not observed yet"),
)

GANGS = (
    (_RUNNING, 5, 5, True),
    (_DEGRADED, 4, 5, True),
    (_PENDING, 0, 9, True),
    (_FAILED, 0, 4, False),
    (_COMPLETED, 3, 3, True),
    (_RUNNING, 1, 1, False),
    (_RUNNING, 64, 64, True),
    (_DEGRADED, 57, 64, False),
)

LONG = "averylongworkloadnamewithoutanyhyphenatallinitxyz01"

ROWS = (
    SampleRow(
        "digits-ddp", "PyTorch · Workers & master", _RUNNING, "All 5 pods ready",
        5, 5, "4", "12:03", "researcher", "24 min", "data-changed",
    ),
    SampleRow(
        LONG, "XGBoost · Workers & master", _DEGRADED,
        "1 of 4 workers restarting (exit 137, out of memory), the third time in ten minutes",
        4, 5, "0/16", "11:20", "researcher-with-a-long-name", "1 h 07 min",
    ),
    SampleRow(
        "bert-large-sweep-7", "PyTorch · Workers & master", _PENDING,
        "Waiting for 16 GPUs; 5 free on 2 nodes", 0, 9, "0/16", "11:58", "nightly", "–", "checked",
    ),
    SampleRow(
        "llama-ft-0412", "PyTorch · Workers only", _RUNNING, "All 64 pods ready",
        64, 64, "64", "yesterday", "researcher", "19 h 40 min",
    ),
    SampleRow(
        "wide-deep-3", "TensorFlow · Workers & master", _STOPPED,
        "By researcher; resources released", 0, 4, "–", "09:41", "researcher", "3 min", "left",
    ),
    SampleRow(
        "ctr-xgb-daily", "XGBoost · Workers & master", _COMPLETED, "Finished in 6 min 12 s",
        3, 3, "–", "06:00", "nightly", "6 min", "gone",
    ),
)  # fmt: skip

STEPS = (
    SampleStep("Set-up", "setup", is_done=True),
    SampleStep(
        "Workers", "workers", is_current=True,
        sections=(
            ("Environment", "#environment", "python 3.11"),
            ("Compute", "#compute", ""),
            ("General", "#general", ""),
        ),
    ),
    SampleStep("Master", "master", problems=2),
    SampleStep("Review", "review"),
)  # fmt: skip

PROBLEMS = (
    SampleProblem("Workers must be at most 4 (set by project vision). You entered 6.", "f-workers"),
    SampleProblem("Name must start with a lowercase letter. You entered 3-digits.", "f-name"),
)

LOG = (
    ("12:26:41.113", "master-0", "m", "", "epoch 14  loss 0.0821  acc 0.9744  1 812 samples/s"),
    ("12:26:41.120", "worker-0", "w0", "", "epoch 14  rank 1 synced in 3.1 ms"),
    ("12:26:41.121", "worker-1", "w1", "", "epoch 14  rank 2 synced in 3.0 ms"),
    ("12:26:43.502", "worker-2", "w2", "err", "RuntimeError: connection closed by peer, rank 3, "
     "while waiting for the all-reduce of bucket 17 of 42"),
    ("12:26:44.010", "worker-2", "w2", "notice", "[gangline] exit code 1, the gang ends"),
)  # fmt: skip


def icons() -> list[str]:
    """Names of all symbols of the sprite, in its order."""
    text = (RESOURCES / "static" / "icons.svg").read_text(encoding="utf-8")
    return re.findall(r'<symbol id="([^"]+)"', text)


def pod_cells(count: int) -> list[tuple[str, str, SampleStatus]]:
    """So many pods, a few of them not well."""
    states = {7: _FAILED, 19: _PENDING, 20: _PENDING, 33: _DEGRADED}
    return [(f"worker-{n}", f"#worker-{n}", states.get(n, _RUNNING)) for n in range(count)]
