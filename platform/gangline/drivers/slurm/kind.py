"""Slurm as the rest of Gangline knows it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.base import AttemptRef
from gangline.drivers.checks import Tell, tell_nobody
from gangline.drivers.facts import Facts, Health
from gangline.drivers.kind import (
    Admission,
    ClusterKind,
    FactGroup,
    Identity,
    NativeObject,
    Site,
    Way,
)

from . import intake, mapping, probe, script
from .access import LOCAL, ClusterCredentials
from .commands import Commands, LocalCommands, Programs
from .driver import Options, SlurmDriver
from .intake import SlurmConnection, SlurmCredential
from .rendering import Defaults


class Slurm(ClusterKind):
    key = "slurm"
    label = "Slurm"
    text = "Jobs of sbatch on a cluster with a shared file system."
    connection = SlurmConnection
    credential = SlurmCredential
    address_word = "Login node"
    unsupported = mapping.UNSUPPORTED
    takes_secrets = True
    lists_jobs = True
    figures_note = "Network figures are those of the whole node, whatever else runs on it."
    native_word = "Batch script"
    native_ending = "sh"
    check_names = probe.NAMES
    required = probe.REQUIRED
    good_to_know = (
        "Jobs run as the account that submits them. Slurm decides when they start; they keep "
        "running while Gangline is down."
    )

    def open(
        self,
        connection: SlurmConnection,
        access: ClusterCredentials,
        *,
        site: Site,
        facts: Facts,
        host_id: str,
    ) -> SlurmDriver:
        options = Options(
            site.data_dir,
            connection.folder,
            site.log_cap,
            _defaults(connection),
            str(facts.detail.get("containers", "")),
        )
        return SlurmDriver(_programs(connection, access, site), options)

    def check(
        self,
        connection: SlurmConnection,
        access: ClusterCredentials,
        *,
        site: Site,
        host_id: str,
        tell: Tell = tell_nobody,
    ) -> Health:
        programs = _programs(connection, access, site)
        try:
            modules = connection.modules.split()
            return probe.probe(
                programs, connection.folder, tell, public=access.public, modules=modules
            )
        finally:
            programs.commands.close()

    def ways(self) -> Sequence[Way]:
        return intake.ways()

    def admit(self, given: SlurmCredential, site: Site, now: datetime) -> Admission:
        return intake.admit(given, _reach(site))

    def identity(self, access: ClusterCredentials) -> Identity:
        if access.way == LOCAL:
            return Identity(LOCAL, server="this machine")
        from . import keys

        return Identity(
            "ssh-key",
            name=access.user,
            fingerprint=keys.fingerprint(access.host_key),
            server=f"{access.host}:{access.port}",
        )

    def as_json(self, access: ClusterCredentials) -> Mapping[str, Any]:
        return access.as_json()

    def from_json(self, stored: Mapping[str, Any]) -> ClusterCredentials:
        return ClusterCredentials.from_json(stored)

    def queue_problem(
        self, connection: SlurmConnection, facts: Facts, *, namespace: str, queue: str
    ) -> str:
        return "Slurm has partitions instead of queues: use node pools."

    def facts(self, connection: SlurmConnection, facts: Facts) -> Sequence[FactGroup]:
        detail = facts.detail
        rows = (
            ("Partitions", ", ".join(detail.get("partitions", ()))),
            ("Default partition", str(detail.get("defaultPartition", ""))),
            ("Features", ", ".join(detail.get("features", ()))),
            ("Accounts", ", ".join(detail.get("accounts", ()))),
            ("Containers", str(detail.get("containers", ""))),
            ("Programs", ", ".join(detail.get("programs", ()))),
            ("Runs as", str(detail.get("login", ""))),
            ("Folder for runs", str(detail.get("folder") or connection.folder)),
        )
        return (FactGroup("Scheduling and storage", [row for row in rows if row[1]]),)

    def native_text(self, ref: AttemptRef) -> str:
        return script.script(ref.rendered)

    def native(self, rendered: Mapping[str, Any], name: str) -> NativeObject | None:
        return None


def _programs(connection: SlurmConnection, access: ClusterCredentials, site: Site) -> Programs:
    commands = LocalCommands() if access.way == LOCAL else _by_ssh(access, _reach(site))
    return Programs(commands, config=connection.config, folder=connection.programs)


def _by_ssh(access: ClusterCredentials, reach: AllowedAddresses) -> Commands:
    from .ssh import SshCommands  # with asyncssh, which every start would load

    return SshCommands(access, reach)


def _defaults(connection: SlurmConnection) -> Defaults:
    return Defaults(
        account=connection.account,
        qos=connection.qos,
        reservation=connection.reservation,
        time=connection.time_limit,
        modules=tuple(connection.modules.split()),
    )


def _reach(site: Site) -> AllowedAddresses:
    """Where login nodes may be, as this installation has it."""
    return AllowedAddresses(site.networks, site.own)


SLURM = Slurm()
