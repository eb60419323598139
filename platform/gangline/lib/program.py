"""What a person types to run `gangline-manage` where this process was started."""

import shutil
import sys
from functools import cache
from pathlib import Path

NAME = "gangline-manage"


@cache
def program() -> str:
    """``gangline-manage`` where the shell finds it, else its path below the current folder.

    Elsewhere it is the name alone: pages that anybody sees tell no path of the machine.
    """
    started = Path(sys.argv[0])
    own = started if started.name == NAME else Path(sys.executable).with_name(NAME)
    found = shutil.which(NAME)
    if (found and Path(found).resolve() == own.resolve()) or not own.is_file():
        return NAME
    try:
        return str(own.absolute().relative_to(Path.cwd()))
    except ValueError:
        return NAME
