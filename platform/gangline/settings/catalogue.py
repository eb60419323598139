"""Every setting, declared once: key, type, default and words. Each is read by code (S12b)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django import forms
from django.core.exceptions import ValidationError

from gangline.lib.problems import Problem
from gangline.lib.texts import hidden, whole
from gangline.lib.urls import web_address_problem
from gangline.spec.placement import label_key_problem
from gangline.spec.types import quantity_bytes, split_quantity

T = TypeVar("T", bool, int, str)
GIB = 1 << 30
CATEGORIES = ("General", "Workloads", "Quota", "Security", "Retention")


class SizeField(forms.IntegerField):
    """Bytes, typed as ``1Gi``, ``500M`` or a plain number."""

    def to_python(self, value: Any) -> int | None:
        text = str(value or "").replace(" ", "").removesuffix("B")
        if text and split_quantity(text) is None:
            raise ValidationError(
                "Enter a size such as 1Gi or 500M.", code="invalid", params={"value": text[:60]}
            )
        return quantity_bytes(text) if text else None

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, int):
            return value
        for unit, size in (("Gi", GIB), ("Mi", 1 << 20)):
            if value and value % size == 0:
                return f"{value // size}{unit}"
        return str(value)


def _can_be_read(text: str) -> None:
    if character := hidden(text):
        problem = Problem("characters", "", {"character": character})
        raise ValidationError(f"It {problem.told}", problem.code, {"value": text[:60]})


@dataclass(frozen=True, kw_only=True)
class Declared(Generic[T]):
    """One setting. Its type is that of its default; ``unit`` says what a number counts."""

    key: str
    label: str
    help: str
    category: str
    default: T
    unit: str = ""
    least: int = 0
    most: int = 0
    """Of a number, or of the characters of a text."""
    problem: Callable[[str], str | None] | None = None
    """Of a text: what is wrong with it, as a predicate, or None."""
    environment: str = ""
    """The field of `Env` that locks the setting where the operator gave it."""

    @property
    def kind(self) -> type[T]:
        return type(self.default)

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return f"GANGLINE_{self.environment.upper()}" if self.environment else ""

    def field(self) -> forms.Field:
        """What reads and judges a value of it."""
        words: dict[str, Any] = {"label": self.label, "help_text": self.help}
        if self.kind is bool:
            switch = forms.CheckboxInput(attrs={"role": "switch"})
            return forms.BooleanField(required=False, widget=switch, **words)
        if self.kind is int:
            is_size = self.unit == "bytes"
            kind = SizeField if is_size else forms.IntegerField
            number = forms.TextInput(attrs={} if is_size else {"data-unit": self.unit})
            return kind(min_value=self.least, max_value=self.most, widget=number, **words)
        judges = [_can_be_read, *([self._judge] if self.problem is not None else [])]
        return forms.CharField(
            max_length=self.most, required=bool(self.default), validators=judges, **words
        )

    def _judge(self, text: str) -> None:
        if self.problem is not None and (wrong := self.problem(text)):
            raise ValidationError(f"It {wrong}.", "invalid", {"value": text[:60]})

    def clean(self, value: Any) -> T:
        """A value of the right JSON type, checked. Raises django's ValidationError."""
        cleaned: T = self.field().clean(value)
        return cleaned

    def as_text(self, value: T) -> str:
        """``value`` as the list of the API writes it, where every value is a text."""
        if self.kind is bool:
            return str(value).lower()
        return str(value)

    def from_text(self, given: Any) -> Any:
        """What `as_text` wrote, as a value again; whatever it did not write stays as it is."""
        if not isinstance(given, str) or self.kind is str:
            return given
        if self.kind is bool:
            return {"true": True, "false": False}.get(given, given)
        number = whole(given)
        return given if number is None or str(number) != given else number

    def in_words(self, value: Any) -> str:
        if self.kind is bool:
            return "on" if value else "off"
        if self.unit == "bytes":
            return str(self.field().prepare_value(value))
        return f"{value} {self.unit}".strip() if value not in (None, "") else "none"


