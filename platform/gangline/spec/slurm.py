"""What a job of Slurm is told beside what every workload says: account, time, further options.

What stands in an option of sbatch is a plain word: no blank, quote or new line ever reaches a
script's ``#SBATCH`` lines.
"""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, ValidationInfo, field_validator

from .base import Default, ItemKey, Only, Reads, SpecModel, Ui, WorkloadLevel, refused
from .shapes import from_names, names_schema, to_names
from .types import Duration, Format, Text

SCRIPT, VALUES = "slurm.script", "slurm.values"
OWN_SCRIPT = "Script"
"""The framework of workloads that are a person's own script."""
MINUTE, DAY = 60, 24 * 60 * 60
TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""A name that an administrator of Slurm gave: of an account, a partition, a feature."""
OPTION_VALUE = re.compile(r"[A-Za-z0-9_.:,=@%+*/\[\]|&()-]{1,256}")
_MODULE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,99}")
PLACE_VALUE = re.compile(r"[A-Za-z0-9_./:@%+=,-]{1,1024}")
"""What may be filled into a script: it means the same to a shell wherever it stands."""
_BARE = frozenset({"contiguous", "exclusive", "spread-job", "use-min-nodes"})
"""Options that may stand without a value."""


def _token_problem(text: str) -> str | None:
    if TOKEN.fullmatch(text):
        return None
    return "must have 1 to 63 letters, digits, “_”, “.” or “-”, and start with a letter or digit"


def module_problem(text: str) -> str | None:
    return None if _MODULE.fullmatch(text) else "must be the name of one module, such as cuda/12.4"


def _value_problem(text: str) -> str | None:
    if OPTION_VALUE.fullmatch(text):
        return None
    return "must have 1 to 256 letters, digits or “_.:,=@%+*/[]|&()-”, without spaces"


def _place_problem(text: str) -> str | None:
    if PLACE_VALUE.fullmatch(text):
        return None
    return "must have only letters, digits and “_./:@%+=,-”, so that no shell reads more into it"


def _unix_lines(text: Any) -> Any:
    """Bash takes the carriage returns of other editors for a part of each word."""
    return text.replace("\r\n", "\n") if isinstance(text, str) else text


Token = Annotated[
    str,
    Field(max_length=63),
    Format("slurm-name", "a name as Slurm lists it, such as team-a", _token_problem),
]


OptionName = Literal[
    "acctg-freq", "begin", "contiguous", "cores-per-socket", "cpu-freq", "deadline",
    "delay-boot", "dependency", "distribution", "exclude", "exclusive", "gpu-bind",
    "gpu-freq", "hint", "licenses", "mail-type", "mail-user", "mem-bind", "network",
    "nice", "prefer", "profile", "sockets-per-node", "spread-job", "switches",
    "threads-per-core", "time-min", "tmp", "use-min-nodes", "wckey",
]  # fmt: skip
OPTIONS = frozenset(get_args(OptionName))


class Module(SpecModel):
    """An environment module."""

    name: Annotated[
        str,
        Field(max_length=100),
        Format("module", "the name of a module, such as cuda/12.4", module_problem),
        Ui("Module", placeholder="Module: cuda/12.4"),
    ]


class PlaceValue(SpecModel):
    """What stands in a place ``{{ name }}`` of a script."""

    name: Annotated[str, Field(max_length=40), Ui("Place", placeholder="Place: account")]
    value: Annotated[
        str | None,
        Field(max_length=1024),
        Format("place", "a word without spaces, such as /data/set-1", _place_problem),
        Ui("Value", placeholder="Value"),
    ] = None


class SbatchOption(SpecModel):
    """https://slurm.schedmd.com/sbatch.html

    What decides how much a job takes has fields of its own, and what would lead away from how
    Gangline follows a job (arrays, output files, requeueing) is not there.
    """

    name: Annotated[
        OptionName,
        Ui("Option"),
    ]
    value: Annotated[
        str | None,
        Field(max_length=256, validate_default=True),
        Format("slurm-value", "a value without spaces and quotes", _value_problem),
        Ui("Value", placeholder="Value"),
    ] = None

    @field_validator("value")
    @classmethod
    def _fits(cls, value: str | None, info: ValidationInfo) -> str | None:
        name = info.data.get("name")
        if name is not None and not value and name not in _BARE:
            raise refused(f"must be there: --{name} needs a value", f"a value of --{name}")
        return value


def _ui(label: str, help_text: str, flag: str, placeholder: str = "", item: str = "") -> Ui:
    return Ui(label, help=help_text, section="slurm", flag=flag, placeholder=placeholder, item=item)


class Slurm(SpecModel):
    """Of a job. Empty: as the settings of the cluster have it, and else as Slurm does."""

    script: Annotated[
        Text | None,
        Ui(
            "Script",
            help="Runs on the first node, as sbatch would run it. Its #SBATCH lines become values"
            " of this form, and {{ name }} or {{ name = value }} marks a place to fill in.",
            section="environment",
            placeholder="#!/bin/bash",
            rows=16,
            from_file=True,
        ),
        Only((OWN_SCRIPT,)),
        Reads(_unix_lines),
        WorkloadLevel(),
    ] = None
    values: Annotated[
        list[PlaceValue] | None,
        Field(max_length=64),
        Ui(
            "Placeholders",
            help="Each appears in the script as {{ name }}.",
            section="environment",
            flag="fill",
            item="place",
        ),
        ItemKey("name"),
        Only((OWN_SCRIPT,)),
        WorkloadLevel(),
    ] = None
    tasks_per_node: Annotated[
        int | None,
        Field(ge=1, le=1024),
        Ui(
            "Tasks per node",
            help="Processes that srun starts on each node; the cores are shared between them.",
            section="compute",
            unit="tasks",
            flag="tasks-per-node",
        ),
        Only((OWN_SCRIPT,)),
        WorkloadLevel(),
    ] = None
    account: Annotated[
        Token | None,
        _ui("Account", "Charged for the job. Empty: the default one.", "account", "team-a"),
        WorkloadLevel(),
    ] = None
    qos: Annotated[
        Token | None,
        _ui("Quality of service", "Empty: the account’s default one.", "qos", "normal"),
        WorkloadLevel(),
    ] = None
    time_limit: Annotated[
        Duration | None,
        Field(ge=MINUTE, le=366 * DAY),
        _ui(
            "Time limit",
            "Slurm ends the job after this time. Short jobs start earlier. Empty: as the partition"
            " has it.",
            "time-limit",
        ),
        WorkloadLevel(),
    ] = None
    reservation: Annotated[
        Token | None,
        _ui("Reservation", "Nodes that are reserved for it. Empty: none.", "reservation"),
        WorkloadLevel(),
    ] = None
    gpu_type: Annotated[
        Token | None,
        _ui("GPU type", "As Slurm calls it, such as a100. Empty: any.", "gpu-type", "a100"),
        WorkloadLevel(),
    ] = None
    pack_replicas: Annotated[
        bool | None,
        _ui(
            "Several replicas on a node",
            "Slurm may place several replicas on a node if cores, memory and GPUs suffice. Off: "
            "each has its own node.",
            "pack",
        ),
        Default(False),
        WorkloadLevel(),
    ] = None
    modules: Annotated[
        list[Module] | None,
        Field(max_length=32),
        _ui("Modules", "Loaded in this order, before the command.", "module", item="module"),
        ItemKey("name"),
        Reads(from_names, to_names, names_schema(32)),
        WorkloadLevel(),
    ] = None
    options: Annotated[
        list[SbatchOption] | None,
        Field(max_length=32),
        _ui(
            "Further options",
            "Of sbatch, as in a line #SBATCH --licenses=matlab:1.",
            "sbatch",
            item="option",
        ),
        ItemKey("name"),
        WorkloadLevel(),
    ] = None
