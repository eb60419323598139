"""What ``gangline login`` and ``gangline config`` keep: two small files of the user's own.

``config.json`` has the address and, by server, the defaults; ``credentials.json`` the secrets, by
server, readable by its owner alone. Environment variables go before both.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .errors import GanglineError

if TYPE_CHECKING:
    from .credentials import Credentials

SECRETS = ("token", "ends", "client_id", "client_secret", "refresh")


class Unusable(GanglineError):
    """A stored file cannot be read or written."""


@dataclass
class Stored:
    """The two files. ``url`` is the server that was signed in to last."""

    url: str = ""
    servers: dict[str, dict[str, str]] = field(default_factory=dict)
    """Defaults by server: project, cluster."""
    secrets: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    @staticmethod
    def folder() -> Path:
        if given := os.environ.get("GANGLINE_CONFIG_DIR", ""):
            return Path(given).expanduser()
        from platformdirs import user_config_path

        return user_config_path("gangline", appauthor=False)

    @classmethod
    def load(cls) -> Self:
        config = _read(cls.folder() / "config.json")
        servers = config.get("servers")
        return cls(
            url=str(config.get("url") or ""),
            servers={k: v for k, v in servers.items() if isinstance(v, dict)}
            if isinstance(servers, dict)
            else {},
            secrets={
                k: v
                for k, v in _read(cls.folder() / "credentials.json").items()
                if isinstance(v, dict)
            },
        )

    def save(self) -> None:
        """Write both files; a reader sees the old or the new one, never a part."""
        folder = self.folder()
        _write(folder / "config.json", {"url": self.url, "servers": self.servers})
        _write(folder / "credentials.json", self.secrets)

    def default(self, name: str, url: str) -> str:
        """``project`` or ``cluster`` of a server, from the environment or as stored."""
        given = os.environ.get(f"GANGLINE_{name.upper()}", "")
        return given or str(self.servers.get(url, {}).get(name, ""))

    def credentials(self, url: str) -> "Credentials":
        """From the environment, else what is stored of this server; renewals are stored again."""
        from .credentials import Credentials

        environment = os.environ.get
        if token := environment("GANGLINE_TOKEN", ""):
            return Credentials(token=token)
        if client_id := environment("GANGLINE_CLIENT_ID", ""):
            secret = environment("GANGLINE_CLIENT_SECRET", "")
            return Credentials(client_id=client_id, client_secret=secret)
        known = {k: v for k, v in self.secrets.get(url, {}).items() if k in SECRETS}

        def granted(new: Mapping[str, Any]) -> None:
            stored = type(self).load()
            stored.secrets.setdefault(url, {}).update(new)
            stored.save()

        return Credentials(**known, granted=granted)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Unusable(f"{path} cannot be read: {error}. Fix or remove it.") from None
    return found if isinstance(found, dict) else {}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes a file that only its owner may read.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, ensure_ascii=False)
        Path(name).replace(path)
    except OSError as error:
        raise Unusable(f"{path} cannot be written: {error}.") from None
