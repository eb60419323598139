"""What Slurm calls states and reasons, in the words of the product.

https://slurm.schedmd.com/squeue.html#SECTION_JOB-STATE-CODES
https://slurm.schedmd.com/job_reason_codes.html
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

WAITS = frozenset(
    {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
STARTS = frozenset({"CONFIGURING", "STAGE_IN", "POWER_UP_NODE"})
RUNS = frozenset({"RUNNING", "SIGNALING", "RESIZING", "STAGE_OUT", "SUSPENDED", "STOPPED"})
ENDS = frozenset({"COMPLETING"})
LIVE = WAITS | STARTS | RUNS | ENDS
FROZEN = frozenset({"SUSPENDED", "STOPPED"})
COMPLETED, CANCELLED, FAILED, PREEMPTED = "COMPLETED", "CANCELLED", "FAILED", "PREEMPTED"
OUT_OF_MEMORY = "OUT_OF_MEMORY"
MOVED = frozenset({PREEMPTED, "NODE_FAIL", "BOOT_FAIL"})
"""No fault of the job’s own."""
ENDED: Mapping[str, str] = {
    CANCELLED: "The job was cancelled on the cluster.",
    "TIMEOUT": "The job reached its time limit.",
    "NODE_FAIL": "A node of the job failed.",
    "BOOT_FAIL": "A node of the job did not start.",
    OUT_OF_MEMORY: "The job ran out of memory.",
    "DEADLINE": "The job could not end before its deadline.",
    PREEMPTED: "The job was preempted by one of a higher priority.",
    "REVOKED": "The job was taken over by another cluster.",
}
"""Why a job ended, where that was not its own doing."""
LAUNCH_FAILURE = "JobLaunchFailure"
HELD = frozenset({"JobHeldUser", "JobHeldAdmin"})
IMPOSSIBLE: Mapping[str, str] = {
    "AccountNotAllowed": "The partition does not accept jobs of this account.",
    "AssociationJobLimit": "The account may not run such a job.",
    "BadConstraints": "No node meets the requirements of the job.",
    "DependencyNeverSatisfied": "Its dependency can never be satisfied.",
    "InvalidAccount": "The account does not exist in Slurm.",
    "InvalidQOS": "The quality of service does not exist in Slurm.",
    "PartitionConfig": "The job is larger than the whole partition.",
    "PartitionNodeLimit": "The job requests more nodes than the partition allows.",
    "PartitionTimeLimit": "The job requests more time than the partition allows.",
    "QOSNotAllowed": "The partition does not accept this quality of service.",
    "QOSMaxWallDurationPerJobLimit": (
        "The job requests more time than its quality of service allows."
    ),
}
"""It will not start as it is."""
FAR = timedelta(days=30)
QUEUED = frozenset({"None", "Priority", "Resources", "Licenses"})
"""It starts when its turn comes."""
_REASONS: Mapping[str, str] = {
    "None": "Slurm has not scheduled it yet.",
    "Priority": "Jobs of a higher priority come first.",
    "Resources": "Waiting for free nodes.",
    "BeginTime": "Its earliest start time is still ahead.",
    "Dependency": "Waiting for another job.",
    "Licenses": "Waiting for licences.",
    "Reservation": "Waiting for its reservation.",
    "PartitionDown": "The partition is down.",
    "PartitionInactive": "The partition is not active.",
    "NodeDown": "A node that it needs is down.",
    "JobHeldUser": "Held on the cluster. Release it with scontrol release.",
    "JobHeldAdmin": "Held by an administrator of the cluster.",
    "JobArrayTaskLimit": "Its array already runs as many jobs as it may.",
    "Prolog": "Its nodes are being prepared.",
}
_BEGINNINGS: tuple[tuple[str, str], ...] = (
    ("ReqNodeNotAvail", "Nodes that it needs are down or reserved."),
    ("Nodes required for job are DOWN", "Nodes that it needs are down or reserved."),
    ("Assoc", "The account is at its limit"),
    ("QOS", "The quality of service is at its limit"),
    ("MaxJobs", "The account runs as many jobs as it may"),
)


def waits_for(reason: str) -> str:
    """Why a job waits, as a sentence. What Slurm calls a limit stands behind it."""
    if known := IMPOSSIBLE.get(reason) or _REASONS.get(reason):
        return known
    for beginning, words in _BEGINNINGS:
        if reason.startswith(beginning):
            return words if words.endswith(".") else f"{words} ({reason})."
    return f"Slurm reported: {reason}." if reason else ""


def queued(place: int, expected: datetime | None, now: datetime) -> str:
    """Where it stands and when it may start, as Slurm itself has it; empty where it does not say.

    A start in a year is what it tells where jobs before it have no time limit, and none at all.
    Five minutes are as exact as its guess is good, and not told anew at every look.
    """
    said = []
    if place == 1:
        said.append("Next in the queue of its partition.")
    elif place:
        said.append(f"Number {place} in the queue of its partition.")
    if expected is not None and timedelta() < expected - now < FAR:
        at = expected + timedelta(
            minutes=5 - expected.minute % 5 if expected.minute % 5 or expected.second else 0,
            seconds=-expected.second,
        )
        said.append(f"Slurm expects it to start by {at:%H:%M} UTC on {at.day} {at:%B}.")
    return " ".join(said)


def exited(code: int) -> tuple[str, int | None, int | None]:
    """Words, exit code and signal of a process, from the code that a shell tells."""
    if 128 < code <= 128 + 64:
        number = code - 128
        return f"Ended by signal {number}{_SIGNALS.get(number, '')}.", None, number
    return f"Exited with code {code}{_CODES.get(code, '')}.", code, None


def accounted(code: str) -> str:
    """The same of a job, from accounting, which keeps codes modulo 128: 137 and 9 are both 9."""
    number, _, by = code.partition(":")
    if by.isdigit() and int(by):
        return f"Ended by signal {by}{_SIGNALS.get(int(by), '')}."
    if not number.isdigit() or not int(number):
        return ""
    if int(number) in _SIGNALS:
        return (
            f"Exited with code {number}, or ended by signal {number}"
            f"{_SIGNALS[int(number)]}: Slurm’s accounting does not say which."
        )
    return exited(int(number))[0]


_SIGNALS = {6: " (SIGABRT)", 9: " (SIGKILL)", 11: " (SIGSEGV)", 15: " (SIGTERM)"}
_CODES = {
    67: " (data could not be read on the node)",
    66: " (the working directory cannot be entered on the node)",
    126: " (the command cannot be started)",
    127: " (the command was not found on the node)",
}
