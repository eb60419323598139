"""Where Gangline's own files are: resources that ship with it, and the data folder."""

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = _PACKAGE.parents[1]

IS_CHECKOUT = (_CHECKOUT / "manage.py").is_file()
RESOURCES = _CHECKOUT if IS_CHECKOUT else _PACKAGE / "_data"
"""Folder of `templates/`, `static/` and `examples/`: the checkout, or inside the wheel."""
OWN_CODE = tuple(
    dict.fromkeys((_CHECKOUT if IS_CHECKOUT else _PACKAGE, Path(sys.prefix), Path(sys.base_prefix)))
)
"""What the product itself is run from: its code, its environment, its interpreter."""


def default_data_dir() -> Path:
    """`var/` in a checkout, the user's data folder when installed."""
    if IS_CHECKOUT:
        return _CHECKOUT / "var"
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gangline"
