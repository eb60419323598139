"""As whom the processes of a pod run, and what the kernel lets them do.

https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
"""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from .base import ItemKey, Reads, Restricted, SpecModel, Ui, Voluntary, When, refused
from .shapes import from_names, names_schema, to_names
from .types import Format

CUSTOM, FROM_IMAGE = "custom", "fromTheImage"
_LARGEST_ID = 2**31 - 1
_GROUPS = re.compile(r"\s*[0-9]{1,10}(?:\s*,\s*[0-9]{1,10})*\s*")


def group_ids(text: str) -> list[int]:
    """``2, 3,5`` as numbers."""
    return [int(part) for part in text.split(",") if part.strip()]


def _groups_problem(text: str) -> str | None:
    if not _GROUPS.fullmatch(text):
        return "must be whole numbers with commas between"
    return None if max(group_ids(text)) <= _LARGEST_ID else f"must be numbers up to {_LARGEST_ID}"


GroupIds = Annotated[
    str,
    Field(max_length=400),
    Format(
        "group-ids",
        "group numbers with commas between, such as 2, 3, 5",
        _groups_problem,
        numbers=group_ids,
    ),
]


def _ui(label: str, help_text: str = "", placeholder: str = "", **words: str) -> Ui:
    return Ui(
        label,
        help=help_text,
        section="environment",
        placeholder=placeholder,
        words=words,
        advanced=True,
    )


class Capability(SpecModel):
    """https://man7.org/linux/man-pages/man7/capabilities.7.html"""

    name: Annotated[
        Literal[
            "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "CHOWN", "DAC_OVERRIDE",
            "DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE",
            "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "MKNOD", "NET_ADMIN",
            "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "SETGID", "SETFCAP", "SETPCAP",
            "SETUID", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT",
            "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "SYSLOG",
            "WAKE_ALARM",
        ],
        Ui("Capability"),
    ]  # fmt: skip


class Security(SpecModel):
    """Empty everywhere: as the image and the namespace have it."""

    uid_gid_source: Annotated[
        Literal["fromTheImage", "custom"] | None,
        _ui(
            "User and groups",
            "Custom: the numbers below. Empty: the image’s own.",
            fromTheImage="From the image",
            custom="Custom",
        ),
    ] = None

    @field_validator("uid_gid_source", mode="before")
    @classmethod
    def _known_here(cls, value: object) -> object:
        if value == "fromIdpToken":
            raise refused(
                "cannot be fromIdpToken: sign-in with a company account brings no numbers of users "
                "and groups",
                f"{FROM_IMAGE}, or {CUSTOM} with the numbers",
            )
        return value

    run_as_uid: Annotated[
        int | None,
        Field(ge=0, le=_LARGEST_ID),
        _ui("User ID"),
        Restricted(least=1),  # root's
        Voluntary(),
        When("uidGidSource", (CUSTOM,)),
    ] = None
    run_as_gid: Annotated[
        int | None,
        Field(ge=0, le=_LARGEST_ID),
        _ui("Group ID"),
        Restricted(least=1),
        Voluntary(),
        When("uidGidSource", (CUSTOM,)),
    ] = None
    supplemental_groups: Annotated[
        GroupIds | None,
        Ui(
            "Supplementary groups",
            help="Group numbers with commas between.",
            section="environment",
            placeholder="2, 3, 5",
            advanced=True,
        ),
        Restricted(least=1),
        When("uidGidSource", (CUSTOM,)),
    ] = None
    run_as_non_root: Annotated[
        bool | None, _ui("Never as root", "The pod does not start if it would run as root.")
    ] = None
    read_only_root_filesystem: Annotated[
        bool | None, _ui("Read-only file system", "Only volumes can be written to.")
    ] = None
    allow_privilege_escalation: Annotated[
        bool | None,
        _ui("Privilege escalation", "Off: setuid programs such as sudo do nothing.", "on"),
    ] = None
    seccomp_profile_type: Annotated[
        Literal["RuntimeDefault", "Unconfined"] | None,
        _ui("Seccomp profile", "Which system calls are possible. Empty: the cluster’s own."),
        Restricted(choices=("RuntimeDefault",)),
    ] = None
    capabilities: Annotated[
        list[Capability] | None,
        Field(max_length=38),
        Ui(
            "Capabilities",
            help="What processes may do beyond the runtime’s default.",
            section="environment",
            item="capability",
            advanced=True,
        ),
        ItemKey("name"),
        Reads(from_names, to_names, names_schema(38)),
        Restricted(),
    ] = None
    host_ipc: Annotated[
        bool | None, _ui("IPC of the node", "Shares memory segments with the node."), Restricted()
    ] = None
    host_network: Annotated[
        bool | None,
        _ui("Network of the node", "Uses the node’s addresses and interfaces."),
        Restricted(),
    ] = None
