"""What an engine declares of itself: `ClusterKind`, one per folder of drivers, in `registry`.

Pages, forms, API and checks of clusters follow from it; nothing outside a driver's folder knows
more of an engine than this.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from gangline.lib import yaml_text
from gangline.lib.problems import Problem
from gangline.spec.placement import DEFAULT_PRIORITY, PRIORITIES

from .base import AttemptRef, Driver
from .checks import REACHABILITY, Tell, tell_nobody
from .facts import Facts, Health

LONGEST_SHOWN = 253
"""Of one line that is sent back to a form: names are shorter, tokens are longer."""


class Settings(BaseModel):
    """Base of connection and credential models: the whitelist of what may be stored.

    ``json_schema_extra`` of a field: ``secret`` (never sent back), ``rows`` (a text area),
    ``part`` (value of the first field for which it is shown), ``needed`` (within that part: the
    form marks it), ``mono``, ``section`` (the heading).
    """

    model_config = ConfigDict(
        extra="forbid", str_strip_whitespace=True, alias_generator=to_camel, populate_by_name=True
    )


class NoSettings(Settings):
    """Of an engine without any."""


class Unconnectable(Exception):
    """No driver of this installation can talk to the cluster, in words why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What this installation gives to every driver."""

    data_dir: Path
    log_cap: int = 2**30
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """In which clusters may be, although they would be refused."""
    own: tuple[tuple[str, int], ...] = ()
    """Hosts and ports of this installation, to which no cluster may lead."""
    origin: str = ""
    """Scheme, host and port of this installation, without a slash at the end."""
    tools_url: str = ""
    """Where tools of this machine are opened, with ``*`` for the name of one; empty: nowhere."""
    node_type: str = ""
    """The label in which nodes have their type; empty: the one that Kubernetes itself gives."""
    declared_gpus: int = 0
    roots: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Files that no workload may see."""
    examples_dir: Path | None = None
    use_sandbox: bool | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who Gangline is on a cluster, as far as it may be shown."""

    kind: str
    """``token``, ``certificate`` or ``in-cluster``."""
    name: str = ""
    """Service account or common name, where it can be read."""
    fingerprint: str = ""
    ends_at: datetime | None = None
    server: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """What a given credential came to: an access, or every problem with it."""

    access: Any = None
    problems: tuple[Problem, ...] = ()
    contexts: tuple[str, ...] = ()
    """Names in a kubeconfig, to choose from."""
    context: str = ""
    """The one that was taken."""
    needs_account: bool = False
    """A service account is the best answer: the page shows how to make one."""


@dataclass(frozen=True, slots=True)
class Way:
    """One of several ways to give a credential."""

    value: str
    title: str
    text: str
    note: str = ""
    """In place of fields, where it has none."""


@dataclass(frozen=True, slots=True)
class Option:
    """A value of a setting, and what the last check found of it."""

    value: str
    title: str
    note: str = ""
    is_there: bool = True
    """False: it cannot be chosen now."""


@dataclass(frozen=True, slots=True)
class Guide:
    """How to make an account for Gangline on a cluster."""

    manifest: str
    """YAML to apply there."""
    commands: str
    show: str
    """The command that prints address and authority."""


@dataclass(frozen=True, slots=True)
class NativeObject:
    """What the engine itself calls a workload, and the command that shows it."""

    kind: str
    name: str
    namespace: str
    command: str


@dataclass(frozen=True, slots=True)
class FactGroup:
    """A part of a cluster's page: labels and values."""

    title: str
    rows: Sequence[tuple[str, str]] = field(default_factory=tuple)


