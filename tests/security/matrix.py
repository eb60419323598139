"""The bad-input matrix as data: what each field is given, and where the problem must be.

One row is one field with one bad value. `tests/spec/test_bad_values.py` gives all that the spec
judges to the spec, as a worker's and as a master's; the tests of the API and of the form send some
of them. Numbers are those of the design's matrix, so that a gap is seen.
"""

from dataclasses import dataclass
from typing import Any

NUL = "\x00"
LONG = "x" * 70_000
SCRIPT = '"><script>alert(1)</script>'


@dataclass(frozen=True, slots=True)
class Row:
    """``value`` stands at ``path`` of the half ``role``; ``name``, ``projectId`` … are of workload.

    ``typed``: what a person would type into the form for it; None: it cannot be typed there.
    ``at``: where the problem is reported, when that is not ``path``.
    """

    number: int
    role: str
    path: str
    value: Any
    typed: str | None = None
    at: str = ""
    unreadable: bool = False
    """The JSON itself is refused, before any field is looked at."""

    @property
    def id(self) -> str:
        shown = repr(self.value)
        return f"{self.number}-{self.role}.{self.path}={shown[:40]}"

    @property
    def reported(self) -> str:
        return self.at or self.path


def _texts(number: int, role: str, path: str, *values: str, at: str = "") -> list[Row]:
    return [
        Row(number, role, path, value, None if NUL in value else value, at, unreadable=NUL in value)
        for value in values
    ]


def _values(number: int, role: str, path: str, *values: Any, at: str = "") -> list[Row]:
    """Values of other JSON types: nobody can type them into a form."""
    return [Row(number, role, path, value, None, at) for value in values]


def _numbers(number: int, path: str, *pairs: tuple[Any, str | None]) -> list[Row]:
    return [Row(number, "worker", path, value, typed) for value, typed in pairs]


def _env(number: int, *names: str) -> list[Row]:
    return [
        Row(number, "worker", "environmentVariables", [{"name": name, "value": "1"}], name,
            "environmentVariables.0.name")
        for name in names
    ]  # fmt: skip


def _label(number: int, field: str, name: str, value: str = "x", at: str = "name") -> Row:
    return Row(number, "worker", field, [{"name": name, "value": value}], None, f"{field}.0.{at}")


_PORT = {"name": "board", "toolType": "custom", "toolName": "Board", "container": 80}


def _claim(size: Any) -> dict[str, Any]:
    return {"name": "a", "path": "/a", "claimInfo": {"size": size}}


def first_of_each_field(rows: list[Row]) -> list[Row]:
    return list({row.path: row for row in reversed(rows)}.values())


