"""What is known of a cluster before anything runs on it: offers, choices, room, health."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gangline.spec.frameworks import framework_of

NO_SCRIPTS = "Scripts of sbatch run on Slurm clusters only."


@dataclass(frozen=True, slots=True)
class FrameworkOffer:
    """Whether the cluster can run a framework, and in words why not."""

    framework: str
    available: bool
    reason: str = ""
    """One sentence, which fits on a card."""
    version: str = ""
    runtimes: tuple[str, ...] = ()
    remedy: str = ""
    """What would mend it."""

    @property
    def why_not(self) -> str:
        """The reason with what would mend it; empty where it is available."""
        return f"{self.reason} {self.remedy}".strip()


@dataclass(frozen=True, slots=True)
class Runtime:
    """A value for ``image`` that the cluster itself offers (``local://examples``)."""

    reference: str
    title: str
    available: bool
    frameworks: tuple[str, ...] = ()
    detail: str = ""
    reason: str = ""
    launchers: tuple[str, ...] = ()
    """Values of the field `launcher` that it has what they need for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a cluster offers, and its words; the empty value leaves it to the cluster."""

    value: str
    word: str = ""
    of: str = ""
    """Of a key: the name beside which it can be chosen."""
    reason: str = ""
    """Why it is not to be had; empty: it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A further question of an item, which only some values of another attribute bring along."""

    key: str
    label: str
    kind: str = "text"
    """``text``, ``number`` or ``boolean``."""
    help: str = ""
    placeholder: str = ""
    default: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What an item of a list can be where one of its attributes has a certain value."""

    defaults: Mapping[str, Any] = field(default_factory=dict)
    """By attribute, instead of those of the spec."""
    closed: frozenset[str] = frozenset()
    """Attributes that mean nothing then."""
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    units: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    asked: Sequence[Asked] = ()
    """Keys and values of the attribute ``pairs``, each with a control of its own."""


NO_FIT = Fit()


@dataclass(frozen=True, slots=True)
class FieldNote:
    """What a cluster says about a field of the form, instead of the spec where it says anything."""

    help: str = ""
    placeholder: str = ""
    is_required: bool = False
    """The form marks it; ``check`` is what refuses."""
    choices: Mapping[str, Sequence[Choice]] = field(default_factory=dict)
    """What the cluster offers for an attribute of a list's items (``claimInfo.storageClass``), or
    under the empty name for the field itself."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """A sentence about an attribute of a list's items, shown at it."""
    by: str = ""
    """Of a list: the attribute upon which ``fits`` depend; the empty value has one as well."""
    fits: Mapping[str, Fit] = field(default_factory=dict)
    unless: str = ""
    """The attribute of items which they say nothing of while it is true."""
    pairs: str = ""
    """The attribute whose text holds keys and values."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a probe learned about a cluster; stored with it and read by form and checks."""

    version: str
    frameworks: tuple[FrameworkOffer, ...] = ()
    runtimes: tuple[Runtime, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)

    def offer(self, framework: str) -> FrameworkOffer | None:
        """What the cluster says of a framework; None: nothing. Few run people's own scripts."""
        found = next((one for one in self.frameworks if one.framework == framework), None)
        if found is None and framework_of(framework).runs_script:
            return FrameworkOffer(framework, available=False, reason=NO_SCRIPTS)
        return found


@dataclass(frozen=True, slots=True)
class NodeFact:
    """A machine of a cluster. ``status``: Ready, NotReady, Cordoned or Unknown."""

    name: str
    status: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    """``key``, ``value`` and ``effect`` of each."""
    cpu: float = 0.0
    memory: int = 0
    gpus: int = 0
    gpu_type: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Answer of a probe."""

    reachable: bool
    reason: str = ""
    facts: Facts | None = None
    capacity: "Capacity | None" = None
    """What the same look found, where it asks for that anyway; None: ask ``capacity``."""
    nodes: Sequence[NodeFact] | None = None
    """Every machine of it; None: not known by this look."""
    is_login_refused: bool = False
    """It answers, and accepts the credential no longer."""
    are_rights_known: bool = False
    """Whether the look came to a verdict about the rights of the login."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the cluster has in total. ``admission`` is ``ours`` when Gangline gives out slots."""

    admission: str
    cpus: float
    memory: int
    gpus: tuple[str, ...] = ()
    """Ids of those that Gangline gives out; none where the cluster's scheduler does."""
    gpu_count: int = 0
    """How many there are in all, where they have no ids here."""
    gpus_declared: bool = False
    gpu_memory: int = 0
    """Bytes of the smallest of ``gpus``; 0: not known."""
    ports: tuple[int, int] = (16000, 32000)
