"""Every setting that the environment may give, read once, typed, with its default."""

import secrets
from functools import cache
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, IPvAnyNetwork, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gangline.lib.paths import default_data_dir
from gangline.lib.urls import parts_of, shares_cookies


def _split(value: object) -> object:
    """A list in one variable: separated by commas."""
    if not isinstance(value, str):
        return value
    return tuple(part for part in map(str.strip, value.split(",")) if part)


class Env(BaseSettings):
    """`GANGLINE_*` variables. Those of workloads share the prefix but never reach this class."""

    model_config = SettingsConfigDict(
        env_prefix="GANGLINE_", extra="ignore", frozen=True, use_attribute_docstrings=True
    )
    """The text below a setting is its help on the page of settings."""

    mode: Literal["embedded", "production"] = "embedded"
    """`embedded`: one process on one machine. `production`: several, with PostgreSQL and Redis."""
    data_dir: Path = Field(default_factory=default_data_dir)
    """Folder for the database, logs and keys."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535, validation_alias="PORT")] = 8000
    """Port to listen on."""
    database_url: str = ""
    """`postgresql://user:password@host:port/name`; empty: SQLite in the data folder."""
    redis_url: str = ""
    """`redis://host:port/0`; required in production."""
    secret_key: str = ""
    """Signing key. Empty: generated at the first start and kept in the data folder."""
    keys_file: Path | None = None
    """File with the keys that encrypt cluster credentials. Empty: a file in the data folder."""
    cluster_addresses: Annotated[tuple[IPvAnyNetwork, ...], NoDecode, BeforeValidator(_split)] = ()
    """Networks to allow for clusters although they are blocked by default, e.g. `127.0.0.0/8`."""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = ()
    """Host names to accept, e.g. `a.example.org,b.example.org`."""
    public_url: str = ""
    """Address that people open when a proxy is in front, e.g. `https://gangline.example.org`."""
    behind_proxy: bool = False
    """Whether to take client address and scheme from the headers of a proxy in front."""
    trusted_proxies: Annotated[tuple[IPvAnyNetwork, ...], NoDecode, BeforeValidator(_split)] = (
        IPv4Network("127.0.0.0/8"),
        IPv6Network("::1/128"),
    )
    """Networks of the proxies to trust when `behind_proxy` is on."""
    demo: bool = True
    """Whether the first start creates a demo organisation, in embedded mode."""
    debug: bool = False
    """Show errors in full. For development only."""
    local_cluster: bool | None = None
    """Whether this machine is a cluster. Default: in embedded mode only."""
    local_gpus: Annotated[int, Field(ge=0, le=64)] = 0
    """Number of simulated GPUs, for trying things out on a machine without any."""
    local_roots: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)] = ()
    """Folders that may hold working directories. Empty: the home folder, on a personal machine."""
    local_hidden: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)] = ()
    """Folders to hide from workloads on this machine, in addition to those of Gangline."""
    tools_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port on which tools of this machine are opened. 0: the one after `PORT`."""
    tools_url: str = ""
    """Address of tools of this machine behind a proxy, e.g. `https://*.tools.example.org`."""
    local_sandbox: Literal["auto", "off"] = "auto"
    """Whether to sandbox workloads on this machine. `auto`: where the machine supports it."""
    log_cap_bytes: Annotated[int | None, Field(ge=1 << 24)] = None
    """Maximum log size per pod in bytes. Empty: as in Settings → Retention."""
    keep_deleted_days: Annotated[int | None, Field(ge=0)] = None
    """Days to keep deleted workloads. Empty: as in Settings → Retention."""
    tick_seconds: Annotated[float, Field(gt=0)] = 1.0
    """Seconds between checks for pending work."""
    database_pool: Annotated[int, Field(ge=1)] = 8
    """Maximum number of PostgreSQL connections per process."""
    fail_points: str = ""
    """`reconcile.after_create:kill@1`: for fault tests; refused unless `debug` is on."""

    @field_validator("tools_url")
    @classmethod
    def _apart(cls, tools_url: str, found: ValidationInfo) -> str:
        host = parts_of(tools_url).hostname or ""
        own = parts_of(found.data.get("public_url", "")).hostname or ""
        if shares_cookies(host.removeprefix("*."), own):
            raise ValueError(f"choose a domain that is not above or below {own}, Gangline's own")
        return tools_url

    @property
    def offers_local_cluster(self) -> bool:
        return self.mode == "embedded" if self.local_cluster is None else self.local_cluster

    @property
    def origin(self) -> str:
        """Scheme, host and port that a browser's Origin header must carry."""
        return self.public_url.rstrip("/") or f"http://{self.host}:{self.port}"

    @property
    def tools_listens_at(self) -> int:
        """The port on which tools of this machine are opened."""
        return self.tools_port or self.port + 1

    @property
    def tools_address(self) -> str:
        """Where one of them is found, with ``*`` for its name; empty: nowhere.

        Each has a host of its own, so that no tool shares cookies with another or with Gangline.
        """
        if self.tools_url or self.mode != "embedded":
            return self.tools_url.rstrip("/")
        is_alone = self.host in ("127.0.0.1", "localhost", "::1") and not self.public_url
        return f"http://*.localhost:{self.tools_listens_at}" if is_alone else ""

    @property
    def origins(self) -> list[str]:
        """Origins whose pages may open WebSockets; a loopback server has two names."""
        if not self.public_url and self.host == "127.0.0.1":
            return [self.origin, f"http://localhost:{self.port}"]
        return [self.origin]

    @property
    def database_file(self) -> Path:
        """SQLite's file, where no other database is named."""
        return self.data_dir / "gangline.db"

    @property
    def key_file(self) -> Path:
        return self.data_dir / "secret.key"

    @property
    def sealing_keys(self) -> Path:
        """The file of `keys_file`, which holds more than one key once they were rotated."""
        return self.keys_file or self.data_dir / "sealing.keys"

    def key(self) -> str:
        """The signing key: given, or kept in the data folder (mode 0600)."""
        if self.secret_key:
            return self.secret_key
        path = self.key_file
        if not path.exists():
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{secrets.token_hex(4)}")
            temporary.touch(mode=0o600)
            temporary.write_text(secrets.token_urlsafe(48))
            try:
                path.hardlink_to(temporary)
            except FileExistsError:
                pass
            temporary.unlink()
        return path.read_text().strip()


@cache
def env() -> Env:
    """The settings of this process."""
    return Env()