_declared: dict[str, Declared[Any]] = {}


def declare(setting: Declared[T]) -> Declared[T]:
    if setting.category not in CATEGORIES:
        raise ValueError(f"{setting.key}: the category must be one of {', '.join(CATEGORIES)}")
    _declared[setting.key] = setting
    return setting


def declared(category: str = "") -> Iterator[Declared[Any]]:
    """All settings, or those of one category, in order of declaration."""
    return (one for one in _declared.values() if category in ("", one.category))


def categories() -> list[str]:
    """Those that have a setting."""
    return [name for name in CATEGORIES if any(declared(name))]


def get(key: str) -> Declared[Any] | None:
    return _declared.get(key)


NAME = declare(
    Declared(
        key="general.name",
        label="Name",
        help="Shown at the top of every page and in its title.",
        category="General",
        default="Gangline",
        most=30,
    )
)
NOTICE = declare(
    Declared(
        key="general.notice",
        label="Notice",
        help="Shown to everyone above every page. Empty: no notice.",
        category="General",
        default="",
        most=300,
    )
)
QUICK_START = declare(
    Declared(
        key="home.quick-start",
        label="Quick start on Home",
        help="Offers the first steps to people who have not done them yet.",
        category="General",
        default=True,
    )
)
TOLERATIONS = declare(
    Declared(
        key="workloads.tolerations",
        label="Tolerations in the workload form",
        help="Off: the section is hidden while it is empty. API, YAML, templates and policies"
        " accept tolerations either way.",
        category="Workloads",
        default=False,
    )
)
TOPOLOGY = declare(
    Declared(
        key="workloads.topology",
        label="Topology in the workload form",
        help="Off: the section is hidden while it is empty. API, YAML, templates and policies"
        " accept a topology either way.",
        category="Workloads",
        default=False,
    )
)
MASTER = declare(
    Declared(
        key="workloads.master",
        label="Different set-up for the master",
        help="Off: the workload form has no step for the master, which is set up like a worker.",
        category="Workloads",
        default=True,
    )
)
LABEL_DOMAINS = declare(
    Declared(
        key="workloads.label-domains",
        label="Reserved domains of labels and annotations",
        help=(
            "Allows keys with these domains, such as scheduling.k8s.io, although parts of a "
            "cluster read them. Separated by commas."
        ),
        category="Workloads",
        default="",
        most=500,
    )
)
NODE_TYPE_LABEL = declare(
    Declared(
        key="workloads.node-type-label",
        label="Label of node types",
        help="The label of nodes whose values the workload form offers as node types, such as"
        " run.ai/type. Existing workloads keep theirs.",
        category="Workloads",
        default="node.kubernetes.io/instance-type",
        most=317,
        problem=label_key_problem,
    )
)
IMAGE_PULL_MINUTES = declare(
    Declared(
        key="workloads.image-pull-minutes",
        label="Wait for images",
        help="A workload fails when its image could not be pulled for this long.",
        category="Workloads",
        default=15,
        unit="minutes",
        least=1,
        most=1440,
    )
)
TERMINAL_IDLE_MINUTES = declare(
    Declared(
        key="workloads.terminal-idle-minutes",
        label="Idle terminals",
        help="A terminal is closed when nothing was typed or shown for this long.",
        category="Workloads",
        default=30,
        unit="minutes",
        least=1,
        most=1440,
    )
)
TERMINALS_EACH = declare(
    Declared(
        key="workloads.terminals-each",
        label="Terminals of one person",
        help="How many may be open at the same time. 0: terminals are switched off.",
        category="Workloads",
        default=16,
        least=0,
        most=200,
    )
)
LIMIT_TO_DEPARTMENT = declare(
    Declared(
        key="quota.limit-to-department",
        label="Limit projects to their department",
        help=(
            "The quotas of projects together may not exceed the department’s. Off: only a warning "
            "is shown."
        ),
        category="Quota",
        default=True,
    )
)
CPU_QUOTA = declare(
    Declared(
        key="quota.cpu",
        label="Quotas of CPU cores",
        help="Shows CPU cores in the quota of departments and projects."
        " Off hides them where there is no such quota.",
        category="Quota",
        default=False,
    )
)
SESSION_HOURS = declare(
    Declared(
        key="security.session-hours",
        label="Longest session",
        help="People have to sign in again after this time, even if they are active.",
        category="Security",
        default=24,
        unit="hours",
        least=1,
        most=720,
    )
)
IDLE_MINUTES = declare(
    Declared(
        key="security.idle-minutes",
        label="Idle sessions",
        help="People have to sign in again after this much inactivity.",
        category="Security",
        default=480,
        unit="minutes",
        least=10,
        most=10080,
    )
)
PASSWORD_LENGTH = declare(
    Declared(
        key="security.password-length",
        label="Shortest password",
        help="For new passwords. Common ones are refused at any length.",
        category="Security",
        default=12,
        unit="characters",
        least=8,
        most=64,
    )
)
TOKEN_DAYS = declare(
    Declared(
        key="security.token-days",
        label="Longest lifetime of API tokens",
        help="For new tokens. Existing ones are not changed.",
        category="Security",
        default=90,
        unit="days",
        least=1,
        most=365,
    )
)
TOKEN_REQUESTS = declare(
    Declared(
        key="security.token-requests",
        label="API requests of one token",
        help="Further requests get 429 until the minute is over.",
        category="Security",
        default=1800,
        unit="a minute",
        least=60,
        most=1_000_000,
    )
)
PERSON_REQUESTS = declare(
    Declared(
        key="security.person-requests",
        label="API requests of one person",
        help="By all their tokens together. Pages do not count.",
        category="Security",
        default=3600,
        unit="a minute",
        least=60,
        most=1_000_000,
    )
)
SUBMISSIONS = declare(
    Declared(
        key="security.submissions",
        label="Submissions of one person",
        help="Workloads that a person submits through the API, dry runs included.",
        category="Security",
        default=300,
        unit="a minute",
        least=10,
        most=1_000_000,
    )
)
SIGN_INS = declare(
    Declared(
        key="security.sign-ins",
        label="Sign-ins of programs from one address",
        help="Wrong passwords and secrets lock out much earlier.",
        category="Security",
        default=120,
        unit="a minute",
        least=10,
        most=1_000_000,
    )
)
SSO_REDIRECT = declare(
    Declared(
        key="security.sso-redirect",
        label="Default sign-in provider",
        help="The short name of an identity provider. The sign-in page is then skipped;"
        " /login?here=1 shows it. Empty: people choose.",
        category="Security",
        default="",
        most=63,
    )
)
SIGNED_OUT_URL = declare(
    Declared(
        key="security.signed-out-url",
        label="Page after signing out",
        help="An address such as https://intranet.example.org. Empty: the sign-in page.",
        category="Security",
        default="",
        most=300,
        problem=web_address_problem,
    )
)
DELETED_DAYS = declare(
    Declared(
        key="retention.deleted-days",
        label="Deleted workloads",
        help="History and logs of deleted workloads are erased after this time.",
        category="Retention",
        default=14,
        unit="days",
        least=0,
        most=3650,
        environment="keep_deleted_days",
    )
)
AUDIT_DAYS = declare(
    Declared(
        key="retention.audit-days",
        label="Audit log",
        help="Entries are erased after this time.",
        category="Retention",
        default=90,
        unit="days",
        least=1,
        most=3650,
    )
)
LOG_BYTES = declare(
    Declared(
        key="retention.log-bytes",
        label="Log of a pod",
        help="Maximum log kept per pod, such as 1Gi or 500M. The first 8 MiB and the newest stay.",
        category="Retention",
        default=GIB,
        unit="bytes",
        least=1 << 24,
        most=1 << 44,
        environment="log_cap_bytes",
    )
)
