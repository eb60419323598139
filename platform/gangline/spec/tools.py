"""Tools of a workload, such as TensorBoard: where they listen, and who may open them."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError

from .base import Several, SpecModel, Ui, Unique, When, refused
from .shapes import named_tools, split_names, tool_schema
from .types import Format

EVERYONE, USERS, GROUPS = "authenticatedUsers", "authorizedUsers", "authorizedGroups"
ToolType = Literal[
    "custom",
    "jupyter-notebook",
    "tensorboard",
    "visual-studio-code",
    "rstudio",
    "mlflow",
    "matlab",
    "pycharm",
    "chatbot-ui",
]
TOOLS: Mapping[str, tuple[str, int | None]] = MappingProxyType(
    {
        "custom": ("Another tool", None),
        "jupyter-notebook": ("Jupyter", 8888),
        "tensorboard": ("TensorBoard", 6006),
        "visual-studio-code": ("Visual Studio Code", 8080),
        "rstudio": ("RStudio", 8787),
        "mlflow": ("MLflow", 5000),
        "matlab": ("MATLAB", 8888),
        "pycharm": ("PyCharm", None),
        "chatbot-ui": ("Chatbot UI", None),
    }
)
"""The name of each type, and the port on which it listens by default."""
_WORDS = {name: word for name, (word, _) in TOOLS.items()}
_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,22}[a-z0-9])?")
_HOST = re.compile(
    r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)+"
)
_PATH = re.compile(r"(?:/[-._~!$&'()*+,;=:@%A-Za-z0-9]*)*")
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LINK = re.compile(r"https?://[!-~]+", re.ASCII)
_ADDRESS_HELP = "an address such as https://board.lab.example"


def _name_problem(text: str) -> str | None:
    if _NAME.fullmatch(text):
        return None
    return (
        "must have 1 to 24 lowercase letters, digits or “-”, begin with a letter and end with a"
        " letter or digit"
    )


def _address_problem(text: str) -> str | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "must be an http or https address"
    if parts.scheme not in ("http", "https"):
        return "must be an http or https address"
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        return "must be a host and a path alone: no user, query or fragment"
    if not _HOST.fullmatch(parts.hostname or "") or (parts.hostname or "") not in text:
        return "must name a host in lowercase letters, such as board.lab.example"
    if port is not None:
        return "must have no port: the ingress of the cluster decides it"
    return None if _PATH.fullmatch(parts.path) else "must have a plain path"


def _link_problem(text: str) -> str | None:
    plain = _PLACEHOLDER.sub("x", text)
    try:
        host = urlsplit(plain).hostname if _LINK.fullmatch(plain) else None
        has_user = "@" in urlsplit(plain).netloc
    except ValueError:
        return "must be an http or https address"
    if not host:
        return "must be an http or https address"
    return "must have no user or password in it" if has_user else None


def _plain_problem(text: str) -> str | None:
    return None if text.strip() and text.isprintable() else "must be plain text"


def _names_problem(text: str) -> str | None:
    found = split_names(text)
    if any(len(one) > 254 or not one.isprintable() for one in found):
        return "must be names of up to 254 characters, separated by commas"
    return "must not have a name twice" if len(set(found)) < len(found) else None


ToolName = Annotated[
    str,
    Field(max_length=24),
    Format("tool-name", "a name of up to 24 lowercase letters, such as tensorboard", _name_problem),
]
Names = Annotated[
    str,
    Field(max_length=4000),
    Format("names", "names separated by commas", _names_problem),
    Several(),
]
Port = Annotated[int, Field(ge=1, le=65535)]
ToolAddress = Annotated[
    str, Field(max_length=300), Format("tool-address", _ADDRESS_HELP, _address_problem)
]


def port_of(tool_type: str | None, container: int | None) -> int:
    """Where the tool listens: as was said, or as tools of its type do."""
    return container or TOOLS[tool_type or "custom"][1] or 0


def read_tools(value: Any) -> Any:
    """`named_tools`, each with the port at which it listens, which policies judge."""
    items = named_tools(value)
    if not isinstance(items, list):
        return items
    return [_with_port(one) if isinstance(one, dict) else one for one in items]


def _with_port(item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("toolType")
    port = TOOLS[kind][1] if isinstance(kind, str) and kind in TOOLS else None
    return {**item, "container": port} if port and item.get("container") is None else item


class Tool(SpecModel):
    """What a connection to a tool has, whichever way it goes."""

    model_config = ConfigDict(json_schema_extra=tool_schema)

    tool_type: Annotated[ToolType | None, Ui("Tool", placeholder="Choose a tool", words=_WORDS)] = (
        None
    )
    name: Annotated[ToolName, Ui("Name", placeholder="From the tool")]
    tool_name: Annotated[
        str | None,
        Field(max_length=60),
        Ui("Shown as", placeholder="As the tool"),
    ] = None
    container: Annotated[
        Port | None,
        Unique(),
        Ui("Port of the program", placeholder="The usual one"),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _with_what_is_left_out(cls, data: Any) -> Any:
        """Validators below look at all of it, and tell their problems by the names of JSON."""
        left_out = {f.alias: None for f in cls.model_fields.values() if not f.is_required()}
        return left_out | data if isinstance(data, dict) else data

    @field_validator("tool_name")
    @classmethod
    def _is_plain(cls, value: str | None) -> str | None:
        if value is not None and not (value.isprintable() and value.strip()):
            raise refused("must be plain text", "a short name")
        return value

    @property
    def label(self) -> str:
        """What people read on its link."""
        word = (
            TOOLS[self.tool_type or "custom"][0] if self.tool_type not in (None, "custom") else ""
        )
        return self.tool_name or word or self.name

    @property
    def port(self) -> int:
        return port_of(self.tool_type, self.container)


def _needs_port(value: int | None, info: ValidationInfo) -> int | None:
    is_known = "tool_type" in info.data
    if value is None and is_known and not port_of(info.data["tool_type"], None):
        raise PydanticKnownError("missing")
    return value


class ExposedUrl(Tool):
    """A tool behind an address at which Gangline lets in only who may.

    Without a type of authorisation the list that is there counts; without any, everyone.
    """

    custom_url: Annotated[
        bool | None,
        Ui("Custom address", help="Empty: Gangline creates one in the domain of the cluster."),
    ] = None
    url: Annotated[
        ToolAddress | None,
        Unique(),
        Ui("Address", placeholder="https://board.lab.example"),
        When("customUrl", (True,)),
    ] = None
    authorization_type: Annotated[
        Literal["authenticatedUsers", "authorizedUsers", "authorizedGroups"] | None,
        Ui(
            "Who may open it",
            placeholder="Everyone",
            words={
                EVERYONE: "Everyone who is signed in",
                USERS: "Specific people",
                GROUPS: "Specific groups",
            },
        ),
    ] = None
    authorized_users: Annotated[
        Names | None,
        Ui("People", placeholder="ana, bo@lab.example"),
        When("authorizationType", (USERS,)),
    ] = None
    authorized_groups: Annotated[
        Names | None,
        Ui("Groups", placeholder="vision-team"),
        When("authorizationType", (GROUPS,)),
    ] = None

    @field_validator("url")
    @classmethod
    def _as_chosen(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("custom_url") and not value:
            raise PydanticKnownError("missing")
        if info.data.get("custom_url") is False and value:
            raise refused("must be left out, or the address be custom", "no value")
        return value

    @field_validator("authorized_users")
    @classmethod
    def _users(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("authorization_type") == USERS and not split_names(value or ""):
            raise PydanticKnownError("missing")
        return value

    @field_validator("authorized_groups")
    @classmethod
    def _groups(cls, value: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("authorization_type")
        if kind == GROUPS and not split_names(value or ""):
            raise PydanticKnownError("missing")
        if kind is None and value and info.data.get("authorized_users"):
            raise refused("must be left out: choose people or groups, not both", "no value")
        return value

    @property
    def access(self) -> tuple[str, tuple[str, ...]]:
        """Who may open it: one of the types, and the names that it goes by."""
        users, groups = (
            split_names(text or "") for text in (self.authorized_users, self.authorized_groups)
        )
        kind = self.authorization_type or (USERS if users else GROUPS if groups else EVERYONE)
        return kind, tuple({USERS: users, GROUPS: groups}.get(kind, ()))


class ExposedPort(Tool):
    """A port of a tool that a Service of the cluster opens to everyone who can reach it."""

    service_type: Annotated[
        Literal["NodePort", "LoadBalancer", "ClusterIP"] | None,
        Ui(
            "Opened as",
            placeholder="Port of every node",
            words={
                "NodePort": "Port of every node",
                "LoadBalancer": "Load balancer",
                "ClusterIP": "Address within the cluster",
            },
        ),
    ] = None
    custom_external_port: Annotated[
        bool | None, Ui("Custom node port", help="Empty: the cluster chooses one.")
    ] = None
    external: Annotated[
        int | None,
        Field(ge=30000, le=32767),
        Unique(),
        Ui("Node port", placeholder="30000 to 32767"),
        When("customExternalPort", (True,)),
    ] = None

    _port = field_validator("container")(_needs_port)

    @field_validator("external")
    @classmethod
    def _as_chosen(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("service_type") in ("LoadBalancer", "ClusterIP"):
            raise refused("must be left out unless it is opened as NodePort", "no value")
        if info.data.get("custom_external_port") and value is None:
            raise PydanticKnownError("missing")
        if info.data.get("custom_external_port") is False and value is not None:
            raise refused("must be left out, or the node port be custom", "no value")
        return value

    @property
    def opened_as(self) -> str:
        return self.service_type or "NodePort"


class RelatedUrl(SpecModel):
    """A page elsewhere that belongs to the workload, such as that of an experiment tracker."""

    name: Annotated[
        str,
        Field(max_length=60),
        Format("link-name", "a short name", _plain_problem),
        Ui("Name", placeholder="Experiment"),
    ]
    url: Annotated[
        str,
        Field(max_length=1000),
        Format("link", "an http or https address, with ${VARIABLE} in it", _link_problem),
        Ui("Address", placeholder="https://wandb.ai/team/${RUN}"),
    ]
    type: Annotated[
        Literal["wandb", "comet", "custom"] | None,
        Ui(
            "Kind",
            placeholder="Another page",
            words={"wandb": "Weights & Biases", "comet": "Comet", "custom": "Another page"},
        ),
    ] = None


def resolved(url: str, variables: Mapping[str, Any]) -> str | None:
    """``url`` with the values of its placeholders; None while one of them is not known."""
    if any(name not in variables for name in _PLACEHOLDER.findall(url)):
        return None
    found = _PLACEHOLDER.sub(lambda match: str(variables[match[1]]), url)
    return found if _link_problem(found) is None else None