class ClusterKind:
    """Subclass, set the attributes, override what the engine has, and list it in `registry`."""

    key: ClassVar[str]
    label: ClassVar[str]
    text: ClassVar[str] = ""
    """One line for the choice of a kind."""
    connection: ClassVar[type[Settings]] = NoSettings
    credential: ClassVar[type[Settings] | None] = None
    """The credential to sign in with; None: such a cluster is not connected by people."""
    address_word: ClassVar[str] = "Address"
    """What people call the machine that Gangline talks to."""
    check_names: ClassVar[tuple[str, ...]] = ()
    required: ClassVar[frozenset[str]] = frozenset({REACHABILITY})
    """Steps without which nothing else is known: the cluster counts as unreachable."""
    good_to_know: ClassVar[str] = ""
    unsupported: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """As `Driver.unsupported`, whatever the cluster."""
    takes_secrets: ClassVar[bool] = False
    """The values of credentials are handed to ``create``, in ``AttemptRef.secrets``."""
    keeps_secrets: ClassVar[bool] = False
    """Credentials are copied to it as Secrets, beside others that people made there."""
    shares_claims: ClassVar[bool] = False
    """What one project's claim holds can be mounted in others."""
    lists_jobs: ClassVar[bool] = False
    """Its scheduler lists jobs that others made: the driver is one of `ListsJobs`."""
    no_files: ClassVar[str] = ""
    """Why files that programs left cannot be read, as a sentence; empty: its driver is one of
    `FileReader`."""
    figures_note: ClassVar[str] = ""
    """A sentence about what it measures of pods, shown beside the figures."""
    native_word: ClassVar[str] = ""
    """What people call the engine's own form of a workload; empty: it is not shown."""
    native_ending: ClassVar[str] = "yaml"
    """Of a file with it."""

    def phrase(self, name: str) -> str:
        """How a sentence names the cluster."""
        return f"cluster {name}"

    # Connecting

    def open(
        self, connection: Any, access: Any, *, site: Site, facts: Facts, host_id: str
    ) -> Driver:
        """The driver of one cluster. Raises Unconnectable."""
        raise NotImplementedError

    def check(
        self,
        connection: Any,
        access: Any,
        *,
        site: Site,
        host_id: str,
        tell: Tell = tell_nobody,
    ) -> Health:
        """The whole connection check; ``tell`` gets each step. Raises Unconnectable."""
        raise NotImplementedError

    def uid(self, access: Any, site: Site) -> str:
        """The identity of the cluster; empty where it cannot be read."""
        return ""

    def is_isolated(self) -> bool:
        """Whether workloads on this machine are kept from Gangline's own data."""
        return True

    def connection_problems(self, connection: Any, site: Site) -> Iterator[Problem]:
        """Settings that this installation cannot have, each at the name of its field."""
        return iter(())

    # Credentials

    def ways(self) -> Sequence[Way]:
        """The ways to sign in that are open here; the values of the model's first field."""
        return ()

    def admit(self, given: Any, site: Site, now: datetime) -> Admission:
        """Judge a credential as a person gave it, before anything is stored."""
        raise NotImplementedError

    def identity(self, access: Any) -> Identity:
        raise NotImplementedError

    def as_json(self, access: Any) -> Mapping[str, Any]:
        """All of an access, secrets included: to be sealed before it is stored."""
        raise NotImplementedError

    def from_json(self, stored: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def presentable(self, name: str, value: str) -> str:
        """What of a typed text may be sent back: a name, and no key or file in its place."""
        if self.credential is not None and name in self.credential.model_fields:
            extra = self.credential.model_fields[name].json_schema_extra
            if isinstance(extra, dict) and extra.get("secret"):
                return ""
        is_name = len(value) <= LONGEST_SHOWN and "://" not in value and "-----" not in value
        return value if is_name else ""

    def guide(self) -> Guide | None:
        return None

    # What is known of a cluster

    def scheduler(self, connection: Any, facts: Facts) -> str:
        """Name of the scheduler in use; may be empty."""
        return ""

    def gpu(self, connection: Any, facts: Facts) -> str:
        """What the engine calls a GPU."""
        return ""

    def priorities(self, facts: Facts) -> Mapping[str, int]:
        """What each class of priority is worth, by name; empty: a workload without any."""
        return {"": DEFAULT_PRIORITY, **PRIORITIES}

    def options(self, name: str, facts: Facts) -> Sequence[Option]:
        """The values that a field of ``connection`` is chosen from; none: it is typed."""
        return ()

    def namespace(self, connection: Any, project: str) -> str:
        """Where new workloads of a project run; empty: the engine has no such thing."""
        return ""

    def queue_problem(self, connection: Any, facts: Facts, *, namespace: str, queue: str) -> str:
        """Why workloads of a project cannot wait in ``queue``, as a sentence; else empty."""
        return "This cluster has no queues."

    def facts(self, connection: Any, facts: Facts) -> Sequence[FactGroup]:
        """What its page lists beside the capacity."""
        return ()

    def unmeasured(self, facts: Facts) -> str:
        """Why the cluster does not tell what pods use, as a sentence; empty where it does."""
        return ""

    def native_text(self, ref: AttemptRef) -> str:
        """What is made of an attempt on the engine, as YAML, without anything secret."""
        return yaml_text.write(ref.rendered)

    def tools(self, rendered: Mapping[str, Any], uid: str, site: Site) -> Mapping[str, str]:
        """The address of each tool of the workload ``uid`` by its name, from its frozen form."""
        return {}

    def native(self, rendered: Mapping[str, Any], name: str) -> NativeObject | None:
        """The object of an attempt, from its frozen form."""
        return None
