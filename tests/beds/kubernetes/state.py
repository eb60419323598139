"""What is written down about a bed in its folder, for whoever uses it or has to end it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .layout import Layout
from .pki import Pki
from .processes import Identity

FILE = "state.json"


@dataclass
class State:
    """One bed, as its supervisor last wrote it."""

    folder: Path
    supervisor: Identity
    ports: dict[str, int]
    with_: tuple[str, ...] = ()
    flags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    while_used: bool = False
    """Whether it ends when its last user goes; else it stays until it is stopped."""
    processes: dict[str, Identity] = field(default_factory=dict)
    """In the order in which they were started."""
    seconds: float = 0.0
    """From the first process to the readiness of all; 0 until then."""

    @property
    def is_up(self) -> bool:
        """Whether it was ready once and is still looked after."""
        return bool(self.seconds) and self.supervisor.is_alive

    @property
    def layout(self) -> Layout:
        return Layout(self.folder, Pki(self.folder / "pki"), self.ports, self.with_, self.flags)

    def write(self) -> None:
        """Put it into its file; a reader finds the old or the new one, whole."""
        path = self.folder / FILE
        scratch = path.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps(asdict(self) | {"folder": str(self.folder)}, indent=1))
        scratch.replace(path)

    @classmethod
    def read(cls, folder: Path) -> "State | None":
        """Nothing when no bed was ever started there."""
        try:
            stored = json.loads((folder / FILE).read_text())
        except (FileNotFoundError, ValueError):
            return None
        return cls(
            folder=folder,
            supervisor=Identity(**stored["supervisor"]),
            ports=stored["ports"],
            with_=tuple(stored["with_"]),
            flags=_tuples(stored["flags"]),
            while_used=stored["while_used"],
            processes={name: Identity(**one) for name, one in stored["processes"].items()},
            seconds=stored["seconds"],
        )


def _tuples(flags: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(values) for name, values in flags.items()}
