"""What a cluster's own accounting says of a whole attempt: one record beside its logs."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "accounted"


@dataclass(frozen=True, slots=True)
class Accounted:
    """``cpu``: seconds of all processes; ``memory``: bytes of the largest task, on ``node``."""

    cpu: float
    memory: int
    node: str


def keep(folder: Path, found: Accounted) -> None:
    """Write it whole. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / f"{_NAME}.new"
    draft.write_text(json.dumps(asdict(found)), encoding="utf-8")
    draft.replace(folder / _NAME)


def kept(folder: Path) -> Accounted | None:
    """The record of an attempt; None where there is none."""
    try:
        return Accounted(**json.loads((folder / _NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