NAMES = [
    *_texts(2, "workload", "name", "-abc", "abc-", "1abc", "Abc", "a_b", "a" * 52, "a b", " abc"),
    Row(1, "workload", "name", "abc\n"),
    Row(2, "workload", "name", ""),
    *_texts(3, "workload", "name", "аbc", "ａbc", "a\u200bb", "a\u202eb", "ﬁle", "a\u0301"),
    *_texts(4, "workload", "name", "../../etc/passwd", "a/b", "a%2fb", "..", "~"),
    *_texts(5, "workload", "name", SCRIPT, "{{7*7}}", "${jndi:x}", "'; DROP TABLE x; --"),
    *_texts(41, "workload", "name", f"a{NUL}b"),
    *_values(2, "workload", "name", 1, True, ["a"], {"a": 1}, 1.5),
]
RESERVED_KEYS = (
    "kai.scheduler/queue", "kueue.x-k8s.io/queue-name", "volcano.sh/queue-name", "runai/queue",
    "training.kubeflow.org/job-name", "app.kubernetes.io/managed-by", "prometheus.io/scrape",
    "nginx.ingress.kubernetes.io/configuration-snippet", "sidecar.istio.io/inject",
    "container.apparmor.security.beta.kubernetes.io/x",
)  # fmt: skip
"""Numbers 8 to 10: refused unless the administrator allows their domain."""
METADATA = [
    *(
        _label(9, "labels", key)
        for key in ("gangline.dev/workload", "controller-uid", "job-name")
    ),
    *(_label(11, "labels", "a", v, "value") for v in ("x" * 64, "a b", "a\n", "-a", "é")),
    *(_label(11, "labels", key) for key in ("", "-a", "a b", "é", "x" * 64, "a/b/c")),
    Row(11, "worker", "labels", [{"name": f"k{n}", "value": "v"} for n in range(33)]),
    Row(11, "worker", "labels", [{"name": "a"}, {"name": "a"}], at="labels.1.name"),
]  # fmt: skip
NUMBERS = [
    *_numbers(
        13, "numWorkers",
        (0, "0"), (-1, "-1"), (10**9, "1000000000"), (2.5, "2.5"), ("2", None), (True, None),
        ("1_000", "1_000"), ("١٢", "١٢"), ("1e3", "1e3"), ("２", "２"), ([2], None), ({}, None),
        ("0x10", "0x10"), (10_000, "10000"),
    ),
    *_numbers(
        14, "compute.gpuDevicesRequest",
        (-1, "-1"), (65, "65"), (1.5, "1.5"), ("1", None), (True, None), ("one", "one"),
    ),
    *_numbers(
        16, "compute.cpuMemoryRequest",
        ("100m", None), ("1e3G", None), ("-1G", None), ("100 MB", None), ("０G", None), ("", None),
        ("G", None), (100, None), (True, None), ("1Zi", None), ("999999999999999E", None),
    ),
    *_numbers(
        17, "compute.cpuCoreRequest",
        (0, "0"), (-1, "-1"), (1025, "1025"), ("1", None), (True, None), ("1,5", "1,5"),
    ),
    *_numbers(20, "terminationGracePeriodSeconds", (301, None), (-1, None), (10**12, None)),
    *_numbers(20, "backoffLimit", (101, "101"), (-1, "-1"), (10**12, "1000000000000")),
    *_numbers(
        20, "autoDeletionTimeAfterCompletionSeconds", (-1, None), (10**12, None), ("1d", None)
    ),
    *_numbers(15, "compute.gpuPortionRequest", (0, None), (1.0001, None), ("half", None)),
    *(
        Row(18, "worker", "ports", [{**_PORT, "external": port}], at="ports.0.external")
        for port in (22, 29_999, 32_768, "30000", True)
    ),
    *_numbers(
        19, "security.runAsUid",
        (-1, None), (2**32, None), ("root", None), (True, None), (1.5, None),
    ),
    *_values(19, "worker", "security.uidGidSource", "fromIdpToken", "root"),
    *_numbers(19, "security.runAsGid", (-1, None), (2**32, None), ("root", None)),
    *_numbers(19, "security.supplementalGroups", ("a", None), ("1,,2", None), ("-1", None)),
    *(
        Row(21, "worker", "storage.pvc", [_claim(size)], at="storage.pvc.0.claimInfo.size")
        for size in ("0", "-1G", "1000Pi", "x", 5)
    ),
]  # fmt: skip
COMMANDS = [
    *_env(22, "A=B", "1A", "A B", "A\nB", "", "é", "A-B", SCRIPT),
    *_env(23, "SLURM_JOB_ID", "SBATCH_ACCOUNT", "LD_PRELOAD", "BASH_ENV", "GANGLINE_TOKEN",
          "RUNAI_PROJECT", "MASTER_ADDR", "RANK", "WORLD_SIZE"),
    Row(24, "worker", "environmentVariables", [{"name": "A", "value": NUL}], unreadable=True),
    Row(24, "worker", "environmentVariables", [{"name": "A", "value": 1}],
        at="environmentVariables.0.value"),
    Row(24, "worker", "environmentVariables", [{"name": "A", "value": "1", "secret": "x"}],
        at="environmentVariables.0.secret"),
    Row(24, "worker", "environmentVariables", [{"name": "A", "value": "1"}] * 2,
        at="environmentVariables.1.name"),
    Row(24, "worker", "environmentVariables",
        [{"name": f"V{n}", "value": ""} for n in range(201)]),
    Row(7, "worker", "environmentVariables", [{"name": "A", "description": "gpj\u202eexe"}],
        at="environmentVariables.0.description"),
    Row(24, "worker", "environmentVariables", {"A": "1"}),
    Row(24, "worker", "environmentVariables", ["A=1"], at="environmentVariables.0"),
    Row(26, "worker", "args", " ".join("x" for _ in range(1001)), "x " * 1001),
    *_texts(27, "worker", "command", 'bash -c "x', "bash 'x", "x \\"),
    *_values(27, "worker", "command", ["python", "x.py"], 1, True),
    *_texts(
        30, "worker", "image", "alpine; id", "../x", "http://169.254.169.254/x", "a b", "local://",
        "local://../x", "local://Nope", SCRIPT, "x" * 4097,
    ),
    *_texts(26, "worker", "workingDir", "relative", "../.."),
    *_texts(41, "worker", "command", f"a{NUL}b"),
]  # fmt: skip
STRUCTURE = [
    Row(42, "worker", "privileged", True),
    Row(42, "worker", "Image", "local://examples"),
    Row(42, "worker", "image ", "local://examples"),
    Row(42, "worker", "securityContext", {"privileged": True}),
    Row(42, "worker", "volumes", [{"hostPath": "/"}]),
    Row(42, "worker", "__proto__", {}),
    Row(42, "worker", "compute", [], at="compute"),
    Row(42, "worker", "compute", {"gpuDevices": 1}, at="compute.gpuDevices"),
    Row(42, "worker", "compute.gpuDevicesRequest", {"deep": 1}),
    Row(42, "worker", "distributedFramework", "Horovod"),
    Row(42, "worker", "distributedFramework", "pytorch; id"),
    Row(42, "worker", "distributedFramework", 1),
    Row(67, "workload", "phase", "Running"),
    Row(67, "workload", "createdBy", "administrator"),
    Row(67, "workload", "isActive", True),
    Row(67, "workload", "useGivenNameAsPrefix", "yes"),
    Row(106, "workload", "templateId", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"),
    Row(106, "workload", "templateId", "../x"),
    Row(106, "workload", "templateId", 7),
    Row(107, "workload", "clusterId", "3d0c2c6e-8b1f-4c57-9c1f-2f7f0a5f0a11"),
    *_values(107, "workload", "clusterId", "", "x", 1, None, ["a"]),
    *_values(107, "workload", "projectId", "", "x", "1_0", "١", -1, 1.5, True, None, ["1"], {}),
]
OF_CLUSTER = [
    *_texts(30, "worker", "image", "registry.evil.io/x", "local://absent"),
    *_texts(26, "worker", "workingDir", "/does/not/exist", "/etc"),
]
"""What only the cluster can judge."""
OF_ROOT = [
    Row(19, "worker", "security.runAsUid", 0, "0"),
    Row(19, "worker", "security.runAsGid", 0, "0"),
    *_texts(19, "worker", "security.supplementalGroups", "0", "5, 0", "00"),
]
"""Right by the spec, and closed until a policy of a whole cluster opens them."""
OF_SPEC = [
    row for row in (*METADATA, *NUMBERS, *COMMANDS, *STRUCTURE)
    if row.role == "worker" and not row.unreadable
]  # fmt: skip


OF_COMPUTE = [row for row in OF_SPEC if row.path.startswith("compute.")]
OF_ENVIRONMENT = [
    row for row in OF_SPEC
    if row.path.partition(".")[0] in (
        "image", "command", "args", "environmentVariables", "workingDir", "security", "ports",
        "privileged", "securityContext", "__proto__",
    )
]  # fmt: skip
"""What assets are made of, and what is no field of theirs either."""
SENT = [
    *first_of_each_field(NAMES), NAMES[-1], *first_of_each_field(OF_SPEC), *OF_CLUSTER,
    *(row for row in (*COMMANDS, *STRUCTURE) if row.role == "workload" or row.unreadable),
]  # fmt: skip
"""Each field once, and what is judged outside the spec."""
TYPED = [row for row in SENT if row.typed is not None]
"""Rows that a person can type into the form."""

HARMLESS = [
    ("worker", "environmentVariables", [{"name": "A", "value": "$(curl evil)"}]),
    ("worker", "environmentVariables", [{"name": "A", "value": "`id`"}]),
    ("worker", "environmentVariables", [{"name": "A", "value": "'; rm -rf / #"}]),
    ("worker", "args", "--x='; touch /tmp/pwn'"),
    ("worker", "args", "--x=a\nb"),
    ("worker", "command", "python -c 'print(1)' \u202e"),
    ("worker", "annotations", [{"name": "note", "value": '<img src=x onerror="alert(1)">'}]),
    ("workload", "name", "a" * 51),
]
"""Accepted and kept literally: dangerous only to what would interpret them."""
