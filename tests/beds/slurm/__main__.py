"""Start or stop a Slurm to try things on.

Usage: `python -m tests.beds.slurm up|down`. `WITH=slurmdbd` in the environment adds accounting; the
bed lives in the folder ``bed-slurm`` of ``$GANGLINE_DATA_DIR``, or of ``var``.
"""

import os
import sys
import time
from pathlib import Path

from scripts import system_packages

from .lab import LabFailed, find, make

ROOT = Path(__file__).resolve().parents[3]
_STEPS = """
Try Gangline on it:
  1  In another terminal, where it stays:  make run
  2  Open the administrator's link, then Clusters → Connect a cluster → Slurm → Commands of this
     machine. Configuration of Slurm: {config}
  3  On its page New project: make a department, then a project, and add the member researcher.
  4  Open the researcher's link, then New workload.
"""


def main(arguments: list[str]) -> int:
    """Do what the one argument says."""
    actions = {"up": _up, "down": _down}
    if len(arguments) != 1 or arguments[0] not in actions:
        return _refuse("Say up or down.")
    if missing := system_packages.missing_parts(["slurm"]):
        return _refuse(f"Slurm is not here: {system_packages.PARTS[missing[0]].advice}.")
    try:
        return actions[arguments[0]]()
    except LabFailed as problem:
        return _refuse(str(problem))


def _up() -> int:
    began = time.monotonic()
    lab = find(_folder()) or make(_folder(), accounting="slurmdbd" in os.environ.get("WITH", ""))
    lab.start()
    _say(f"Slurm is ready after {time.monotonic() - began:.1f} s: {lab.nodes} nodes.")
    _say(f"  Use it    export SLURM_CONF={lab.config}")
    _say(f"  Logs      {lab.folder / 'log'}")
    _say("  Stop it   make bed-slurm-down")
    _say(_STEPS.format(config=lab.config))
    return 0


def _down() -> int:
    lab = find(_folder())
    was_there = bool(lab and lab.pids())
    if lab is not None:
        lab.stop()
    _say("The bed is stopped." if was_there else "No bed is running.")
    return 0


def _folder() -> Path:
    return ROOT / Path(os.environ.get("GANGLINE_DATA_DIR") or "var").expanduser() / "bed-slurm"


def _say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
