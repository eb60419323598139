"""What a person gives to connect a Slurm cluster, judged whole, before anything is stored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from gangline.drivers.kind import Admission, Settings, Way
from gangline.lib.problems import Problem

LOCAL = "local"
FOLDER = "~/gangline"
_PATH = re.compile(r"(?:~/|/)[A-Za-z0-9._/-]{1,200}")


def _folder(path: str) -> str:
    clean = path.rstrip("/")
    if not _PATH.fullmatch(clean) or ".." in clean.split("/"):
        raise PydanticCustomError(
            "folder", "Give a path that begins with / or ~/, such as /shared/gangline"
        )
    return clean


def _optional(path: str) -> str:
    if path and (not path.startswith("/") or not _PATH.fullmatch(path)):
        raise PydanticCustomError("path", "Give a path that begins with /, or leave it empty")
    return path


class SlurmConnection(Settings):
    """What an administrator decides about a Slurm cluster."""

    folder: Annotated[str, AfterValidator(_folder)] = Field(
        FOLDER,
        title="Folder for runs",
        description="On the file system that login and compute nodes share, at the same path."
        " ~/ is the home of the account that submits.",
        json_schema_extra={"mono": True, "section": "On the cluster"},
    )
    programs: Annotated[str, AfterValidator(_optional)] = Field(
        "",
        title="Folder of Slurm’s programs",
        description="Such as /opt/slurm/bin. Empty: where the login shell finds them.",
        json_schema_extra={"mono": True, "section": "On the cluster"},
    )
    config: Annotated[str, AfterValidator(_optional)] = Field(
        "",
        title="Configuration of Slurm",
        description="Path of slurm.conf on the login node. Empty: its own default.",
        json_schema_extra={"mono": True, "section": "On the cluster"},
    )


class SlurmCredential(Settings):
    """How Gangline reaches the login node."""

    way: str = Field(LOCAL, title="Reach it by", max_length=40)


@dataclass(frozen=True, slots=True)
class Access:
    """The login node."""

    way: str = LOCAL

    def as_json(self) -> Mapping[str, Any]:
        return {"way": self.way}


def ways() -> tuple[Way, ...]:
    says = "sbatch and its like, as the user that Gangline runs as."
    note = (
        "Jobs run as the same user as Gangline, and could read its data. Use it on a machine of"
        " your own, or let Gangline run as a user that may do no more."
    )
    return (Way(LOCAL, "Commands of this machine", says, note),)


def admit(given: SlurmCredential) -> Admission:
    if given.way != LOCAL:
        says = "is no way to reach a cluster"
        return Admission(problems=(Problem("way", "way", {"raw": says, "accepted": LOCAL}),))
    return Admission(Access())
