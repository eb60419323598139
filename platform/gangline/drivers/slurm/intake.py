"""What a person gives to connect a Slurm cluster, judged whole, before anything is stored."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from gangline.drivers.addresses import AllowedAddresses, is_host
from gangline.drivers.kind import Admission, Settings, Way
from gangline.lib.problems import Problem
from gangline.spec.slurm import TOKEN, module_problem

from .access import LOCAL, SSH, ClusterCredentials
from .commands import NoAnswer

FOLDER = "~/gangline"
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.@-]{0,63}")
_LIMIT = re.compile(r"(?:[0-9]{1,4}-)?[0-9]{1,4}(?::[0-9]{2}){0,2}")
_PATH = re.compile(r"(?:~/|/)[A-Za-z0-9._/-]{1,200}")
_ON_THE_CLUSTER: JsonDict = {"mono": True, "section": "On the cluster"}
_EVERY_JOB: JsonDict = {"mono": True, "section": "Every job"}
"""Sections of the form in which fields stand."""


def _folder(path: str) -> str:
    clean = path.rstrip("/")
    if not _PATH.fullmatch(clean) or ".." in clean.split("/"):
        raise PydanticCustomError(
            "folder", "Enter a path that starts with / or ~/, such as /shared/gangline"
        )
    return clean


def _optional(path: str) -> str:
    if path and (not path.startswith("/") or not _PATH.fullmatch(path)):
        raise PydanticCustomError("path", "Enter a path that starts with /, or leave it empty")
    return path


def _token(word: str) -> str:
    if word and not TOKEN.fullmatch(word):
        raise PydanticCustomError("token", "Use letters, digits, points, hyphens and underscores")
    return word


def _time(limit: str) -> str:
    if limit and not _LIMIT.fullmatch(limit):
        raise PydanticCustomError("time", "Enter days-hours:minutes:seconds, such as 1-12:00:00")
    return limit


def _modules(text: str) -> str:
    if any(map(module_problem, text.split())):
        raise PydanticCustomError("modules", "Enter names of modules with spaces between them")
    return text


class SlurmConnection(Settings):
    """What an administrator decides about a Slurm cluster."""

    folder: Annotated[str, AfterValidator(_folder)] = Field(
        FOLDER,
        title="Folder for runs",
        description="On the file system that login and compute nodes share, at the same path."
        " ~/ is the home of the account that submits.",
        json_schema_extra={**_ON_THE_CLUSTER, "comes_first": True},
    )
    programs: Annotated[str, AfterValidator(_optional)] = Field(
        "",
        title="Folder of Slurm’s programs",
        description="Such as /opt/slurm/bin. Empty: where the login shell finds them.",
        json_schema_extra=_ON_THE_CLUSTER,
    )
    config: Annotated[str, AfterValidator(_optional)] = Field(
        "",
        title="Configuration of Slurm",
        description="Path of slurm.conf on the login node. Empty: its own default.",
        json_schema_extra=_ON_THE_CLUSTER,
    )

    account: Annotated[str, AfterValidator(_token)] = Field(
        "",
        title="Account",
        description="Charged for every job. Empty: the login’s default one.",
        json_schema_extra=_EVERY_JOB,
    )
    qos: Annotated[str, AfterValidator(_token)] = Field(
        "",
        title="Quality of service",
        description="Empty: the account’s default one.",
        json_schema_extra=_EVERY_JOB,
    )
    reservation: Annotated[str, AfterValidator(_token)] = Field(
        "",
        title="Reservation",
        description="Every job runs in it. Empty: none.",
        json_schema_extra=_EVERY_JOB,
    )
    time_limit: Annotated[str, AfterValidator(_time)] = Field(
        "",
        title="Time limit",
        description="Such as 1-12:00:00 or 08:00:00. Empty: as the partition has it.",
        json_schema_extra=_EVERY_JOB,
    )
    modules: Annotated[str, AfterValidator(_modules)] = Field(
        "",
        max_length=400,
        title="Modules",
        description="Loaded before the command, such as python/3.11 cuda/12.4.",
        json_schema_extra=_EVERY_JOB,
    )


class SlurmCredential(Settings):
    """How Gangline reaches the login node."""

    way: str = Field(SSH, title="Connect through", max_length=40)
    host: str = Field(
        "",
        title="Login node",
        max_length=253,
        description="Its name or address, such as login.hpc.example.org.",
        json_schema_extra={"part": SSH, "mono": True, "needed": True},
    )
    port: int = Field(22, ge=1, le=65535, title="Port", json_schema_extra={"part": SSH})
    user: str = Field(
        "",
        title="User",
        max_length=64,
        description="The account that submits all jobs. Use one for Gangline alone.",
        json_schema_extra={"part": SSH, "mono": True, "needed": True},
    )
    key: str = Field(
        "",
        title="Private key",
        description="Without a passphrase. It is stored encrypted and never shown again. Empty:"
        " Gangline makes one, and the check shows the line for authorized_keys.",
        json_schema_extra={"part": SSH, "rows": 6, "secret": True},
    )
    host_key: str = Field(
        "",
        title="Host key",
        max_length=4000,
        description="As ssh-keyscan prints it. Empty: the one that the node shows now is pinned;"
        " compare its fingerprint on the page of the cluster.",
        json_schema_extra={"part": SSH, "rows": 2, "mono": True},
    )


def ways() -> tuple[Way, ...]:
    says = "sbatch and related commands, run as the user of Gangline."
    note = (
        "Jobs run as the same user as Gangline, and could read its data. Use this on a machine of "
        "your own, or run Gangline as a restricted user."
    )
    return (
        Way(SSH, "SSH", "A login node, with a key and its host key pinned."),
        Way(LOCAL, "Commands of this machine", says, note),
    )


def admit(given: SlurmCredential, reach: AllowedAddresses) -> Admission:
    """Judge it whole. Without a host key the node is asked for the one that it shows."""
    if given.way == LOCAL:
        return Admission(ClusterCredentials())
    if given.way != SSH:
        return Admission(problems=(Problem("way", "way", {"accepted": f"{SSH}, {LOCAL}"}),))
    # Only whoever has a login node loads asyncssh, which takes long at every start.
    from . import keys, ssh

    problems = []
    if not is_host(given.host):
        problems.append(_problem("host", "must be the name or address of a host", "login.example"))
    if not _USER.fullmatch(given.user):
        problems.append(_problem("user", "must be the name of an account", "gangline"))
    try:
        key, public = keys.pair(given.key)
    except keys.Unfit as why:
        problems.append(_problem("key", str(why), "a private key as ssh-keygen writes it"))
    try:
        host_key = keys.host_key(given.host_key) if given.host_key else ""
    except keys.Unfit as why:
        problems.append(_problem("hostKey", str(why), "ssh-ed25519 AAAA…"))
    if problems:
        return Admission(problems=tuple(problems))
    if not host_key:
        try:
            look = ssh.shown_host_key(given.host, given.port, reach)
            host_key = ssh.wait_for(look, ssh.CONNECT_SECONDS + 2)
        except NoAnswer as why:
            return Admission(problems=(Problem("unreachable", "host", {"said": str(why)}),))
    return Admission(
        ClusterCredentials(SSH, given.host, given.port, given.user, key, public, host_key)
    )


def _problem(path: str, message: str, accepted: str) -> Problem:
    return Problem("format", path, {"reason": message, "accepted": accepted})
