"""Known causes of failures: how a log or a cluster tells of each, and what helps. Pure.

What people read never quotes the log: not everybody who sees a workload may read that.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gangline.drivers.base import IMAGE_PULL, MEMORY_LIMIT

EXIT_CODE = "exit.code"
"""Nothing known: the last line that looks like an error is all there is."""
NOT_STARTED, NOT_FOUND = 126, 127
"""Exit codes of shells for a command that cannot be started, or is not there."""
LOOKED_AT = 200
"""Lines from the end of a log in which causes are looked for."""
SHOWN, LONGEST = 5, 400


@dataclass(frozen=True, slots=True)
class Cause:
    """``words`` go on after the name of the pod; ``pattern`` finds the line that tells of it."""

    code: str
    words: str
    advice: str
    pattern: re.Pattern[str] | None = None


def _cause(code: str, words: str, advice: str, *patterns: str) -> Cause:
    return Cause(code, words, advice, re.compile("|".join(patterns)) if patterns else None)


CAUSES: tuple[Cause, ...] = (
    _cause(
        "gpu.memory", "ran out of GPU memory",
        "Use a smaller batch or model shard, or ask for GPUs with more memory.",
        r"(?:CUDA|HIP) out of memory", r"OutOfMemoryError: CUDA", r"CUDA_ERROR_OUT_OF_MEMORY",
        r"cudaErrorMemoryAllocation", r"RESOURCE_EXHAUSTED: .*(?:GPU|OOM|out of memory)",
        r"CUBLAS_STATUS_ALLOC_FAILED",
    ),
    _cause(
        "disk.full", "found the disk full",
        "Write less, remove what is not needed, or mount a larger volume for what it writes.",
        r"No space left on device", r"Disk quota exceeded", r"\bENOSPC\b",
    ),
    _cause(
        "import", "could not import a Python module",
        "Install it in the image or runtime, or correct PYTHONPATH and the working directory.",
        r"\b(?:ModuleNotFoundError|ImportError): ",
    ),
    _cause(
        "port.used", "found its port in use",
        "Listen on the port that MASTER_PORT or the tool names, or choose another.",
        r"[Aa]ddress already in use", r"\bEADDRINUSE\b", r"port is already allocated",
    ),
    _cause(
        MEMORY_LIMIT, "ran out of memory",
        "Ask for more CPU memory, or load and buffer less at once.",
        r"^MemoryError\b", r"std::bad_alloc", r"[Cc]annot allocate memory",
        r"can't allocate memory", r"numpy\S*MemoryError", r"\boom-kill(?:er)?\b",
    ),
    _cause(
        "data.git", "could not fetch a Git repository",
        "Test connection on the page of the data source tells more, if one fetches it.",
        r"^fatal: (?:repository '.*' not found|Authentication failed for|unable to access ')",
        r"^fatal: (?:could not read Username for|Could not read from remote repository)",
        r"^fatal: Remote branch .* not found in upstream",
    ),
    _cause(
        "file.missing", "did not find a file or command",
        "Check the path, and that the volume or data source that holds it is mounted there.",
        r"^(?:\w+\.)*FileNotFoundError: ",
        r"^(?!.*(?:dlerror|[Ww]arning)).*: No such file or directory\W*$",
        r": (?:command )?not found$", r"can't open file ",
    ),
    _cause(
        "network.nccl", "could not reach the others over NCCL",
        "Name the network interface between the pods; NCCL_DEBUG=INFO in the variables tells more.",
        r"\bnccl(?:Unhandled\w*|System|Remote|Internal|InvalidUsage)Error\b", r"NCCL error",
        r"NCCL WARN .*(?:Connect|connect|timed? ?out|No socket interface)",
        r"ProcessGroupNCCL.*(?:timeout|timed out)", r"Bootstrap : no socket interface found",
    ),
    _cause(
        "network.mpi", "could not start or reach its MPI ranks",
        "Check that every worker runs an SSH server or is reachable, and the host file and slots.",
        r"ORTE (?:was unable|has lost communication|does not know|daemon)", r"\bPRTE\b.*unable",
        r"PMIX ERROR", r"There are not enough slots available", r"MPI_ABORT was invoked",
        r"mpirun was unable to", r"ssh: connect to host", r"Host key verification failed",
    ),
    _cause(
        "network.gloo", "could not reach the others",
        "Check MASTER_ADDR and that all pods run; an earlier failure elsewhere shows the same.",
        r"[Gg]loo.*(?:connectFullMesh|timed? ?out|[Cc]onnection|refused|rendezvous)",
        r"\bDist(?:Network|Store|Backend)Error\b", r"RendezvousTimeoutError",
        r"^Horovod's rendezvous at ", r"HTTP (?:GET|PUT) request failed too many times",
        r"The client socket has (?:timed out|failed)", r"\bSocket Timeout\b",
        r"Timed out (?:initializing|waiting).*group",
        r"failed to connect to all addresses", r"\bConnectionRefusedError: ",
        r"Connection (?:closed by peer|refused|reset by peer)",
    ),
)  # fmt: skip
"""The more telling first: what follows from a failure elsewhere stands last."""

BY_CODE = {cause.code: cause for cause in CAUSES}
BY_CODE[IMAGE_PULL] = Cause(
    IMAGE_PULL,
    "",
    "Check the name and tag of the image, and the credential of its registry: Test connection on "
    "its page signs in there.",
)
_ERROR = re.compile(
    r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt|Exit)\b|\b(?:FATAL|fatal error)\b"
)


class LogLine(NamedTuple):
    """A line as it was printed, without control characters; ``place`` names it in the log."""

    place: str
    stream: str
    text: str


class Finding(NamedTuple):
    code: str
    lines: tuple[str, ...] = ()
    """What was printed last before it was over, the telling line at the end."""
    place: str = ""
    """Of that line."""

    @property
    def is_known(self) -> bool:
        return self.code != EXIT_CODE


def find(lines: Sequence[LogLine], *, told: str = "", exit_code: int | None = None) -> Finding:
    """The cause, from what the cluster ``told`` (a code) or else the exit code and the log."""
    lines = [line for line in lines[-LOOKED_AT:] if line.text.strip()]
    if told:
        cause = BY_CODE.get(told)
        return _shown(told, lines, _last(cause, lines) if cause else None)
    for cause in CAUSES:
        if (at := _last(cause, lines)) is not None:
            return _shown(cause.code, lines, at)
    code = "file.missing" if exit_code in (NOT_STARTED, NOT_FOUND) else EXIT_CODE
    return _shown(code, lines, None)


def _last(cause: Cause, lines: Sequence[LogLine]) -> int | None:
    if cause.pattern is None:
        return None
    found = (n for n in reversed(range(len(lines))) if cause.pattern.search(lines[n].text))
    return next(found, None)


def _shown(code: str, lines: Sequence[LogLine], at: int | None) -> Finding:
    if at is None:
        at = _last_error(lines)
    if at is None:
        return Finding(code)
    texts = tuple(line.text.rstrip()[:LONGEST] for line in lines[max(0, at + 1 - SHOWN) : at + 1])
    return Finding(code, texts, lines[at].place)


def _last_error(lines: Sequence[LogLine]) -> int | None:
    """Where no cause is known: the last error, else the last line of the stream of errors."""
    numbers = range(len(lines))[::-1]
    errors = (n for n in numbers if _ERROR.search(lines[n].text))
    of_stderr = (n for n in numbers if lines[n].stream == "stderr")
    return next(errors, next(of_stderr, numbers[0] if lines else None))
